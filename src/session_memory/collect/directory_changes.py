"""Report which paths changed below some directories, from events of the file system.

Events may be missing: when watching has just begun, after the machine slept, after too many events
at once. Then the result says so, and the caller must look at everything.
"""

import os
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import watchfiles

from session_memory.collect.stop_flag import StopFlag

# Events are collected until none comes for STEP_MS, but not for longer than DEBOUNCE_MS.
STEP_MS = 50
DEBOUNCE_MS = 200
TICK_MS = 100
# After this many seconds without a change, the process wakes up less often. Then it notices a
# change within 0.7 seconds, and a new directory within a second.
QUIET_AFTER_S = 5.0
QUIET_STEP_S = 0.36
QUIET_TICK_S = 1.0
# Without events a watch looks at all sources this often, or less often if a look takes so long that
# it would keep a processor busy.
POLL_S = 1.0
# The queue of the kernel holds 16,384 events. When it is full, events are dropped silently.
TOO_MANY = 4000
SLEPT_S = 10.0

WatchFunction = Callable[..., Generator[set[tuple[Any, str]], None, None]]


class ChangedPaths(NamedTuple):
    """Paths that changed. ``is_incomplete``: other paths may have changed too."""

    paths: set[Path]
    is_incomplete: bool


class DirectoryChanges:
    """Follows directories, which may appear and disappear.

    ``polling`` is the reason why there are no events, and empty when there are. Without events
    every result is incomplete and comes after ``poll_s`` seconds.
    """

    def __init__(
        self,
        directories: Iterable[Path],
        stop: StopFlag,
        *,
        polling: str = "",
        watching: WatchFunction | None = None,
    ) -> None:
        self._directories = list(dict.fromkeys(directories))
        self._stop = stop
        self._pace = Pace(stop)
        self._watching = watching or watchfiles.watch
        self._watched: dict[Path, tuple[int, int]] | None = None
        self._changes: Generator[set[tuple[Any, str]], None, None] | None = None
        self._names: list[tuple[str, str]] = []
        self.polling = polling
        self.poll_s = POLL_S

    def follow(self, directories: Iterable[Path]) -> None:
        """Follow these directories from now on."""
        self._directories = list(dict.fromkeys(directories))

    def wait(self) -> ChangedPaths:
        """Wait for the next changes, and return them; there may be none.

        With events, it returns after about 0.1 seconds if nothing changes, or after a second if
        nothing has changed for a while. Without events it waits for ``poll_s`` seconds.
        """
        if self.polling:
            self._stop.wait(self.poll_s if self._watched is not None else 0)
            self._watched = {}
            return ChangedPaths(set(), True)
        is_changed = self._follow_existing()
        begun = time.time()
        try:
            paths = self._next_in_tick()
        except FileNotFoundError:
            # A directory disappeared before it could be watched. The next call tries again.
            self._end()
            return ChangedPaths(set(), True)
        except (OSError, RuntimeError) as error:
            # There are more directories than the kernel may watch, or no events here at all.
            self._end()
            self.polling = str(error)
            return ChangedPaths(set(), True)
        slept = time.time() - begun > SLEPT_S
        is_incomplete = is_changed or slept or len(paths) >= TOO_MANY
        if paths or is_incomplete:
            self._pace.note_change()
        return ChangedPaths(set(map(self._named, paths)), is_incomplete)

    def _follow_existing(self) -> bool:
        """Stop watching if a directory appeared, disappeared or was replaced.

        Return whether one did. Then `_next` begins to watch the directories that exist now.
        """
        existing = {place: identity(place) for place in self._directories}
        watched = {place: found for place, found in existing.items() if found is not None}
        if watched == self._watched:
            return False
        self._end()
        self._watched = watched
        # On macOS events name the target of a link. We report the path of the link itself.
        self._names = [
            (real, str(place))
            for place in watched
            if (real := os.path.realpath(place)) != str(place)
        ]
        return True

    def _next_in_tick(self) -> set[str]:
        until = time.monotonic() + (QUIET_TICK_S if self._pace.is_quiet else 0)
        while True:
            paths = self._next()
            if paths or self._stop.is_set() or time.monotonic() >= until:
                return paths

    def _next(self) -> set[str]:
        if not self._watched:
            self._stop.wait(QUIET_TICK_S if self._pace.is_quiet else TICK_MS / 1000)
            return set()
        if self._changes is None:
            self._changes = self._watching(
                *self._watched,
                watch_filter=None,
                debounce=DEBOUNCE_MS,
                step=STEP_MS,
                rust_timeout=TICK_MS,
                yield_on_timeout=True,
                stop_event=self._pace,
                raise_interrupt=True,
                force_polling=False,
                ignore_permission_denied=True,
            )
        return {path for _, path in next(self._changes, set())}

    def _named(self, path: str) -> Path:
        """Return ``path`` with its directory as the caller named it.

        If the caller named a link, the event may name its target instead.
        """
        for real, place in self._names:
            if path == real or path.startswith(real + os.sep):
                return Path(place + path[len(real) :])
        return Path(path)

    def _end(self) -> None:
        self._watched = None
        if self._changes is not None:
            with closing(self._changes):
                self._changes = None

    def __enter__(self) -> "DirectoryChanges":
        return self

    def __exit__(self, *failure: object) -> None:
        self._end()


class Pace:
    """The stop flag that watchfiles asks after each step.

    If nothing changed for a while, it waits before it answers. So the process wakes up less often.
    """

    def __init__(self, stop: StopFlag) -> None:
        self._stop = stop
        self._changed_at = time.monotonic()

    @property
    def is_quiet(self) -> bool:
        return time.monotonic() - self._changed_at > QUIET_AFTER_S

    def note_change(self) -> None:
        self._changed_at = time.monotonic()

    def is_set(self) -> bool:
        if self.is_quiet:
            self._stop.wait(QUIET_STEP_S)
        return self._stop.is_set()


def identity(path: Path) -> tuple[int, int] | None:
    """Device and inode of a file or directory; None when it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
