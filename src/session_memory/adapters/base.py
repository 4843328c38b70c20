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
"""Milliseconds. Sums of millions of such durations still fit into both databases."""
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
    """How far a source has been read: a byte offset, and the adapter's state there as a text."""

    offset: int = 0
    state: str = ""


class SourceRef(msgspec.Struct, frozen=True):
    """A source that an adapter discovered: a native file, or one session in a database.

    - ``home_path``: the path of the file below the user's home.
    - ``session``, ``agent``: the native id of the session, and the id of the subagent whose log
      this is; empty if the path does not tell them.
    - ``companions``: files beside the log that belong to the same session.
    - ``at``: where the file is now, if not at ``path``. An agent may move a finished log to its
      archive, or compress it (then the name ends in ``.zst``). It stays the same source.
    - ``stamp``: for a session in the database ``at``: a number that changes whenever a row of the
      session changes. A sync reads the rows (`Agent.rows`) only if the number changed.
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

    ``derive.settle`` finds the place. The fields ``text``, ``arguments``, ``is_shell``,
    ``ends_turn``, ``is_prompt``, ``is_interrupt``, ``has_words``, ``mode``, ``queued``,
    ``is_repeated`` and ``session_ids`` are input for ``derive``; the store has no columns for them.

    - ``body``: the whole text of the block, if ``text`` and ``arguments`` do not hold all of it.
    - ``is_shell``: a call runs a command in a shell. In the result of such a call: the command has
      ended, so a missing exit status of a success is 0.
    - ``has_words``: a person wrote something when refusing this call.
    - ``mode``: the agent's mode from here on, such as ``plan``. A change of the mode is a decision.
    - ``queued``: ``typed`` for a prompt that a person typed while the agent worked; ``taken_back``
      if the person took back all such prompts; ``repeated`` for a text that is no prompt itself but
      may repeat a ``typed`` one.
    - ``is_repeated``: an earlier record has this block too, so the block becomes no event. It stays
      in the list, because an event is found again by the number of its block in the record.
    - ``session_ids``: ids of sessions in the text or the arguments. An agent that copies subagents
      with a fork writes other ids into the copies, so copies are compared without these ids.
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
    session_ids: tuple[str, ...] = ()


class NativeUsage(msgspec.Struct, gc=False):
    """The tokens of one model response, as the agent logged them.

    ``input_tokens`` includes no cached tokens. ``reasoning_tokens`` and ``cache_write_1h_tokens``
    are parts of ``output_tokens`` and ``cache_write_tokens``.

    Adapters read each figure with `count_of` and do not check it themselves. A figure below 0,
    above ``MOST_TOKENS`` or not a whole number becomes 0 here. ``rejected`` names this figure, and
    the sync stores a problem for it. All other figures count.

    - ``includes_subagents``: the figures are those of a whole turn, together with the subagents
      whose sessions ``subagents`` names. ``derive`` subtracts the usage of the subagents that are
      in the store. If ``subagents`` names the session itself, the figures are those of the session
      since its beginning, and ``derive`` subtracts the session's other responses.
    - ``is_reported``: the response belongs to another session, and this log only repeats its
      figures, as the log of a parent does for its subagents. The response counts for the session
      with this log until a log that has the response itself is collected.
    - ``is_of_session``: the figures belong to the whole session and to no answer. They are in a
      document beside the log, which may be read before or after the log.
    - ``reported_cost``: the cost of the response in micro-dollars, if the agent logged it (use
      `session_memory.adapters.reported_costs.microdollars`); else None. It is stored beside the
      amount that is computed from prices, and no total includes it.
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
            # A count that is a text or a list cannot be compared. It is rejected like a number that
            # is too large.
            pass
        self.reject_impossible()

    def reject_impossible(self) -> None:
        """Set every token count that cannot be true to 0, and name it in ``rejected``.

        A reported cost that cannot be true becomes None, and ``rejected`` names it too. A count
        that is a part of another one becomes at most as large as that one.
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
        # The two figures below are parts of other figures, so they cannot be larger.
        self.cache_write_1h_tokens = min(self.cache_write_1h_tokens, self.cache_write_tokens)
        self.reasoning_tokens = min(self.reasoning_tokens, self.output_tokens)
        self.rejected = ", ".join(filter(None, (self.rejected, *rejected)))


class CallOutcome(msgspec.Struct, gc=False):
    """What a record says about a call, besides the record of the call's result. A field is None if
    the record does not state it."""

    call_id: str
    is_error: bool | None = None
    exit_code: Integer | None = None
    duration_ms: Duration | None = None
    marks: tuple[str, ...] = ()


class Base(msgspec.Struct, gc=False):
    """The history that a log continues but does not hold: the records of the session ``session``
    whose number (`Record.ordinal`) is below ``ordinal``."""

    session: str
    ordinal: Integer


MOST_BETWEEN = 64 * 1024
"""The most bytes of blank lines and bookkeeping between two chunks of one message."""


class ChildLink(msgspec.Struct, gc=False):
    """The link from a call to the subagent that it started: ``child`` is the native id of the
    subagent's session, ``call_id`` the call in the parent session."""

    child: str
    call_id: str


class Record(msgspec.Struct, gc=False):
    """One native record of a source: where it is (``offset``, ``length``) and what it holds.

    A record of a log has ``events``, or is ``bookkeeping`` (a kind that the agent lists), or is a
    ``problem``. The record of a document may have ``facts`` alone. Bookkeeping may also have
    ``usage`` of the answers before it, ``outcomes`` of calls, facts and links.

    - ``session``: the native id of the session. If the agent's own id is not valid here, this is a
      hash of it, and ``unfit_name`` is the agent's own id.
    - ``native_id``: the agent's id of the record. All copies of a record have the same id, and
      different records have different ids, even in sessions of other agents. (If two records with
      different content have the same id, both are stored, and one is listed as a problem.)
    - ``check``: a checksum of the line, which distinguishes records without an id.
    - ``key``: the identity of the record. ``derive`` sets it.
    - ``parent_session``: the session that started this session, or that this session continues.
      ``relation`` says how the two are related; if it is None, this session is a subagent. The
      first record that names a parent counts. ``parent_flavor`` is the flavor of the parent, if the
      parent is a session of another agent.
    - ``follows``: the log has no links between its records, so the parent of this record is the
      last record on the session's path.
    - ``ordinal``: the number of the record in its session, to which a `Base` refers.
    - ``turns_undone``: a person took back this many prompts, the last ones of the path.
    - ``back_to_prompt``: a person took back this prompt of the path, counted from 0, and all
      prompts after it.
    - ``stands_at``: the log says that the session continues after the record with this id, or from
      its beginning if this is "". All records that do not lead there are abandoned.
    - ``remark``: something is odd, but the record could be read. The remark is stored as a problem.
    - ``lenient``: fields of a wrong type were left out.
    - ``more_usage``: the usage of further models or responses, if the record has several.
    - ``more_links``: a link for each further subagent that the record names.
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
