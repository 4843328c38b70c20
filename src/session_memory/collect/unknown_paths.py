"""Paths that changed and that no source is known for.

It takes a look at a whole root to tell what one is. An agent's directory is full of files that
are no sources and change all the time, so a path that led to nothing is left alone twice as long
as before; never for ever, for a log may be empty at first.
"""

from collections.abc import Iterable
from pathlib import Path

FIRST_WAIT_S, LONGEST_WAIT_S = 0.25, 600.0
# Files may have been put into a new directory before anybody watched it.
AGAIN_S = 1.0
MOST_KNOWN = 10_000


class Strangers:
    def __init__(self) -> None:
        self._due: dict[Path, float] = {}
        self._waits: dict[Path, tuple[float, float]] = {}
        self._rest_until = 0.0

    def met(self, paths: Iterable[Path], now: float) -> None:
        """These have changed; each is due as soon as it is not left alone any more."""
        for path in paths:
            _, until = self._waits.get(path, (0.0, 0.0))
            self._due.setdefault(path, max(now, until))

    def ready(self, now: float) -> list[Path]:
        """What to look at now; nothing while we rest from the last look."""
        if now < self._rest_until:
            return []
        return [path for path, due in self._due.items() if due <= now]

    def looked(self, paths: Iterable[Path], *, found: bool, now: float, rest: float) -> None:
        """A look at these has led to something, or to nothing."""
        self._rest_until = now + rest
        for path in paths:
            self._due.pop(path, None)
            is_first = path not in self._waits
            if found:
                self._waits.pop(path, None)
            else:
                self._leave_alone(path, now)
            if is_first and path.is_dir():
                self._due[path] = now + AGAIN_S

    def _leave_alone(self, path: Path, now: float) -> None:
        before, _ = self._waits.pop(path, (0.0, 0.0))
        wait = min(max(before * 2, FIRST_WAIT_S), LONGEST_WAIT_S)
        self._waits[path] = (wait, now + wait)
        if len(self._waits) > MOST_KNOWN:
            del self._waits[next(iter(self._waits))]

    def all_seen(self) -> None:
        """Everything was looked at, these among the rest."""
        self._due.clear()
