"""The schema: sessions, their events, their cost and usage, and the entries of the skill log.

This is the stable contract. Names, order and defaults of the fields are fixed. A new version adds
fields and never changes one. Every record can be written and read back:
``from_dict(to_dict(x)) == x``. `FLAVORS`, `KINDS` and `ROLES` list what is known today; other
values are kept as they are. `OUTCOMES` and `RELATIONS` allow no other value.
"""

import json
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from session_memory.core.errors import InvalidId, InvalidRecord
from session_memory.core.ids import make_uid
from session_memory.core.text import short_repr
from session_memory.core.time import now
from session_memory.core.validation import (
    Count,
    Flag,
    Flavor,
    Json,
    LogId,
    MaybeCount,
    MaybeInteger,
    MaybeText,
    MaybeTime,
    MaybeUid,
    NativeId,
    NonEmptyText,
    Positive,
    Seconds,
    Text,
    TextList,
    Timestamp,
    Uid,
    ValidatedRecord,
    check_count,
    check_maybe_text,
    check_text,
    each,
    nested,
    one_of,
    optional,
    quick,
)

SCHEMA_VERSION = 2

# The known names. Their order is fixed: the names of schema version 1 come first.
# `FLAVORS` is part of the contract and is not a list of the adapters: do not add a new agent to it.
# Nothing in this project uses it; `session_memory.adapters.registry` finds the adapters.
FLAVORS = (
    *("claude", "codex", "grok"),
    *("aider", "amp", "cline", "copilot", "crush", "cursor", "droid", "gemini", "goose", "kilo"),
    *("kimi", "live", "mycode", "opencode", "pi", "power_loop", "qwen", "roo", "skill", "vibe"),
)
KINDS = (
    "user_msg",
    "assistant_msg",
    "thinking",
    "tool_call",
    "tool_result",
    "error",
    "test_run",
    "edit",
    "retry",
    "human_intervention",
    "decision",
    "lifecycle",
    "completion",
)
ROLES = ("user", "assistant", "system", "tool")
OUTCOMES = ("success", "fail", "abandoned", "continued", "unknown")
RELATIONS = ("subagent", "fork", "resume", "handoff")


class _Buckets(ValidatedRecord):
    """The token counts of `Cost` and `Usage`. ``cache_tokens`` is the sum of its two parts."""

    cache_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int

    def __post_init__(self, _extra: Any) -> None:
        if not self.cache_tokens:
            self.cache_tokens = self._cache_parts
        super().__post_init__(_extra)

    @property
    def _cache_parts(self) -> int:
        return self.cache_read_tokens + self.cache_write_tokens

    def _agree(self) -> None:
        # Version 1 had only the sum, so a sum without parts is allowed.
        if self._cache_parts and self._cache_parts != self.cache_tokens:
            raise InvalidRecord(
                f"cache_tokens must be cache_read_tokens + cache_write_tokens,"
                f" {self._cache_parts}, not {self.cache_tokens}",
                field="cache_tokens",
            )

    def _amend(self, name: str, value: Any) -> None:
        is_part = name in ("cache_read_tokens", "cache_write_tokens")
        if is_part and self.cache_tokens == self._cache_parts:
            total = check_count("cache_tokens", self._cache_parts - self.__dict__[name] + value)
            self.__dict__.update({name: value, "cache_tokens": total})
        else:
            super()._amend(name, value)


@dataclass(eq=False)
class Cost(_Buckets):
    """The tokens, time and turns that a session used.

    ``input_tokens``, ``cache_tokens`` and ``output_tokens`` are disjoint: each token counts once.

    ``input_tokens`` does not include cached tokens. ``cache_tokens`` is read + written tokens, and
    may be omitted if both parts are given. ``cache_write_1h_tokens`` is the part of the written
    tokens in the 1-hour cache. ``output_tokens`` includes reasoning tokens.
    """

    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_tokens: Count = 0
    wall_clock_s: Seconds = 0.0
    turns: Count = 0
    retries: Count = 0
    cache_read_tokens: Count = 0
    cache_write_tokens: Count = 0
    cache_write_1h_tokens: Count = 0
    reasoning_tokens: Count = 0
    web_searches: Count = 0

    def __add__(self, other: "Cost") -> "Cost":
        if not isinstance(other, Cost):
            return NotImplemented
        total = {name: getattr(self, name) + getattr(other, name) for name in self._checks}
        if any(cost.cache_tokens != cost._cache_parts for cost in (self, other)):
            # One of the two costs is of schema version 1. It does not say how many cached tokens
            # were read.
            total |= {"cache_read_tokens": 0, "cache_write_tokens": 0, "cache_write_1h_tokens": 0}
        return Cost(**total)


@dataclass(eq=False)
class Session(ValidatedRecord):
    """One bounded run of an agent."""

    session_uid: Uid
    flavor: Flavor
    native_session_id: NativeId
    repo: MaybeText = None
    domain: MaybeText = None
    cwd: MaybeText = None
    git_branch: MaybeText = None
    model: MaybeText = None
    started_at: MaybeTime = None
    ended_at: MaybeTime = None
    outcome: Annotated[str, one_of(OUTCOMES)] = "unknown"
    cost: Annotated[Cost, nested(Cost)] = field(default_factory=Cost)
    task_ref: MaybeText = None
    source_path: MaybeText = None
    source_bytes: Count = 0
    schema_version: Positive = SCHEMA_VERSION
    discovered_at: MaybeTime = None
    ingested_at: MaybeTime = None
    analyzed_at: MaybeTime = None
    evicted_at: MaybeTime = None
    title: MaybeText = None
    parent_uid: MaybeUid = None
    relation: Annotated[str | None, optional(one_of(RELATIONS))] = None
    spawn_call_id: MaybeText = None
    spawn_depth: Count = 0
    outcome_evidence: TextList = ()
    agent_version: MaybeText = None
    host: MaybeText = None
    revision: Count = 0
    analyzed_revision: MaybeCount = None

    @staticmethod
    def make_uid(flavor: str, native_session_id: str) -> str:
        return make_uid(flavor, native_session_id)

    @property
    def is_evictable(self) -> bool:
        """Whether the session was analyzed at its current revision and is not evicted.

        Revisions are compared, not times, because clocks can jump.
        """
        analyzed = self.analyzed_at is not None and self.analyzed_revision == self.revision
        return analyzed and self.evicted_at is None

    def _agree(self) -> None:
        expected = f"{self.flavor}:{self.native_session_id}"
        if self.session_uid != expected:
            raise InvalidId(
                f"session_uid must be {short_repr(expected)}, its flavor and native_session_id,"
                f" not {short_repr(self.session_uid)}",
                field="session_uid",
            )
        if self.parent_uid == self.session_uid:
            raise InvalidId(
                f"parent_uid must be another session, not {short_repr(self.session_uid)} itself",
                field="parent_uid",
            )


def _check_summary(name: str, value: Any) -> str:
    # Version 1 wrote None for an event without a summary.
    return "" if value is None else check_text(name, value)


@quick
@dataclass(eq=False)
class SessionEvent(ValidatedRecord):
    """One thing that happened in a session, such as a prompt, a tool call or a result.

    ``seq`` is its position in the session. ``summary=None`` is the same as an empty summary.
    """

    session_uid: Uid
    seq: Count
    ts: MaybeTime = None
    kind: NonEmptyText = "lifecycle"
    parent_seq: MaybeCount = None
    role: MaybeText = None
    tool: MaybeText = None
    summary: Annotated[str, _check_summary] = ""
    payload_ref: MaybeText = None
    tokens: Count = 0
    is_sidechain: Flag = False
    event_uid: MaybeText = None
    marks: TextList = ()
    call_id: MaybeText = None
    response_id: MaybeText = None
    is_error: Flag = False
    native_id: MaybeText = None
    native_kind: MaybeText = None
    model: MaybeText = None
    duration_ms: MaybeCount = None
    exit_code: MaybeInteger = None
    path: MaybeText = None
    branch: MaybeText = None

    def is_a(self, kind: str) -> bool:
        """Whether this event counts as ``kind``: by its own kind, or by one of its marks."""
        return kind == self.kind or kind in self.marks

    def _agree(self) -> None:
        if self.parent_seq == self.seq:
            raise InvalidRecord(
                f"parent_seq must be another event, not {self.seq} itself", field="parent_seq"
            )


@quick
@dataclass(eq=False)
class Usage(_Buckets):
    """The tokens that one model response used, in the buckets of `Cost`.

    ``reported``: a subagent got the response, and only the log of its parent has the token counts.
    ``reported_cost``: the cost of the response as the agent wrote it, in micro-dollars.
    """

    session_uid: Uid
    usage_id: NonEmptyText
    seq: MaybeCount = None
    ts: MaybeTime = None
    model: MaybeText = None
    speed: MaybeText = None
    service_tier: MaybeText = None
    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_tokens: Count = 0
    cache_read_tokens: Count = 0
    cache_write_tokens: Count = 0
    cache_write_1h_tokens: Count = 0
    reasoning_tokens: Count = 0
    web_searches: Count = 0
    reported: Flag = False
    reported_cost: MaybeCount = None

    _omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"reported", "reported_cost"})

    @property
    def cost(self) -> Cost:
        """The same buckets as a `Cost`. The cost of a session is the sum over its usage."""
        shared = Cost._checks.keys() & self._checks.keys()
        return Cost(**{name: getattr(self, name) for name in shared})


def _check_some_text(name: str, value: Any) -> str | None:
    # In the written form an empty text and a missing one are the same, so they are equal here.
    return check_maybe_text(name, value) or None


def _check_tier(name: str, value: Any) -> str | int | None:
    return check_count(name, value) if type(value) is int else _check_some_text(name, value)


_SomeText = Annotated[str | None, _check_some_text]


@dataclass(eq=False)
class Attempt(ValidatedRecord):
    """One attempt of a skill call. ``verified`` may be set only from an exit code."""

    attempt: Count = 0
    model: Text = ""
    output_summary: Text = ""
    runner_output: Text = ""
    verified: Flag = False
    tier: Annotated[str | int | None, _check_tier] = None
    duration_ms: MaybeCount = None
    warm_start: Flag = False
    verdict: _SomeText = None
    feedback: _SomeText = None

    _omitted_if_empty: ClassVar[frozenset[str]] = frozenset(
        {"tier", "duration_ms", "warm_start", "verdict", "feedback"}
    )


@dataclass(eq=False)
class Entry(ValidatedRecord, required=("timestamp",)):
    """One skill call. Time, input and status are kept as they were written.

    A new entry without a ``timestamp`` gets the present time. An entry in a log must have one.
    """

    session_id: LogId
    timestamp: Timestamp = field(default_factory=now)
    skill: Text = ""
    phase: Text = ""
    project_root: Text = ""
    input: Json = None
    attempts: Annotated[tuple[Attempt, ...], each(nested(Attempt))] = ()
    final_status: Text = ""
    file_path: _SomeText = None
    model_used: _SomeText = None
    duration_ms: MaybeCount = None
    message: _SomeText = None

    _omitted_if_empty: ClassVar[frozenset[str]] = frozenset(
        {"file_path", "model_used", "duration_ms", "message"}
    )

    def to_json(self) -> str:
        """JSON with sorted keys, except inside ``input``, where the given order is kept."""
        values = self.to_dict()
        values["attempts"] = [dict(sorted(attempt.items())) for attempt in values["attempts"]]
        return json.dumps(dict(sorted(values.items())), allow_nan=False)
