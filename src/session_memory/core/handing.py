"""The values of a handoff: a session in a form that another agent can continue.

The package ``handoff`` builds these values. The adapter of the other agent writes them in the
format of that agent.
"""

import hashlib
import uuid
from pathlib import Path
from typing import Any

import msgspec


class RunCommand(msgspec.Struct, frozen=True):
    """A tool call that ran a shell command."""

    command: str


class FileContent(msgspec.Struct, frozen=True):
    """A tool call that wrote a whole file."""

    path: str
    content: str


class FileEdit(msgspec.Struct, frozen=True):
    """A tool call that replaced ``old`` by ``new`` in a file, once or ``everywhere``."""

    path: str
    old: str
    new: str
    everywhere: bool = False


class FileRead(msgspec.Struct, frozen=True):
    """A tool call that read a file: the whole file, or ``lines`` lines of it, beginning with line
    ``first``.

    The first line of a file is line 1.
    """

    path: str
    first: int | None = None
    lines: int | None = None


Operation = RunCommand | FileContent | FileEdit | FileRead


class HandedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of one of the new agent's tools, with its result. ``arguments`` is a text if the tool
    takes a text."""

    call_id: str
    tool: str
    arguments: dict[str, Any] | str
    result: str
    failed: bool = False


class HandedPrompt(msgspec.Struct, frozen=True):
    """What a person asked."""

    text: str


class HandedAnswer(msgspec.Struct, frozen=True):
    """One response of a model: its text and its tool calls."""

    text: str = ""
    calls: tuple[HandedCall, ...] = ()


HandedStep = HandedPrompt | HandedAnswer


class HandedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation that an agent will continue. Its calls use the tools of that agent.

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
        """Return an id of 32 hexadecimal digits: a hash of this handoff and ``parts``."""
        named = "\0".join(map(str, (self.origin, self.target, self.at, self.cwd, *parts)))
        return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def new_uuid(self, *parts: object) -> str:
        return str(uuid.UUID(self.new_id(*parts), version=4))


class NewFile(msgspec.Struct, frozen=True):
    """A file to write for the new session. ``is_shared``: the file also holds other sessions, and
    ``content`` is the present file with the new session added."""

    path: Path
    content: bytes
    is_shared: bool = False


class TargetSession(msgspec.Struct, frozen=True):
    """A session in the format of the agent that gets it: its new id, and the files to write."""

    session: str
    files: tuple[NewFile, ...]
