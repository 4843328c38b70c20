"""Send prompts to an agent while it works, as lines of its standard input."""

import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

# Seconds before and after each line. A user types after seeing a part of the answer, and an agent
# prints nothing when it has read a line, so the model must not go on at once.
_TYPING = 0.7
# Seconds between two looks at what the agent has printed, and whether it still runs.
_STEP = 0.05


@dataclass(frozen=True)
class Talk:
    """What the user sends in one run: the first line at once, and one more at each pause of the
    model.

    `over` is a text that the agent prints when it has finished. Only then its input is closed.
    If `over` is empty, the agent finishes its work after its input was closed.
    """

    lines: Sequence[str]
    paused: threading.Event
    going_on: threading.Event
    over: str = ""

    def hold(
        self, process: "subprocess.Popen[bytes]", printed: Callable[[], str], until: float
    ) -> None:
        """Send the lines to a program, then close its input."""

        def running() -> bool:
            return process.poll() is None and time.monotonic() < until

        first, *later = self.lines
        if process.stdin is None:
            return
        # An agent that ended reads no more lines. The comparison then names the missing prompts.
        with suppress(BrokenPipeError), process.stdin as sink:
            sink.write(f"{first}\n".encode())
            sink.flush()
            for line in later:
                while running() and not self.paused.wait(_STEP):
                    continue
                time.sleep(_TYPING)
                sink.write(f"{line}\n".encode())
                sink.flush()
                time.sleep(_TYPING)
                self.paused.clear()
                self.going_on.set()
            while self.over and running() and self.over not in printed():
                time.sleep(_STEP)
