"""The values that an adapter's ``discover`` and ``read`` yield: sources, cursors, records, events.

``read`` is a pure function of a source's bytes. If it stops anywhere and starts again at
the last cursor, it yields the same records as one uninterrupted reading.
"""

from pathlib import Path
from typing import Annotated, Any, BinaryIO, Protocol

import msgspec

from session_memory.adapters.reported_costs import MOST_MICRODOLLARS
from session_memory.adapters.token_counts import MOST_TOKENS, count_of, is_possible, short_number
from session_memory.core.roles import LOG
from session_memory.core.time import MAX_MS, MIN_MS

# Making a value does not check these limits: that would slow down every adapter.
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
    """How far a source has been read: a byte offset, and the adapter's state at it as text."""

    offset: int = 0
    state: str = ""


class SourceRef(msgspec.Struct, frozen=True):
    """A source that an adapter discovered: a native file, or one session in a database.

    - ``home_path``: its path below the user's home.
    - ``session``, ``agent``: the native ids of its session and of its subagent, where known.
    - ``companions``: files beside the log that belong to the same session.
    - ``at``: where the file is now, if not at ``path``. An agent may move a finished log to its
      archive, or compress it (then the name ends in ``.zst``). It stays the same source.
    - ``stamp``: for a session in the database ``at``: a number that changes whenever its rows
      change. A sync reads the rows (`Agent.rows`) only if it changed.
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
    """The bytes of a source: of the agent's file, of a part of it, or of its copy in the store."""

    ref: SourceRef

    def open(self, offset: int) -> BinaryIO: ...


class NativeEvent(msgspec.Struct, gc=False):
    """One block of a native record, as an event whose place in a session is not known yet.

    ``derive.settle`` gives it that place. The fields ``text``, ``arguments``, ``is_shell``,
    ``ends_turn``, ``is_prompt``, ``is_interrupt``, ``has_words``, ``mode``, ``queued`` and
    ``is_repeated`` are input for it and are not stored.

    - ``body``: the whole text of the block, if ``text`` and ``arguments`` do not hold all of it.
    - ``has_words``: a person wrote something when refusing this call.
    - ``mode``: the mode that is on from here, such as ``plan``. A change of it is a decision.
    - ``queued``: ``typed`` for a prompt that a person typed while the agent worked; ``taken_back``
      when the person takes back all prompts that wait; ``repeated`` for a text that is no prompt
      here, but may repeat one that waited.
    - ``is_repeated``: an earlier record has this block too, so it becomes no event. It stays in
      the list, because an event is found again by the number of its block in the record.
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
    """The tokens of one model response, as the agent logged them.

    ``input_tokens`` includes no cached tokens. ``reasoning_tokens`` and ``cache_write_1h_tokens``
    are parts of ``output_tokens`` and ``cache_write_tokens``.

    Token counts are checked here and nowhere else, so adapters pass the figures as they were
    logged. A figure below 0, above ``MOST_TOKENS`` or not a whole number becomes 0. ``rejected``
    names it, and the sync stores a problem for it. All other figures count.

    - ``includes_subagents``: the figures are of a whole turn with its subagents, whose sessions
      ``subagents`` names. ``derive`` subtracts the subagents that are in the store. If
      ``subagents`` names the session itself, the figures are of the session since its beginning,
      and ``derive`` subtracts its other responses.
    - ``is_reported``: the response is another session's, and this log only repeats its figures, as
      the log of a parent does for its subagents. It counts for the session with this log unless
      the log of another session has the response itself.
    - ``is_of_session``: the figures belong to the whole session and to no answer. They are in a
      document beside the log, which may be read before or after the log.
    - ``reported_cost``: the cost of the response that the agent logged, in micro-dollars (use
      `session_memory.adapters.reported_costs.microdollars`). None if the log has none. It is
      stored beside our own amount and is in no total.
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
        """Set every token count that cannot be true to 0, and name it in ``rejected``.

        A reported cost that cannot be true becomes None.
        """
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
        # These two are parts of other figures, so they cannot be larger.
        self.cache_write_1h_tokens = min(self.cache_write_1h_tokens, self.cache_write_tokens)
        self.reasoning_tokens = min(self.reasoning_tokens, self.output_tokens)
        self.rejected = ", ".join(filter(None, (self.rejected, *rejected)))


class CallOutcome(msgspec.Struct, gc=False):
    """Facts about a call from a record other than its result. None: the record does not say."""

    call_id: str
    is_error: bool | None = None
    exit_code: Integer | None = None
    duration_ms: Duration | None = None
    marks: tuple[str, ...] = ()


class Base(msgspec.Struct, gc=False):
    """The history that a session continues without a copy of it in its own log: the records of
    ``session`` whose number is below ``ordinal``."""

    session: str
    ordinal: Integer


MOST_BETWEEN = 64 * 1024
"""The most bytes of blank lines and bookkeeping between two chunks of one message."""


class ChildLink(msgspec.Struct, gc=False):
    """Link a subagent to the call that started it: ``child`` is the id of the subagent's session,
    ``call_id`` the call in the parent session."""

    child: str
    call_id: str


class Record(msgspec.Struct, gc=False):
    """One native record of a source: where it is (``offset``, ``length``) and what it holds.

    A record has ``events``; or it is ``bookkeeping`` (a kind that the agent lists) or a
    ``problem``; or it only has ``facts`` from a document. Bookkeeping may also have ``usage`` of
    the answers before it, ``outcomes`` of calls, facts and links.

    - ``session``: the native id of the session. If the session's own id is no valid id, this is
      a substitute, and ``unfit_name`` is the session's own id.
    - ``native_id``: the agent's id of the record, the same in every copy of it. No other record of
      any session or agent may have it. Two records with the same id and different content are
      no copies of each other.
    - ``check``: a checksum of the line, which distinguishes records without an id. ``derive`` sets
      ``key``, the identity of the record.
    - ``parent_session``: the session that started this one, or that it continues. ``relation``
      says how they are related; without it, this one is a subagent. The first record that names a
      parent counts. ``parent_flavor`` is the agent of the parent, if it is another one.
    - ``follows``: the log has no links between its records, so the parent of this record is the
      last record on the session's path.
    - ``ordinal``: the number of the record in its session, for a `Base` of another session.
    - ``turns_undone``: a person went back by this many prompts.
    - ``back_to_prompt``: a person went back to before this prompt of the path, counted from 0.
    - ``stands_at``: the log says that the session continues after the record with this id, or at
      its beginning if it is "". All records that do not lead to it are abandoned.
    - ``remark``: something is odd, but the record could be read. It is stored as a problem too.
    - ``lenient``: fields of a wrong type were left out.
    - ``more_usage``: one for each further model that answered in the turn.
    - ``more_links``: one for each further subagent that the record names.
    - ``continues``: the record is the next chunk of the message that the last event of its session
      holds, and ``text`` is the chunk. Such a record is bookkeeping. Chunks have at most
      `MOST_BETWEEN` bytes between them and no record of another session, because everything from
      the first chunk to the last is read to show the event.
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
    """A path that discovery found but that cannot be read as a source. A sync stores ``reason`` as
    a problem."""

    path: Path
    reason: str
