"""What an adapter is, and the values that travel from it to ``collect``.

``read`` is a pure function of a source's bytes: stopped anywhere and started again at the last
cursor it yields what an undisturbed run would have yielded.
"""

from pathlib import Path
from typing import Any, BinaryIO, Protocol

import msgspec

from session_memory.adapters.token_counts import MOST_TOKENS, is_possible, short_number
from session_memory.core.roles import LOG

TOKEN_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cache_write_1h_tokens",
    "reasoning_tokens",
    "web_searches",
)


class Cursor(msgspec.Struct, frozen=True):
    """How far a source has been read: a byte offset and whatever the adapter must remember."""

    offset: int = 0
    state: str = ""


class SourceRef(msgspec.Struct, frozen=True):
    """A native file as discovery found it. ``home_path`` is its place below the user's home.

    ``at`` is where its bytes lie now when that is not ``path``: an agent may move a finished log
    to its archive, or compress it (a name that ends in ``.zst``). It stays the same source.
    """

    path: Path
    role: str = LOG
    home_path: str = ""
    session: str = ""
    agent: str = ""
    companions: tuple["SourceRef", ...] = ()
    at: Path | None = None

    @property
    def place(self) -> Path:
        return self.at or self.path


class Readable(Protocol):
    """The bytes of a source, wherever they are: the agent's file or our own raw."""

    ref: SourceRef

    def open(self, offset: int) -> BinaryIO: ...


class NativeEvent(msgspec.Struct, gc=False):
    """One block of a native record, before the session around it is known.

    ``text``, ``arguments``, ``is_shell``, ``ends_turn``, ``is_prompt``, ``is_interrupt``,
    ``has_words`` and ``mode`` serve ``settle`` and are not stored. ``body`` is all that was said,
    thought or printed, where ``text`` and ``arguments`` are not that already.
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
    body: str = ""


class NativeUsage(msgspec.Struct, gc=False):
    """What one model response used, as the agent wrote it down; buckets are disjoint.

    This is the one place where token counts are bounded. Adapters pass the figures as they were
    logged. A figure below 0 or above ``MOST_TOKENS`` becomes 0, and ``rejected`` says which one it
    was: the sync stores a problem for it, and all other figures count.

    Some agents log only what a whole turn used, including its subagents
    (``includes_subagents``, with the sessions of those subagents). ``derive`` subtracts the
    subagents that are in the store.
    """

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
    includes_subagents: bool = False
    subagents: tuple[str, ...] = ()
    rejected: str = ""

    def __post_init__(self) -> None:
        if (
            0 <= self.input_tokens <= MOST_TOKENS
            and 0 <= self.output_tokens <= MOST_TOKENS
            and 0 <= self.cache_read_tokens <= MOST_TOKENS
            and 0 <= self.cache_write_tokens <= MOST_TOKENS
            and 0 <= self.cache_write_1h_tokens <= MOST_TOKENS
            and 0 <= self.reasoning_tokens <= MOST_TOKENS
            and 0 <= self.web_searches <= MOST_TOKENS
        ):
            return
        rejected = []
        for name in TOKEN_COUNTS:
            count = getattr(self, name)
            if not is_possible(count):
                rejected.append(f"{name} is {short_number(count)}")
                setattr(self, name, 0)
        # These two are parts of others, so they cannot be larger.
        self.cache_write_1h_tokens = min(self.cache_write_1h_tokens, self.cache_write_tokens)
        self.reasoning_tokens = min(self.reasoning_tokens, self.output_tokens)
        self.rejected = ", ".join(filter(None, (self.rejected, *rejected)))


class CallOutcome(msgspec.Struct, gc=False):
    """What another record than its result says about a call; ``None`` says nothing."""

    call_id: str
    is_error: bool | None = None
    exit_code: int | None = None
    duration_ms: int | None = None
    marks: tuple[str, ...] = ()


class Base(msgspec.Struct, gc=False):
    """The history a session begins with and does not repeat: what ``session`` holds before
    ``ordinal``."""

    session: str
    ordinal: int


class ChildLink(msgspec.Struct, gc=False):
    """A record of a parent session that names the subagent one of its calls started."""

    child: str
    call_id: str


class Record(msgspec.Struct, gc=False):
    """One native record: its place in the source and everything it says.

    Exactly one holds: it gives events, it is ``bookkeeping`` (a kind the adapter lists), it is a
    ``problem``, or it only carries ``facts`` of a document. ``unfit_name`` is the session's own id
    where that is none we can use and ``session`` a substitute; ``check`` tells records without a
    ``native_id`` apart; ``key`` is filled in by ``collect``.

    A ``native_id`` is the same for every copy of a record and for nothing else, whatever session
    or agent it stands in.

    ``parent_session`` says that the session came from another one: as a subagent, unless
    ``relation`` says otherwise. Whichever record says it first counts.

    Where a log has no links between its records, ``follows`` puts a record below the one before
    it on the session's path; a person's going back is ``turns_undone`` (that many prompts) or
    ``back_to_prompt`` (before the prompt of that index, counted from 0 on the path). Where it has
    links and says itself where it goes on, ``stands_at`` is the record it stands at from here (""
    for its beginning), and whatever does not lead there is left behind.

    A turn that several models answered has ``more_usage``, one for each of the others.

    Bookkeeping may carry ``usage`` of the answers before it, ``outcomes`` of calls, facts, links;
    or it ``continues`` the last event of the record right before it, a message in chunks, with
    its ``text``.
    """

    offset: int
    length: int
    session: str
    native_id: str | None = None
    parent_id: str | None = None
    ts: int | None = None
    events: list[NativeEvent] = []
    usage: NativeUsage | None = None
    more_usage: list[NativeUsage] = []
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
    relation: str | None = None
    spawn_call_id: str | None = None
    spawn_depth: int | None = None
    base: Base | None = None
    ordinal: int | None = None
    follows: bool = False
    turns_undone: int = 0
    back_to_prompt: int | None = None
    continues: bool = False
    text: str = ""
    outcomes: list[CallOutcome] = []
    stands_at: str | None = None


class Unlisted(msgspec.Struct, frozen=True):
    """Something that should have been a source and is not: why, for a problem."""

    path: Path
    reason: str
