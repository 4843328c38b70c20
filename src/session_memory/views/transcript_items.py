"""The items of a transcript: start and end of sessions, events, and totals of turns."""

from typing import Any

import msgspec

from session_memory.core.changes import Change
from session_memory.core.schema import Cost, Session, SessionEvent
from session_memory.pricing import Amount
from session_memory.views.evicted import MissingEvents
from session_memory.views.payloads import Image, Payload
from session_memory.views.questions import AskedQuestion

LEVELS = ("user", "assistant", "tool", "full")
PERSON_KINDS = ("user_msg", "human_intervention", "decision")


class TranscriptOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a session is shown.

    - ``level``: one of ``LEVELS``, from prompts only to full outputs
    - ``kinds``: only events of these kinds; empty means all kinds
    - ``inherited``: also the events that the session inherited from another
    - ``native``: also the native record of each event
    - ``children``: also the events of subagents
    - ``first``, ``last``: only events from one ``seq`` to the other, in the named session
    - ``everything``: also bookkeeping, and texts with the tags that the agent put around them.
      ``kinds`` and ``native`` imply it.
    - ``kept``: the ``seq`` of an event that is shown even if it is bookkeeping
    """

    level: str = "tool"
    kinds: tuple[str, ...] = ()
    inherited: bool = False
    native: bool = False
    children: bool = True
    first: int | None = None
    last: int | None = None
    everything: bool = False
    kept: int | None = None

    @property
    def is_complete(self) -> bool:
        """Whether bookkeeping is shown, and every text as it was logged."""
        return self.everything or self.native or bool(self.kinds)

    def admits(self, event: SessionEvent) -> bool:
        if self.kinds:
            return any(event.is_a(kind) for kind in self.kinds)
        if self.level in ("tool", "full"):
            return True
        if event.role != "tool" and any(event.is_a(kind) for kind in PERSON_KINDS):
            return True
        return self.level == "assistant" and (
            event.is_a("assistant_msg") or (event.kind == "error" and event.role != "tool")
        )


class SessionStart(msgspec.Struct, frozen=True, kw_only=True, tag="opened"):
    """The start of a session. ``depth`` is 0 for the named session, 1 or more for its subagents.

    ``title`` is the best name there is for the session; ``child_titles`` are those of its children.
    ``is_closed``: a subagent is only named, and its events do not follow. ``work_ms`` is how long
    the model and tools worked, by the rule of ``stats time``; None if the events are missing.
    ``reported`` is the number of responses of subagents that count for this session, because only
    its log says what they used. ``missing`` says why no event follows: the session was
    evicted, and its archive cannot be read.
    """

    depth: int
    session: Session
    title: str
    own: Amount
    total: Amount
    inherits: dict[str, int] = {}
    with_inherited: bool = False
    children: tuple[Session, ...] = ()
    child_titles: tuple[str, ...] = ()
    is_closed: bool = False
    work_ms: int | None = None
    reported: int = 0
    missing: MissingEvents | None = None


class TranscriptEvent(msgspec.Struct, frozen=True, kw_only=True, tag="piece"):
    """One event. ``sort`` is ``prompt``, ``answer``, ``thinking``, ``call``, ``result`` or
    ``note``. ``owner`` is the session that an inherited event belongs to."""

    depth: int
    sort: str
    seq: int
    event: SessionEvent
    text: str = ""
    title: str = ""
    command: str | None = None
    arguments: Any = None
    changes: tuple[Change, ...] = ()
    questions: tuple[AskedQuestion, ...] = ()
    images: tuple[Image, ...] = ()
    marks: tuple[str, ...] = ()
    duration_ms: int | None = None
    owner: str | None = None
    payload: Payload | None = None


class TurnTotals(msgspec.Struct, frozen=True, kw_only=True, tag="turn"):
    """What one turn used, from a prompt to the next one.

    ``number`` is 0 for events without a prompt: in a subagent, or before the first prompt.
    """

    depth: int
    number: int
    cost: Cost
    amount: Amount
    seconds: float | None = None


class SessionEnd(msgspec.Struct, frozen=True, kw_only=True, tag="closed"):
    depth: int
    session: Session


TranscriptItem = SessionStart | TranscriptEvent | TurnTotals | SessionEnd
