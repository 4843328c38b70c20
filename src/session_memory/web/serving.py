"""Run the web server: bind a port of this machine, make a token, and follow the logs meanwhile."""

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from session_memory.core.errors import ConfigError
from session_memory.memory import Memory
from session_memory.web.answering import Answering
from session_memory.web.app import make_app
from session_memory.web.figure_making import FigureMaking
from session_memory.web.following import Following
from session_memory.web.live import Changes
from session_memory.web.memories import Memories
from session_memory.web.preparing import Preparing
from session_memory.web.quiet_server import QuietServer
from session_memory.web.running import HOST, Running, running, write_running
from session_memory.web.security import PARAMETER, new_token
from session_memory.web.site import Site

if TYPE_CHECKING:
    from session_memory.web.mcp_endpoint import McpEndpoint

SECONDS_TO_END = 1
WAITING = 128


class WebServer:
    """One server for one store. The file ``place`` keeps its port, so that links stay valid.

    ``follows``: the server itself follows the logs. ``is_live``: another part of this process
    follows them.
    """

    def __init__(
        self,
        opened: Callable[[], Memory],
        *,
        port: int = 0,
        place: Path | None = None,
        follows: bool = False,
        is_live: bool = False,
        mcp: "McpEndpoint | None" = None,
    ) -> None:
        self._place = place
        self._socket = _bound(port, place)
        self.port: int = self._socket.getsockname()[1]
        self.token = new_token()
        self._figures = FigureMaking(opened)
        self._memories = Memories(opened, self._figures.ask)
        self._changes = Changes(opened)
        site = Site(is_followed=follows or is_live, token=self.token)
        self._following = Following(opened, self._changes.wake, site) if follows else None
        answering = Answering(self._memories, self._changes, site, self._answered)
        self._preparing = Preparing(answering)
        app = make_app(answering, self._changes, self.token, self.port, mcp)
        self._server = QuietServer(
            uvicorn.Config(
                app,
                http="h11",
                loop="asyncio",
                ws="none",
                lifespan="off",
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                # The guard writes the date. uvicorn would wake up every second to update it.
                date_header=False,
                timeout_graceful_shutdown=SECONDS_TO_END,
            ),
            self._changes.end,
        )

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}/?{PARAMETER}={self.token}"

    @property
    def is_ready(self) -> bool:
        return self._server.started

    def run(self) -> None:
        """Serve until a signal or `stop` ends the server."""
        following = self._following.running() if self._following else contextlib.nullcontext()
        with self._noted(), following, self._preparing.running(), self._figures.running():
            try:
                self._server.run(sockets=[self._socket])
            finally:
                self._changes.close()
                self._memories.close()
                self._socket.close()

    def stop(self) -> None:
        self._server.end()

    def _answered(self) -> None:
        """Begin the work that waited for the first answer."""
        self._preparing.begin()
        if self._following is not None:
            self._following.begin()

    @contextlib.contextmanager
    def _noted(self) -> Iterator[None]:
        """Tell other commands where the server is. After its end, the file keeps only its port."""
        if self._place is None:
            yield
            return
        write_running(self._place, Running(self.port, self.token, os.getpid()))
        try:
            yield
        finally:
            write_running(self._place, Running(self.port))


def _bound(port: int, place: Path | None) -> socket.socket:
    """Return a listening socket on this machine: at the given port, the last one, or a free one."""
    wanted = [port] if port else [kept.port for kept in (running(place),) if kept] + [0]
    for number in wanted:
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, number))
            # From now on a browser can connect. It waits until the server accepts.
            listening.listen(WAITING)
        except OSError as error:
            listening.close()
            if number == wanted[-1]:
                hint = "Choose another one with --port, or leave it out for a free one."
                raise ConfigError(f"port {number} cannot be used: {error.strerror}", hint) from None
        else:
            return listening
    raise AssertionError("a free port was asked for last")
