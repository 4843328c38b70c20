"""The parts of a digest (the summary of one session). Each is immutable and JSON-ready."""

from typing import Any

import msgspec

from session_memory.learn.digest.digest_version import DIGEST_VERSION


class Statement(msgspec.Struct, frozen=True):
    """A text with its event: a prompt, an intervention, a decision or a commit."""

    event_uid: str
    ts: str | None
    text: str


class SessionOutcome(msgspec.Struct, frozen=True):
    """How the session ended: the outcome, the reason for it, and the events that are evidence.

    ``outcome`` is ``success``, ``fail``, ``abandoned``, ``continued`` or ``unknown``. ``reason`` is
    ``last_word``, ``interrupted``, ``tests``, ``commit``, ``error``, ``gave_up`` or ``no_output``.
    A success without such evidence is ``answered``, or ``unverified`` if something was changed. For
    ``continued`` it is ``plan`` or ``handover``, for an unknown outcome ``asked``, ``open`` or
    ``nothing``.
    """

    outcome: str
    reason: str
    evidence: tuple[str, ...] = ()

    @property
    def is_proved_success(self) -> bool:
        """Whether more than the agent's own answer says that the session succeeded."""
        return self.outcome == "success" and self.reason not in ("answered", "unverified")


class SessionCost(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of one session without its subagents: tokens by bucket and by model, and money.

    ``tokens`` is the sum of input, output and cached tokens. ``unpriced_tokens`` belong to models
    without a price; ``microdollars`` does not include them.
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
    """How many errors, retries, test runs, edits and interventions by a person a session has."""

    error: int = 0
    retry: int = 0
    test: int = 0
    edit: int = 0
    human: int = 0


class FileUse(msgspec.Struct, frozen=True):
    """How a session used a file. ``rereads`` counts repeated reads of a part that did not change.

    ``reread_bytes`` is the size of those results.
    """

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
    """A run of tests. ``passed`` is None if neither the output nor the exit status shows it.

    ``edits`` is the number of edits since the previous run. ``has_changes``: since that run, a
    person wrote something, or a call did more than look, such as one that installed a package.
    """

    __test__ = False

    event_uid: str
    result_uid: str
    ts: str | None
    command: str
    passed: bool | None
    passed_count: int | None
    failed_count: int | None
    edits: int
    has_changes: bool = False


class Resolution(msgspec.Struct, frozen=True):
    """The change that resolved an error, between the failed call and the success of the same check.

    ``kind`` is ``edit``, ``command`` (it fixed, installed or set something), ``instead`` (the call
    was changed), ``look`` (the file was read before it was edited) or ``again`` (the same call
    succeeded without any change). ``text`` has the edited files, the command or, in a skill log,
    the other model; for ``again`` it is empty. ``event_uids`` are the calls that made the change,
    ``succeeded`` is the result that shows the success.
    ``certainty`` is ``certain``, ``likely`` or ``possible``. ``said`` is what the model said before
    the change, and ``lines`` are the changed lines that matter most. ``passed`` is the command of
    the check that succeeded after the change. It is empty if that call is the change itself, or if
    the check still failed with other errors.
    """

    kind: str
    text: str
    event_uids: tuple[str, ...]
    succeeded: str
    certainty: str = ""
    said: str = ""
    lines: tuple[str, ...] = ()
    passed: str = ""

    @property
    def is_guess(self) -> bool:
        """Whether a change is only possibly what resolved the error.

        Never for the kind ``again``, where the same call worked later without a change.
        """
        return self.certainty == "possible" and self.kind != "again"


class ErrorSnippet(msgspec.Struct, frozen=True, kw_only=True):
    """One error of a session, with all its occurrences.

    ``sample`` is the line that names the error, ``near`` the text around it and ``call`` the call
    that failed. ``tokens`` were used from the failed call to the success of the same check.
    ``origin`` is ``call``, or ``report`` if a person pasted the error or said what does not work.
    """

    fingerprint: str
    sample: str
    count: int
    tool: str | None
    call: str = ""
    tokens: int = 0
    event_uids: tuple[str, ...] = ()
    resolution: Resolution | None = None
    near: str = ""
    origin: str = "call"


class Repeat(msgspec.Struct, frozen=True):
    """A call that failed several times in a row; without ``tool``, the model was not reachable.

    ``resolved``: in the end it succeeded.
    """

    tool: str | None
    call: str
    failures: int
    tokens: int
    resolved: bool
    event_uids: tuple[str, ...]


class LargeOutput(msgspec.Struct, frozen=True):
    """A very long tool result; ``size`` is in characters."""

    event_uid: str
    tool: str | None
    call: str
    size: int


class Undone(msgspec.Struct, frozen=True):
    """Edits that did not last.

    ``kind`` is ``rewind`` (the edits are on an abandoned branch), ``edit`` (a later edit put the
    old text back) or ``git`` (a git command reverted them).
    """

    kind: str
    edits: int
    tokens: int
    paths: tuple[str, ...]
    event_uids: tuple[str, ...]


class Counted(msgspec.Struct, frozen=True):
    """What the counter of a detector found; ``locus`` is what it is about, such as a file."""

    locus: str
    number: int
    event_uids: tuple[str, ...] = ()


class TimeSplit(msgspec.Struct, frozen=True):
    """How long the person, the model and the tools took, in milliseconds.

    Pauses of more than half an hour, and waits for something else, are idle time.
    """

    person_ms: int = 0
    model_ms: int = 0
    tools_ms: int = 0
    idle_ms: int = 0


class ContextSize(msgspec.Struct, frozen=True):
    """Tokens sent to the model for the first and the last response, and the maximum.

    ``growth`` has up to 20 values, evenly spaced over the session.
    """

    first: int = 0
    last: int = 0
    peak: int = 0
    compactions: int = 0
    growth: tuple[int, ...] = ()


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """The digest: a summary of one session. Events are named by ``event_uid``, which never changes.

    ``basis`` says how exact the tokens of single errors and edits are: ``measured`` if the agent
    logs usage for each response, ``estimated`` if it logs usage for whole turns only.
    ``counted`` has the numbers of each detector that counts calls, by its type.
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
    first_request: Statement | None = None
    outcome: SessionOutcome
    cost: SessionCost
    events: int = 0
    kinds: dict[str, int] = {}
    tools: dict[str, ToolUse] = {}
    markers: Markers = Markers()
    files: tuple[FileUse, ...] = ()
    commands: tuple[CommandUse, ...] = ()
    tests: tuple[TestRun, ...] = ()
    error_snippets: tuple[ErrorSnippet, ...] = ()
    repeats: tuple[Repeat, ...] = ()
    outputs: tuple[LargeOutput, ...] = ()
    undone: tuple[Undone, ...] = ()
    commits: tuple[Statement, ...] = ()
    prompts: tuple[Statement, ...] = ()
    interventions: tuple[Statement, ...] = ()
    decisions: tuple[Statement, ...] = ()
    plans: tuple[Statement, ...] = ()
    last_answer: Statement | None = None
    basis: str = "measured"
    time: TimeSplit = TimeSplit()
    context: ContextSize = ContextSize()
    counted: dict[str, tuple[Counted, ...]] = {}

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values

    def money(self, tokens: int) -> int:
        """Estimate what some tokens of the session cost, in micro-dollars: a share of its cost."""
        total = self.cost.tokens
        return self.cost.microdollars * min(tokens, total) // total if total else 0


def encoded(digest: Digest) -> bytes:
    """Return the digest as JSON with sorted keys, so that equal digests give equal bytes."""
    return msgspec.json.encode(digest, order="sorted")


_DECODER = msgspec.json.Decoder(Digest)


def decoded(body: bytes) -> Digest:
    return _DECODER.decode(body)
