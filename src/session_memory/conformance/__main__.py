"""The part of the kit that runs without a network: an order in, a line of JSON per result out."""

import json
import signal
import sys

from session_memory.conformance.kit import Order, played_without_network


def main() -> None:
    # Who stops the kit stops what it started.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    for result in played_without_network(Order(**json.loads(sys.argv[1]))):
        print(json.dumps(result.to_dict()), flush=True)


if __name__ == "__main__":
    main()
