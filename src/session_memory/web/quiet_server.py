"""A server that sleeps until a request comes, or until it has to end.

uvicorn itself looks ten times a second whether it has to end. When nobody sends requests, that
takes more processor time than all the rest of the server.
"""

import asyncio
import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def is_worth_telling(record: logging.LogRecord) -> bool:
    """Whether a line of uvicorn's log says more than that a request was stopped with the server.

    Such a line has a stack, and Ctrl-C would print it for each page that takes long.
    """
    is_stopped = record.exc_info is not None and record.exc_info[0] is asyncio.CancelledError
    return not is_stopped and "graceful shutdown" not in str(record.msg)


logging.getLogger("uvicorn.error").addFilter(is_worth_telling)


class QuietServer(uvicorn.Server):
    """A server that sleeps. It calls ``on_end`` when it begins to end, by a signal or by `end`."""

    def __init__(self, config: uvicorn.Config, on_end: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_end = on_end
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_ending = asyncio.Event()

    async def main_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        with self._signals(self._loop):
            if not await self.on_tick(0):
                await self._is_ending.wait()

    @contextmanager
    def _signals(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Have signals wake up the event loop within this block.

        Otherwise a signal may reach another thread while the loop sleeps on.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        for number in SIGNALS:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)
                signal.signal(number, self.handle_exit)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._wake()

    def end(self) -> None:
        """End the server, from any thread."""
        self.should_exit = True
        self._wake()

    def _wake(self) -> None:
        self._on_end()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._is_ending.set)
