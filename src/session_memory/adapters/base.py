"""The values that an adapter gives to ``collect``.

Reading is a pure function of a source's bytes. If it stops anywhere and starts again at
the last cursor, it yields the same records as one uninterrupted reading.
"""

from pathlib import Path
from typing import Annotated, Any, BinaryIO, Protocol

import msgspec

from session_memory.adapters.reported_costs import MOST_MICRODOLLARS
from session_memory.adapters.token_counts import MOST_TOKENS, count_of, is_possible, short_number
from session_memory.core.roles import LOG
from session_memory.core.time import MAX_MS, MIN_MS

# The limits are not checked when a value is made: that would slow down every adapter.
# `session_memory.adapters.checked_reading` checks them for adapters of other packages.
Time = Annotated[int, msgspec.Meta(ge=MIN_MS, le=MAX_MS)]
"""Milliseconds since the epoch, in the years 1 to 9999."""
Duration = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
"""Milliseconds. Sums of millions of them still fit into both databases."""
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 31)]
Integer = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
"""An integer that fits into both databases."""

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
    """How far a source has been read: a byte offset and what the adapter must remember."""

    offset: int = 0
    state: str = ""


class SourceRef(msgspec.Struct, frozen=True):
    """A native file that discovery found. ``home_path`` is its place below the user's home.

    ``at`` is where the file is now, if not at ``path``. An agent may move a finished log to its
    archive, or compress it (then the name ends in ``.zst``). It stays the same source.

    ``stamp`` is for a source that is a part of a database: ``at`` is the database, and the stamp
    another number whenever the rows of this part changed (`Agent.rows`).
    """

    path: Path
    role: str = LOG
    home_path: str = ""
    session: str = ""
    agent: str = ""
    companions: tuple["SourceRef", ...] = ()
    at: Path | None = None
    stamp: int | None = None

    @property
    def place(self) -> Path:
        return self.at or self.path


class Readable(Protocol):
    """The bytes of a source: the agent's file, a piece of it, or the stored copy."""

    ref: SourceRef

    def open(self, offset: int) -> BinaryIO: ...


class NativeEvent(msgspec.Struct, gc=False):
    """One block of a native record, before its session is known.

    ``text``, ``arguments``, ``is_shell``, ``ends_turn``, ``is_prompt``, ``is_interrupt``,
    ``has_words``, ``mode``, ``queued`` and ``is_repeated`` are for ``derive.settle`` and are not
    stored. ``body`` is the whole text of the block, where ``text`` and ``arguments`` are not.
    ``queued`` is ``typed`` for a prompt that waits until the agent has time, ``taken_back`` when
    all that wait are taken back, and ``repeated`` for a text that is no prompt although it may
    have waited.
    ``is_repeated``: an earlier record gave this block, so it becomes no event. The record lists it
    all the same: an event is found again by the number of its block, and whoever reads the record
    alone gets all its blocks.
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
    duration_ms: Duration | None = None
    exit_code: Integer | None = None
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
    queued: str = ""
    is_repeated: bool = False


class NativeUsage(msgspec.Struct, gc=False):
    """What one model response used, as the agent wrote it down; buckets are disjoint.

    This is the one place where token counts are bounded. Adapters pass the figures as they were
    logged. A figure below 0, above ``MOST_TOKENS`` or not a whole number becomes 0, and
    ``rejected`` says which one it was: the sync stores a problem for it, and all other figures
    count.

    Some agents log only what a whole turn used, including its subagents
    (``includes_subagents``, with the sessions of those subagents). ``derive`` subtracts the
    subagents that are in the store. If ``subagents`` names the session itself, the figures are what
    the session used since its beginning, and ``derive`` subtracts its other responses.

    ``is_reported``: the response is another session's, and this log only repeats what it used, as
    the log of a parent does for its subagents. It counts for the session with this log unless a
    session logs the response itself.

    ``is_of_session``: the figures are of no answer. A document beside the log states them for the
    session, and nobody knows which of both is read first.

    ``reported_cost``: what the agent itself wrote that the response cost, in micro-dollars; read it
    with `session_memory.adapters.reported_costs.microdollars`. None if the log does not say. It is
    kept beside our own amount and is in no total.
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
    is_reported: bool = False
    is_of_session: bool = False
    reported_cost: int | None = None
    rejected: str = ""

    def __post_init__(self) -> None:
        try:
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
        except TypeError:
            # A text or a list cannot be compared. It is rejected like a number that is too large.
            pass
        self.reject_impossible()

    def reject_impossible(self) -> None:
        """Set every figure that cannot be true to 0, and add it to ``rejected``."""
        rejected = []
        for name in TOKEN_COUNTS:
            count = count_of(getattr(self, name))
            if not is_possible(count):
                rejected.append(f"{name} is {short_number(count)}")
                count = 0
            setattr(self, name, count)
        cost = self.reported_cost
        if cost is not None and not (type(cost) is int and 0 <= cost <= MOST_MICRODOLLARS):
            rejected.append(f"reported_cost is {short_number(count_of(cost))}")
            self.reported_cost = None
        # These two are parts of others, so they cannot be larger.
        self.cache_write_1h_tokens = min(self.cache_write_1h_tokens, self.cache_write_tokens)
        self.reasoning_tokens = min(self.reasoning_tokens, self.output_tokens)
        self.rejected = ", ".join(filter(None, (self.rejected, *rejected)))


class CallOutcome(msgspec.Struct, gc=False):
    """What a record other than the result says about a call. None means that it says nothing."""

    call_id: str
    is_error: bool | None = None
    exit_code: Integer | None = None
    duration_ms: Duration | None = None
    marks: tuple[str, ...] = ()


class Base(msgspec.Struct, gc=False):
    """The history that a session begins with and does not repeat: the records of ``session`` before
    ``ordinal``."""

    session: str
    ordinal: Integer


MOST_BETWEEN = 64 * 1024
"""So many bytes may be between two chunks of a message: blank lines, bookkeeping."""


class ChildLink(msgspec.Struct, gc=False):
    """Names the subagent that a call of the parent session started."""

    child: str
    call_id: str


class Record(msgspec.Struct, gc=False):
    """One native record: its place in the source and its contents.

    A record gives events, or is ``bookkeeping`` (of a kind the agent lists), or is a ``problem``,
    or only carries the ``facts`` of a document.

    - ``session``: the native id of the session. Where the session's own id cannot be used, this is
      a substitute, and ``unfit_name`` is the session's own id.
    - ``native_id``: the same for every copy of the record, and for no other record of any session
      or agent. A record with the same id and other content is no copy. ``check`` distinguishes
      records without an id. ``derive`` sets ``key``.
    - ``parent_session``: the session that this one came from, as a subagent unless ``relation``
      says otherwise. The first record that names one counts. ``parent_flavor`` is the agent of
      the parent, if it is another one.
    - ``follows``: for a log without links between its records. The record comes after the one
      before it on the session's path.
    - ``turns_undone``, ``back_to_prompt``: a person went back by so many prompts, or to before the
      prompt of this index on the path, counted from 0.
    - ``stands_at``: for a log with links: it says that the session continues at this
      record, "" for its beginning; records that do not lead there are abandoned.
    - ``remark``: something is odd, and the record was read nevertheless. It becomes a problem too.
    - ``more_usage``: one for each further model that answered in the turn. ``more_links``: one for
      each further subagent that the record names.
    - ``continues``: the record continues the last event of its session with ``text``, as a message
      in chunks does. Such a record is bookkeeping. At most `MOST_BETWEEN` bytes may be between
      them, and no record of another session: all of it is read to show the event.

    Bookkeeping may carry ``usage`` of the answers before it, ``outcomes`` of calls, facts and
    links.
    """

    offset: Integer
    length: Integer
    session: str
    native_id: str | None = None
    parent_id: str | None = None
    ts: Time | None = None
    events: list[NativeEvent] = []
    usage: NativeUsage | None = None
    more_usage: list[NativeUsage] = []
    is_sidechain: bool = False
    cwd: str | None = None
    git_branch: str | None = None
    agent_version: str | None = None
    parent_session: str | None = None
    check: Integer = 0
    key: bytes = b""
    unfit_name: str | None = None
    facts: dict[str, Any] | None = None
    link: ChildLink | None = None
    more_links: list[ChildLink] = []
    bookkeeping: str | None = None
    problem: str | None = None
    problem_detail: str = ""
    remark: str = ""
    lenient: bool = False
    relation: str | None = None
    parent_flavor: str | None = None
    spawn_call_id: str | None = None
    spawn_depth: Count | None = None
    base: Base | None = None
    ordinal: Integer | None = None
    follows: bool = False
    turns_undone: Count = 0
    back_to_prompt: Count | None = None
    continues: bool = False
    text: str = ""
    outcomes: list[CallOutcome] = []
    stands_at: str | None = None


class Unlisted(msgspec.Struct, frozen=True):
    """A path that should be a source and cannot be one. ``reason`` becomes a problem."""

    path: Path
    reason: str
