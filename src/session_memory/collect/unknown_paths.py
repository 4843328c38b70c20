"""Decide when a watch looks at changed paths that belong to no known source.

Only a search of the whole root can tell whether such a path is a new source. An agent's directory
has many files that are no sources and change all the time. So a path that is no source is ignored
for a while, twice as long each time. It is never ignored for ever: a new log may be empty at first.
"""

from collections.abc import Iterable
from pathlib import Path

FIRST_WAIT_S, LONGEST_WAIT_S = 0.25, 600.0
# A new directory is looked at a second time after this many seconds: files may have been put into
# it before it was watched.
AGAIN_S = 1.0
MOST_REMEMBERED = 10_000


class UnknownPaths:
    """The unknown paths of a watch. Times are seconds of a monotonic clock."""

    def __init__(self) -> None:
        self._due: dict[Path, float] = {}
        self._ignored: dict[Path, tuple[float, float]] = {}
        self._rest_until = 0.0

    def add(self, paths: Iterable[Path], now: float) -> None:
        """Note paths that changed. Each is due at once, or when it is no longer ignored."""
        for path in paths:
            _, until = self._ignored.get(path, (0.0, 0.0))
            self._due.setdefault(path, max(now, until))

    def due(self, now: float) -> list[Path]:
        """Return the paths to look at now; none while the watch still rests after its last look."""
        if now < self._rest_until:
            return []
        return [path for path, due in self._due.items() if due <= now]

    def looked_at(self, paths: Iterable[Path], *, found: bool, now: float, rest: float) -> None:
        """Note whether a look at these paths ``found`` a source. Then rest for ``rest``."""
        self._rest_until = now + rest
        for path in paths:
            self._due.pop(path, None)
            is_first = path not in self._ignored
            if found:
                self._ignored.pop(path, None)
            else:
                self._ignore(path, now)
            if is_first and path.is_dir():
                self._due[path] = now + AGAIN_S

    def _ignore(self, path: Path, now: float) -> None:
        before, _ = self._ignored.pop(path, (0.0, 0.0))
        wait = min(max(before * 2, FIRST_WAIT_S), LONGEST_WAIT_S)
        self._ignored[path] = (wait, now + wait)
        if len(self._ignored) > MOST_REMEMBERED:
            del self._ignored[next(iter(self._ignored))]

    def clear(self) -> None:
        """Forget which paths are due, because everything was looked at."""
        self._due.clear()
