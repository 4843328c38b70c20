"""A progress bar for long work, only on a terminal."""

import sys
from typing import Any

from session_memory.cli.kit.settings import Settings
from session_memory.collect.sync_report import ReadProgress

WORTH_A_BAR = 4 << 20


class Bar(ReadProgress):
    """A progress bar that counts bytes.

    Less than `WORTH_A_BAR` bytes show no bar, because loading the library for bars takes longer.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._bar: Any = None
        self._task: Any = None
        self.is_enabled = True
        self.bytes_again = 0

    def begin(self, files: int, size: int) -> None:
        if size < WORTH_A_BAR or self._bar is not None or not self.is_enabled:
            return
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = ("{task.description}", BarColumn(), DownloadColumn(), TimeRemainingColumn())
        console = Console(stderr=True)
        self._bar = RichProgress(*columns, console=console, transient=True)
        self._bar.start()
        self._task = self._bar.add_task(f"{self._title} {files:,} files", total=size)

    def advance(self, size: int) -> None:
        if self._bar is not None:
            self._bar.advance(self._task, size)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *failure: object) -> None:
        self.end()


def progress(settings: Settings, title: str) -> Bar:
    """Return a progress bar that is shown only on a terminal."""
    return Bar(title) if settings.chatty and sys.stderr.isatty() else Silent(title)


class Silent(Bar):
    def begin(self, files: int, size: int) -> None: ...
