"""What an adapter is, and the values that travel from it to ``collect``.

``read`` is a pure function of a source's bytes: stopped anywhere and started again at the last
cursor it yields what an undisturbed run would have yielded.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import msgspec

LOG = "log"
"""A source of records, appended to by the agent."""
DOCUMENT = "document"
"""A small file the agent rewrites as a whole; each version is one record."""
SPILL = "spill"
"""A body the agent moved out of its log; kept byte for byte, it gives no events."""


class Cursor(msgspec.Struct, frozen=True):
    """How far a source has been read: a byte offset and whatever the adapter must remember."""

    offset: int = 0
    state: str = ""


class SourceRef(msgspec.Struct, frozen=True):
    """A native file as discovery found it. ``home_path`` is its place below the user's home."""

    path: Path
    role: str = LOG
    home_path: str = ""
    session: str = ""
    agent: str = ""
    companions: tuple["SourceRef", ...] = ()


class Readable(Protocol):
    """The bytes of a source, wherever they are: the agent's file or our own raw."""

    ref: SourceRef

    def open(self, offset: int) -> BinaryIO: ...


class NativeEvent(msgspec.Struct, gc=False):
    """One block of a native record, before the session around it is known.

    ``text``, ``arguments``, ``is_shell``, ``ends_turn``, ``is_prompt``, ``is_interrupt``,
    ``has_words`` and ``mode`` serve ``settle`` and are not stored.
    """

    kind: str
    role: str
    summary: str = ""
    native_kind: str = ""
    marks: tuple[str, ...] = ()
    tool: str | None = None
    call_id: str | None = None
    response_id: str | None = None
    model: str | None = None
    is_error: bool = False
    duration_ms: int | None = None
    exit_code: int | None = None
    path: str | None = None
    text: str = ""
    arguments: object = None
    is_shell: bool = False
    ends_turn: bool = False
    is_prompt: bool = False
    is_interrupt: bool = False
    has_words: bool = False
    mode: str | None = None


class NativeUsage(msgspec.Struct, gc=False):
    """What one model response used, as the agent wrote it down; buckets are disjoint."""

    usage_id: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    reasoning_tokens: int = 0
    web_searches: int = 0
    speed: str | None = None
    service_tier: str | None = None


class ChildLink(msgspec.Struct, gc=False):
    """A record of a parent session that names the subagent one of its calls started."""

    child: str
    call_id: str


class Record(msgspec.Struct, gc=False):
    """One native record: its place in the source and everything it says.

    Exactly one holds: it gives events, it is ``bookkeeping`` (a kind the adapter lists), it is a
    ``problem``, or it only carries ``facts`` of a document. ``parent_session`` is set on the
    records of a subagent; ``unfit_name`` is the session's own id where that is none we can use
    and ``session`` a substitute; ``check`` tells records without a ``native_id`` apart; ``key`` is
    filled in by ``collect``.
    """

    offset: int
    length: int
    session: str
    native_id: str | None = None
    parent_id: str | None = None
    ts: int | None = None
    events: list[NativeEvent] = []
    usage: NativeUsage | None = None
    is_sidechain: bool = False
    cwd: str | None = None
    git_branch: str | None = None
    agent_version: str | None = None
    parent_session: str | None = None
    check: int = 0
    key: bytes = b""
    unfit_name: str | None = None
    facts: dict[str, Any] | None = None
    link: ChildLink | None = None
    bookkeeping: str | None = None
    problem: str | None = None
    problem_detail: str = ""
    lenient: bool = False


class Adapter(Protocol):
    """The module interface of an adapter."""

    FLAVOR: str
    VERSION: int
    BOOKKEEPING: frozenset[str]

    def roots(self, environ: Mapping[str, str], home: Path) -> list[Path]:
        """Where the agent keeps its sessions on this machine, best first; they may not exist."""
        ...

    def discover(self, root: Path) -> Iterable["SourceRef | Unlisted"]:
        """Every source below ``root``, laid out as the agent does or as loose files."""
        ...

    def recognizes(self, head: bytes) -> bool:
        """Whether the first bytes of a loose file look like this agent's log."""
        ...

    def read(self, source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]: ...


class Unlisted(msgspec.Struct, frozen=True):
    """Something that should have been a source and is not: why, for a problem."""

    path: Path
    reason: str
