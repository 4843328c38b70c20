"""A session that another agent will continue. Values only: ``handoff`` makes them, and the adapter
of the other agent writes them in its own format."""

import hashlib
import uuid
from pathlib import Path
from typing import Any

import msgspec


class RunCommand(msgspec.Struct, frozen=True):
    """A command of a shell."""

    command: str


class FileContent(msgspec.Struct, frozen=True):
    """The whole content of a file."""

    path: str
    content: str


class FileEdit(msgspec.Struct, frozen=True):
    """A text that replaces another one: its first occurrence, or all with ``everywhere``."""

    path: str
    old: str
    new: str
    everywhere: bool = False


class FileRead(msgspec.Struct, frozen=True):
    """A file that was read, or ``lines`` of it from line ``first`` (counted from 1)."""

    path: str
    first: int | None = None
    lines: int | None = None


Operation = RunCommand | FileContent | FileEdit | FileRead


class HandedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call with its result. ``arguments`` is a text for tools that take one."""

    call_id: str
    tool: str
    arguments: dict[str, Any] | str
    result: str
    failed: bool = False


class HandedPrompt(msgspec.Struct, frozen=True):
    """What a person asked."""

    text: str


class HandedAnswer(msgspec.Struct, frozen=True):
    """One response of a model: what it said, and the calls that it made at once."""

    text: str = ""
    calls: tuple[HandedCall, ...] = ()


HandedStep = HandedPrompt | HandedAnswer


class HandedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation in the words of the agent that gets it.

    ``origin`` is the uid of the session it comes from, ``target`` the agent that gets it, ``at``
    the time of the handoff in milliseconds, ``cwd`` the directory in which the new session
    works.
    """

    origin: str
    target: str
    at: int
    cwd: str
    title: str
    steps: tuple[HandedStep, ...]

    def new_id(self, *parts: object) -> str:
        """32 hexadecimal digits that belong to this handoff and these parts alone."""
        named = "\0".join(map(str, (self.origin, self.target, self.at, self.cwd, *parts)))
        return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def new_uuid(self, *parts: object) -> str:
        return str(uuid.UUID(self.new_id(*parts), version=4))


class NewFile(msgspec.Struct, frozen=True):
    """A file of the new session. ``is_shared``: it holds more than this session, and ``content`` is
    the old content with this session added."""

    path: Path
    content: bytes
    is_shared: bool = False


class TargetSession(msgspec.Struct, frozen=True):
    """What a target makes of a session: its id there, and the files to write."""

    session: str
    files: tuple[NewFile, ...]
