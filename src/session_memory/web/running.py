"""The file beside a store that tells other commands where its web server runs."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from session_memory.derive.files_beside import beside, store_stem

if TYPE_CHECKING:
    from session_memory.store import Store

HOST = "127.0.0.1"
SUFFIX = ".web.json"
SECONDS = 2


class Running(msgspec.Struct):
    """What the file says: the server that runs, or only the port that the last one had.

    Only the user who started the server may read the file, because it has the token.
    """

    port: int
    token: str = ""
    pid: int = 0

    @property
    def is_alive(self) -> bool:
        """Whether the server still runs. It writes its file when it starts and when it ends."""
        if not self.token or self.pid <= 0:
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def address_of(self, path: str) -> str:
        return f"http://{HOST}:{self.port}{path}"

    def answers(self) -> bool:
        """Whether our server answers at this port. Another program may have its process id or its
        port now."""
        # Every command imports this module, but few ask, and importing an HTTP client takes long.
        from http import HTTPStatus  # noqa: PLC0415
        from http.client import HTTPConnection, HTTPException  # noqa: PLC0415

        asked = HTTPConnection(HOST, self.port, timeout=SECONDS)
        try:
            asked.request("HEAD", f"/?t={self.token}")
            return asked.getresponse().status == HTTPStatus.SEE_OTHER
        except (OSError, HTTPException):
            return False
        finally:
            asked.close()

    def page_of(self, uid: str, *, with_token: bool = False) -> str:
        """Return the address of a session's page. With the token, any browser can open it."""
        token = f"?t={self.token}" if with_token else ""
        return self.address_of(f"/s/{quote(uid, safe=':')}{token}")


def mark_of(store: "Store") -> Path | None:
    """Return the file that says where the server of a store runs; None for a store in memory."""
    directory = beside(store)
    return None if directory is None else directory / f"{store_stem(store)}{SUFFIX}"


def running(place: Path | None) -> Running | None:
    """Read the file about the server of a store; None if there was no server."""
    if place is None:
        return None
    try:
        return msgspec.json.decode(place.read_bytes(), type=Running)
    except (OSError, msgspec.MsgspecError):
        return None


def write_running(place: Path, state: Running) -> None:
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = place.with_name(f"{place.name}.{os.getpid()}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(msgspec.to_builtins(state), file)
    beside.replace(place)
