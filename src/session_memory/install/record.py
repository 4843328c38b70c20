"""Read and write the record of what was installed, below ``~/.session-memory/install``.

For each file: its content without our parts, and the hash of the content that was written. If the
file still has that hash, uninstalling writes the former content back.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256

import msgspec

from session_memory.config import home
from session_memory.install.errors import InstallError
from session_memory.store.operation_lock import lock_within_a_minute
from session_memory.store.private_files import make_private, whole_file


class InstalledAgent(msgspec.Struct, frozen=True):
    """An agent that is installed for the user, or in the project whose directory is ``root``."""

    agent: str
    root: str
    hooks: tuple[str, ...]
    words: tuple[str, ...]
    skill: bool = True
    through_server: bool = False

    @property
    def key(self) -> tuple[str, str]:
        return self.agent, self.root


class FileRecord(msgspec.Struct):
    """A file with parts of ours.

    ``before``: the hash of its content without them; None if there was no file. ``after``: the hash
    of what was written. ``created``: the paths of objects and lists that were added.
    """

    before: str | None
    after: str
    created: list[tuple[str | int, ...]] = []


class InstallRecord(msgspec.Struct):
    """What was installed: for which agents, and what is in which file, by its path.

    ``directories`` are those that were made for files. Uninstalling removes those that are empty.
    """

    version: int = 1
    agents: list[InstalledAgent] = []
    files: dict[str, FileRecord] = {}
    directories: list[str] = []


def content_hash(text: str) -> str:
    return sha256(text.encode("utf-8")).hexdigest()


class RecordFile:
    """The file of the record, and the former contents of changed files beside it."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self.directory = home(environ) / ".session-memory" / "install"
        self.path = self.directory / "installed.json"

    def read(self) -> InstallRecord:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=InstallRecord)
        except FileNotFoundError:
            return InstallRecord()
        except msgspec.DecodeError as error:
            hint = f"Move {self.path} away; uninstall then removes our entries by their names."
            raise InstallError(f"the record of installations is damaged: {error}", hint) from error

    def write(self, record: InstallRecord) -> None:
        """Write the record, then delete the contents that it no longer names."""
        self._write(record)
        named = {one.before for one in record.files.values()}
        for place in (self.directory / "before").glob("*"):
            if place.name not in named:
                place.unlink(missing_ok=True)

    def _write(self, record: InstallRecord) -> None:
        if not record.agents and not record.files:
            self.path.unlink(missing_ok=True)
            return
        with whole_file(self.path, replace=True) as file:
            file.write(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")

    def keep(self, text: str) -> str:
        """Keep the former content of a file, readable for its owner only. Returns its hash."""
        name = content_hash(text)
        place = self.directory / "before" / name
        if not place.exists():
            make_private(place.parent)
            with whole_file(place, replace=True) as file:
                file.write(text.encode("utf-8"))
        return name

    def kept(self, name: str) -> str | None:
        """Return a kept content by its hash; None if it is gone or damaged."""
        try:
            text = (self.directory / "before" / name).read_bytes().decode("utf-8", "replace")
        except FileNotFoundError:
            return None
        return text if content_hash(text) == name else None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock of the record: other installations wait."""
        make_private(self.directory)
        descriptor = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            lock_within_a_minute(descriptor, str(self.path))
            yield
        finally:
            os.close(descriptor)
