"""The wish to stop, which a signal handler may express.

``threading.Event`` will not do: its lock may be held by the very code the signal interrupts.
"""

import os
import select


class Stop:
    def __init__(self) -> None:
        self._asked = False
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)

    def is_set(self) -> bool:
        return self._asked

    def set(self) -> None:
        if not self._asked:
            self._asked = True
            os.write(self._writer, b"\0")

    def wait(self, seconds: float) -> None:
        """Sleep, but not past the moment somebody asks to stop."""
        select.select([self._reader], [], [], seconds)

    def close(self) -> None:
        os.close(self._reader)
        os.close(self._writer)
