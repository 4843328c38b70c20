"""Report the progress of a sync to a function."""

from collections.abc import Callable

from session_memory.collect.sync_report import ReadProgress
from session_memory.memory.checks import a_function

# A function that is called with the bytes read so far and the bytes in all, or an object that gets
# more detail.
OnProgress = ReadProgress | Callable[[int, int], object]


class FunctionProgress(ReadProgress):
    """Calls a function with the bytes read so far and the bytes to read in all."""

    def __init__(self, report: Callable[[int, int], object]) -> None:
        self._report = report
        self._done = self._total = 0

    def begin(self, files: int, size: int) -> None:
        self._done, self._total = 0, size
        self._report(0, size)

    def advance(self, size: int) -> None:
        self._done += size
        self._report(self._done, self._total)


def progress_of(given: OnProgress | None) -> ReadProgress | None:
    """Return a `ReadProgress` as it is, or wrap a function in one that calls it."""
    if given is None or isinstance(given, ReadProgress):
        return given
    return FunctionProgress(a_function("progress", given))
