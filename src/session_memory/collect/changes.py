"""What changed below some directories, as the file system tells it.

Events are hints, never the truth: whenever some may be missing (watching began anew, the machine
slept, too many came at once) a batch says so, and whoever asked takes a whole look.
"""

import os
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import watchfiles

from session_memory.collect.stop import Stop

# Changes are gathered until nothing happens for a step, but not for longer than the debounce.
STEP_MS = 50
DEBOUNCE_MS = 200
TICK_MS = 100
# Without events everything is looked at again and again: this often, or more seldom where a look
# takes so long that it would keep a processor busy.
POLL_S = 1.0
# The kernel's queue holds 16,384 events; near that some may have been dropped without a word.
TOO_MANY = 4000
SLEPT_S = 10.0

Watching = Callable[..., Generator[set[tuple[Any, str]], None, None]]


class Batch(NamedTuple):
    """Paths that changed; ``unsure`` means that others may have changed as well."""

    paths: set[Path]
    unsure: bool


class Changes:
    """Follows directories that may not be there yet, or not any more.

    ``polling`` says why events cannot be had; empty as long as they can. Then every batch is
    ``unsure``, once in ``poll_s`` seconds.
    """

    def __init__(
        self,
        directories: Iterable[Path],
        stop: Stop,
        *,
        polling: str = "",
        watching: Watching | None = None,
    ) -> None:
        self._directories = list(dict.fromkeys(directories))
        self._stop = stop
        self._watching = watching or watchfiles.watch
        self._watched: dict[Path, tuple[int, int]] | None = None
        self._changes: Generator[set[tuple[Any, str]], None, None] | None = None
        self._names: list[tuple[str, str]] = []
        self.polling = polling
        self.poll_s = POLL_S

    def wait(self) -> Batch:
        """The next changes, or none after a tick."""
        if self.polling:
            self._stop.wait(self.poll_s if self._watched is not None else 0)
            self._watched = {}
            return Batch(set(), True)
        unsure = self._follow_what_is_there()
        begun = time.time()
        try:
            found = self._next()
        except FileNotFoundError:
            # Gone between our look and the watcher's: the next call sees what is there then.
            self._end()
            return Batch(set(), True)
        except (OSError, RuntimeError) as error:
            # Too many directories for the kernel's limits, or a file system without events.
            self._end()
            self.polling = str(error)
            return Batch(set(), True)
        slept = time.time() - begun > SLEPT_S
        return Batch(set(map(self._named, found)), unsure or slept or len(found) >= TOO_MANY)

    def _follow_what_is_there(self) -> bool:
        """Begin anew where a directory appeared, vanished or is another one now."""
        there = {place: identity(place) for place in self._directories}
        watched = {place: identity for place, identity in there.items() if identity is not None}
        if watched == self._watched:
            return False
        self._end()
        self._watched = watched
        # Where events name the place a link leads to (on macOS they do), we say the link again.
        self._names = [
            (real, str(place))
            for place in watched
            if (real := os.path.realpath(place)) != str(place)
        ]
        return True

    def _next(self) -> set[str]:
        if not self._watched:
            self._stop.wait(TICK_MS / 1000)
            return set()
        if self._changes is None:
            self._changes = self._watching(
                *self._watched,
                watch_filter=None,
                debounce=DEBOUNCE_MS,
                step=STEP_MS,
                rust_timeout=TICK_MS,
                yield_on_timeout=True,
                stop_event=self._stop,
                raise_interrupt=True,
                force_polling=False,
                ignore_permission_denied=True,
            )
        return {path for _, path in next(self._changes, set())}

    def _named(self, path: str) -> Path:
        for real, place in self._names:
            if path == real or path.startswith(real + os.sep):
                return Path(place + path[len(real) :])
        return Path(path)

    def _end(self) -> None:
        self._watched = None
        if self._changes is not None:
            with closing(self._changes):
                self._changes = None

    def __enter__(self) -> "Changes":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()


def identity(path: Path) -> tuple[int, int] | None:
    """What tells a file or directory from another of the same name; None when there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
