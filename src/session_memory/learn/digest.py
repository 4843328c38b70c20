"""The digest: what one session comes down to.

A pure function of the session's events, usage and prices: no clock, no row id and nothing of other
sessions is in it, so a rebuild gives the same bytes. Every list is bounded; texts that came from
the transcript are data from outside, and stay that; secrets in them are masked before any is cut.
"""

from typing import Any

import msgspec

DIGEST_VERSION = 2
"""Grows when the same events would give another digest, with the rules of redaction as well; older
ones are made anew then."""


class Said(msgspec.Struct, frozen=True):
    """Words of a person, or what the person did in their place."""

    event_uid: str
    ts: str | None
    text: str


class OutcomeTold(msgspec.Struct, frozen=True):
    """How the session ended, what tells so, and the events that prove it.

    ``reason`` is ``last_word``, ``interrupted``, ``tests``, ``commit``, ``error`` or ``no_output``;
    of an unknown outcome ``answered``, ``open`` or ``nothing``.
    """

    outcome: str
    reason: str
    evidence: tuple[str, ...] = ()


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What the session itself used: in tokens by bucket and by model, and in money.

    ``tokens`` is the sum of input, output and cached ones. ``unpriced_tokens`` are those whose
    model has no price; they are in no amount.
    """

    tokens: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    web_searches: int = 0
    turns: int = 0
    retries: int = 0
    wall_clock_ms: int = 0
    microdollars: int = 0
    unpriced_tokens: int = 0
    models: dict[str, int] = {}


class ToolUse(msgspec.Struct, frozen=True):
    calls: int
    errors: int
    ms: int


class Markers(msgspec.Struct, frozen=True):
    """How many events are an error, a retry, a test run, an edit, or a person stepping in."""

    error: int = 0
    retry: int = 0
    test: int = 0
    edit: int = 0
    human: int = 0


class FileUse(msgspec.Struct, frozen=True):
    """``rereads``: read again, unchanged, to the same extent; that gave ``reread_bytes``."""

    path: str
    reads: int = 0
    edits: int = 0
    rereads: int = 0
    reread_bytes: int = 0
    event_uids: tuple[str, ...] = ()


class CommandUse(msgspec.Struct, frozen=True):
    text: str
    runs: int
    failures: int
    ms: int
    event_uid: str


class TestRun(msgspec.Struct, frozen=True):
    """``passed`` is None where neither text nor status tells; ``edits`` came since the last run."""

    __test__ = False

    event_uid: str
    result_uid: str
    ts: str | None
    command: str
    passed: bool | None
    passed_count: int | None
    failed_count: int | None
    edits: int


class Resolution(msgspec.Struct, frozen=True):
    """What stood between a failure and the success of the same call.

    ``kind``: ``edit``, ``command`` or ``look`` came in between, the strongest of them; ``instead``
    is another call that took the failed one's place; ``again`` means that nothing changed.
    """

    kind: str
    text: str
    event_uids: tuple[str, ...]
    succeeded: str


class ErrorSnippet(msgspec.Struct, frozen=True, kw_only=True):
    """An error by its fingerprint; ``tokens`` went into it until the call succeeded."""

    fingerprint: str
    sample: str
    count: int
    tool: str | None
    call: str = ""
    tokens: int = 0
    event_uids: tuple[str, ...] = ()
    resolution: Resolution | None = None


class Repeat(msgspec.Struct, frozen=True):
    """The same call failing again and again without a success in between."""

    tool: str | None
    call: str
    failures: int
    tokens: int
    resolved: bool
    event_uids: tuple[str, ...]


class Output(msgspec.Struct, frozen=True):
    """A result that filled the context; ``size`` in characters."""

    event_uid: str
    tool: str | None
    call: str
    size: int


class Undone(msgspec.Struct, frozen=True):
    """Edits that did not last: ``rewind`` (on a branch a person left), ``edit`` (a later one put
    the old text back) or ``git``."""

    kind: str
    edits: int
    tokens: int
    paths: tuple[str, ...]
    event_uids: tuple[str, ...]


class TimeSplit(msgspec.Struct, frozen=True):
    """Where the time went; pauses over half an hour are ``idle_ms``, whoever made them."""

    person_ms: int = 0
    model_ms: int = 0
    tools_ms: int = 0
    idle_ms: int = 0


class Context(msgspec.Struct, frozen=True):
    """Tokens sent to the model: with the first response, the last, the most, and some between."""

    first: int = 0
    last: int = 0
    peak: int = 0
    compactions: int = 0
    growth: tuple[int, ...] = ()


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. Events are named by ``event_uid``, which stays when ``seq`` changes.

    ``basis`` is that of the tokens of its parts: ``measured``, or ``estimated`` where the agent
    logs usage by the turn and a part has its share of that.
    """

    session_uid: str
    flavor: str
    version: int = DIGEST_VERSION
    repo: str | None = None
    git_branch: str | None = None
    model: str | None = None
    parent_uid: str | None = None
    relation: str | None = None
    title: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    first_request: Said | None = None
    outcome: OutcomeTold
    cost: Spent
    events: int = 0
    kinds: dict[str, int] = {}
    tools: dict[str, ToolUse] = {}
    markers: Markers = Markers()
    files: tuple[FileUse, ...] = ()
    commands: tuple[CommandUse, ...] = ()
    tests: tuple[TestRun, ...] = ()
    error_snippets: tuple[ErrorSnippet, ...] = ()
    repeats: tuple[Repeat, ...] = ()
    outputs: tuple[Output, ...] = ()
    undone: tuple[Undone, ...] = ()
    commits: tuple[Said, ...] = ()
    prompts: tuple[Said, ...] = ()
    interventions: tuple[Said, ...] = ()
    decisions: tuple[Said, ...] = ()
    basis: str = "measured"
    time: TimeSplit = TimeSplit()
    context: Context = Context()

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values

    def money(self, tokens: int) -> int:
        """The share of the session's amount that ``tokens`` of it stand for: an estimate."""
        total = self.cost.tokens
        return self.cost.microdollars * min(tokens, total) // total if total else 0


def encoded(digest: Digest) -> bytes:
    """The bytes a digest is known by: sorted keys, so that equal digests are equal bytes."""
    return msgspec.json.encode(digest, order="sorted")


_DECODER = msgspec.json.Decoder(Digest)


def decoded(body: bytes) -> Digest:
    return _DECODER.decode(body)
