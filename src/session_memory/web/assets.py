"""The files that pages load: style sheet and scripts.

Their addresses contain a hash of all of them. So a browser keeps them for ever, and still sees a
new release at once.
"""

from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_HASH_LENGTH = 12


class Asset(NamedTuple):
    body: bytes
    media_type: str


class Assets:
    """Every file below ``static``, read once. No part of a request reaches the file system."""

    def __init__(self) -> None:
        found = {
            file.name: file.read_bytes()
            for file in files("session_memory.web").joinpath("static").iterdir()
            if file.name.rpartition(".")[2] in _TYPES
        }
        version = sha256()
        for name in sorted(found):
            version.update(name.encode() + b"\0" + found[name] + b"\0")
        # One script imports another as "./name.js". So all files must be in the same directory.
        self._directory = f"/static/{version.hexdigest()[:_HASH_LENGTH]}/"
        self._files = {
            self._directory + name: Asset(body, f"{_TYPES[name.rpartition('.')[2]]}; charset=utf-8")
            for name, body in found.items()
        }

    def address(self, name: str) -> str:
        return self._directory + name

    def at(self, address: str) -> Asset | None:
        return self._files.get(address)
