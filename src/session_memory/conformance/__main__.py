"""The process of the kit that runs the agents, without a network.

It gets an `Order` as JSON in its first argument, and prints a line of JSON for each result.
"""

import json
import os
import signal
import sys
import threading

from session_memory.conformance.kit import Order, played_without_network


def main() -> None:
    # sys.exit lets the kit end the agents that it started.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    threading.Thread(target=_end_with_the_starter, daemon=True).start()
    for result in played_without_network(Order(**json.loads(sys.argv[1]))):
        print(json.dumps(result.to_dict()), flush=True)


def _end_with_the_starter() -> None:
    """Wait until the process that started this one ends, which closes the standard input. Then end
    this process too."""
    # Not through `sys.stdin`: its lock would be held when the interpreter ends.
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
