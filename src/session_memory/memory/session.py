"""One session of a store: its record, and everything that can be asked about it."""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from session_memory.core.choices import one_of
from session_memory.core.errors import InvalidRecord, UnknownSession
from session_memory.core.schema import Cost, Session, SessionEvent, Usage
from session_memory.core.text import short_repr
from session_memory.memory.arguments import Names
from session_memory.memory.base import without_secrets
from session_memory.memory.checks import (
    a_flag,
    a_text,
    checked_limit,
    maybe_count,
    maybe_text,
    names,
)

if TYPE_CHECKING:
    from session_memory.derive.bodies import Bodies
    from session_memory.handoff import Handoff
    from session_memory.pricing import Amount
    from session_memory.store import Store
    from session_memory.store.sessions import CollectedSession
    from session_memory.views.calls import ToolCall
    from session_memory.views.cost_audit import CostAudit
    from session_memory.views.diff import SessionDiff
    from session_memory.views.family import FamilyTree
    from session_memory.views.learning import DigestShown
    from session_memory.views.payloads import Payload, Payloads
    from session_memory.views.session import SessionView
    from session_memory.views.similar import Similar
    from session_memory.views.timeline import Timeline, TimelineStream
    from session_memory.views.transcript_items import TranscriptItem


class CostOfSession(msgspec.Struct, frozen=True):
    """The tokens and the cost of a session. ``unpriced_tokens`` were used with models that have no
    price; the amount does not include them."""

    tokens: Cost
    amount: "Amount"

    @property
    def dollars(self) -> Decimal:
        return self.amount.dollars

    @property
    def microdollars(self) -> int:
        return self.amount.microdollars

    @property
    def unpriced_tokens(self) -> int:
        return self.amount.unpriced_tokens

    def to_dict(self) -> dict[str, Any]:
        return {**self.tokens.to_dict(), **msgspec.to_builtins(self.amount)}


class SessionEvents:
    """The events of a session in their order, read from the store one by one.

    Every iteration reads them again. The events of an evicted session are read from the archive. If
    that is not possible, `ArchiveError` or `SessionEvicted` is raised.
    """

    def __init__(self, store: "Store", uid: str) -> None:
        self._store = store
        self._uid = uid

    def __iter__(self) -> Iterator[SessionEvent]:
        from session_memory.derive.archived import readable_store

        read = readable_store(self._store, self._uid)
        row = read.sessions.row(self._uid)
        return iter(()) if row is None else read.events.each_of(row.id, self._uid)

    def of_kind(self, *kinds: str) -> Iterator[SessionEvent]:
        """Yield the events that have one of ``kinds`` as their kind or as one of their marks."""
        from session_memory.views.known_names import check_kinds

        check_kinds(self._store, *names("kinds", kinds))
        return (event for event in self if any(event.is_a(kind) for kind in kinds))


class StoredSession:
    """A session of the store. Its record is read when the session is looked up; everything else is
    read when it is asked for."""

    def __init__(
        self,
        store: "Store",
        record: Session,
        amounts: "Callable[[], Mapping[str, Amount]] | None" = None,
    ) -> None:
        self._store = store
        self._amounts = amounts
        self._record = record

    @classmethod
    def of(cls, store: "Store", uid: str) -> "StoredSession":
        """Return the session with exactly this uid."""
        record = store.sessions.get(uid)
        if record is None:
            raise UnknownSession(uid)
        return cls(store, record)

    def __repr__(self) -> str:
        return f"<session {self.uid} {self.record.title!r}>"

    def set_task(self, task: str | None) -> None:
        """Set the task of the session: an issue (``#12``), a ticket, any short text.

        "" means that it has no task. None means the task that its logs name.
        """
        from session_memory.core.time import now_ms
        from session_memory.views.tasks import checked_task

        checked = checked_task(maybe_text("task", task))
        with self._store.transaction():
            self._store.tasks.set(self.uid, checked, now_ms())
        self._record = StoredSession.of(self._store, self.uid).record

    def set_name(self, name: str | None) -> None:
        """Give the session a name, which is shown in place of its title. None removes the name."""
        from session_memory.core.time import now_ms
        from session_memory.store.given_names import checked_name

        checked = checked_name(maybe_text("name", name))
        with self._store.transaction():
            self._store.given_names.set(self.uid, checked, now_ms())
        self._record = StoredSession.of(self._store, self.uid).record

    @property
    def name(self) -> str | None:
        """The name that a person gave the session, or None."""
        return self._store.given_names.of([self.uid]).get(self.uid)

    # ------------------------------------------------------------ what its record says

    @property
    def record(self) -> Session:
        """All fields of the session, as they were when it was looked up."""
        return self._record

    @property
    def uid(self) -> str:
        return self.record.session_uid

    @property
    def title(self) -> str:
        """The name that a person gave, else the title, else the first prompt, file or answer: what
        ``sessions`` shows."""
        from session_memory.views.session_titles import best_title

        return best_title(self._store, self.uid)

    @property
    def flavor(self) -> str:
        return self.record.flavor

    @property
    def repo(self) -> str | None:
        return self.record.repo

    @property
    def model(self) -> str | None:
        return self.record.model

    @property
    def outcome(self) -> str:
        return self.record.outcome

    @property
    def started_at(self) -> str | None:
        return self.record.started_at

    @property
    def ended_at(self) -> str | None:
        return self.record.ended_at

    @property
    def is_analyzed(self) -> bool:
        """Whether the session was analyzed since it last changed."""
        return self.record.analyzed_revision == self.record.revision

    # ------------------------------------------------------------ events and their bodies

    @property
    def events(self) -> SessionEvents:
        """The session's own events in their order, read one by one."""
        return SessionEvents(self._store, self.uid)

    def text(self, event: SessionEvent) -> str:
        """Return the whole text of an event: what was said, called or printed."""
        return self._bodies.of(_an_event(event)).text

    def payload(self, event: SessionEvent) -> "Payload":
        """Return the record of an event as the agent wrote it into its log."""
        return self._payloads.of(_an_event(event))

    def calls(self) -> "Iterator[ToolCall]":
        """Yield every tool call with its result."""
        from session_memory.views.calls import calls_of

        return calls_of(self._store, self.uid)

    def transcript(
        self,
        level: str = "tool",
        *,
        kinds: Names | None = None,
        inherited: bool = False,
        children: bool = True,
        first: int | None = None,
        last: int | None = None,
        everything: bool = False,
    ) -> "Iterator[TranscriptItem]":
        """Yield the session as a reader follows it, one item after the other.

        ``level`` is ``user``, ``assistant``, ``tool`` or ``full``. The items of subagents come
        after the calls that started them, unless ``children`` is false. ``first`` and ``last`` are
        the seqs of the first and the last event. Bookkeeping of the agents is left out unless
        ``everything`` is true.
        """
        from session_memory.views.transcript import Transcript
        from session_memory.views.transcript_items import LEVELS, TranscriptOptions

        reading = TranscriptOptions(
            level=one_of("level", level, LEVELS),
            kinds=self._kinds(kinds),
            inherited=a_flag("inherited", inherited),
            children=a_flag("children", children),
            first=maybe_count("first", first),
            last=maybe_count("last", last),
            everything=a_flag("everything", everything),
        )
        return Transcript(self._store, reading).items(self.uid)

    # ------------------------------------------------------------ cost

    @property
    def cost(self) -> CostOfSession:
        """The tokens and the cost of the session without its subagents."""
        if self._amounts is None:
            from session_memory.pricing import session_amounts

            amount = session_amounts(self._store, [self.uid])[self.uid]
        else:
            amount = self._amounts()[self.uid]
        return CostOfSession(self.record.cost, amount)

    @property
    def cost_with_subagents(self) -> CostOfSession:
        """The tokens and the cost of the session with all subagents below it."""
        from session_memory.pricing import tree_amounts
        from session_memory.views.calls import with_subagents

        amount = tree_amounts(self._store, [self.uid])[self.uid]
        uids = with_subagents(self._store, self.uid)
        records = (self._store.sessions.get(uid) for uid in uids)
        tokens = sum((record.cost for record in records if record is not None), Cost())
        return CostOfSession(tokens, amount)

    def audit(self) -> "CostAudit":
        """Return every response with its price and the rule for it: as ``cost --audit``."""
        from session_memory.views.cost_audit import audit

        return audit(self._store, self.uid)

    @property
    def usage(self) -> list[Usage]:
        """The usage (tokens) of every response of the model."""
        return self._store.usage.of(self._row.id, self.uid)

    # ------------------------------------------------------------ other sessions

    @property
    def children(self) -> "list[StoredSession]":
        """The subagents, forks, resumes and handoffs of the session, the oldest first."""
        uids = self._store.sessions.children(self.uid)
        return [StoredSession.of(self._store, uid) for uid in uids]

    @property
    def parent(self) -> "StoredSession | None":
        """The session that this one came from (as a subagent, fork, resume or handoff), if it is in
        the store."""
        uid = self.record.parent_uid
        record = None if uid is None else self._store.sessions.get(uid)
        return None if record is None else StoredSession(self._store, record)

    def similar(self, limit: int = 10) -> "Similar":
        """Find sessions about the same files and words, as `Memory.similar` does."""
        from session_memory.views.similar import similar_to_session

        return similar_to_session(self._store, self.uid, checked_limit(limit))

    # ------------------------------------------------------------ answers of the command line

    def digest(self) -> "DigestShown":
        """Return outcome, errors and their fixes, files, commands: as ``digest --json``."""
        from session_memory.views.learning import show_digest

        return without_secrets(show_digest(self._store, self.uid))

    def handoff(
        self,
        to: str,
        *,
        last: int | None = None,
        tokens: int | None = None,
        cwd: str | None = None,
        any_version: bool = False,
    ) -> "Handoff":
        """Write the session as a new session of another agent, which can then continue it.

        The last ``last`` turns, or about ``tokens`` tokens, are handed over whole, and older turns
        in short. Without both, everything is handed over whole. ``cwd`` is the directory of the new
        session. If the agent is not installed, or newer than the newest tested version, this raises
        an error, unless ``any_version`` is true. `Handoff.line` is the command that continues the
        session.
        """
        from session_memory.handoff import HandoffOptions, hand_over_checked

        options = HandoffOptions(
            last=maybe_count("last", last),
            tokens=maybe_count("tokens", tokens),
            cwd=maybe_text("cwd", cwd),
        )
        is_any = a_flag("any_version", any_version)
        agent = a_text("to", to)
        return hand_over_checked(self._store, self.uid, agent, options, any_version=is_any)

    def handoff_text(
        self, *, last: int | None = None, tokens: int | None = None, cwd: str | None = None
    ) -> str:
        """Return one text with which any agent can continue the session: ``handoff --as text``."""
        from session_memory.handoff import HandoffOptions, text_pack

        options = HandoffOptions(
            last=maybe_count("last", last),
            tokens=maybe_count("tokens", tokens),
            cwd=maybe_text("cwd", cwd),
        )
        return text_pack(self._store, self.uid, options)

    def timeline(self) -> "Timeline":
        """Return what happened when, and how long it took: as ``timeline --json``."""
        from session_memory.views.timeline import timeline

        return timeline(self._store, self.record)

    def timeline_stream(self) -> "TimelineStream":
        """The same as `timeline`, but its entries are made while you read them. So a session of any
        length needs little memory. The store must stay open."""
        from session_memory.views.timeline import TimelineStream

        return TimelineStream(self._store, self.record)

    def diff(self, *, file: str | None = None, children: bool = True) -> "SessionDiff":
        """Return what the session changed, file by file: as ``diff --json``. ``file`` selects files
        by a part of their path."""
        from session_memory.views.diff import diff_session

        part, below = maybe_text("file", file), a_flag("children", children)
        return diff_session(self._store, self.record, text=part, children=below)

    def family(self) -> "FamilyTree":
        """Return the session's parents, forks and subagents with their costs: ``tree --json``."""
        from session_memory.views.family import family

        return family(self._store, self.uid)

    def view(
        self,
        *,
        kinds: Names | None = None,
        inherited: bool = False,
        full: bool = False,
        first: int | None = None,
        last: int | None = None,
    ) -> "SessionView":
        """Return record, events, usage, children and cost in one value: as ``show --json``.

        ``full`` adds the payload of each event, ``inherited`` the events that this session
        inherited from others. ``first`` and ``last`` are the seqs of the first and last event.
        """
        from session_memory.views.session import EventSelection, show_session

        selection = EventSelection(
            kinds=self._kinds(kinds),
            inherited=a_flag("inherited", inherited),
            full=a_flag("full", full),
            first=maybe_count("first", first),
            last=maybe_count("last", last),
        )
        return show_session(self._store, self.uid, selection)

    def to_dict(self) -> dict[str, Any]:
        """Return the session as a dict, as ``show --json`` prints it."""
        return self.view().to_dict()

    def _kinds(self, kinds: Names | None) -> tuple[str, ...]:
        from session_memory.views.known_names import check_kinds

        given = names("kinds", kinds)
        check_kinds(self._store, *given)
        return given

    # ------------------------------------------------------------ kept while it is used

    @cached_property
    def _row(self) -> "CollectedSession":
        row = self._store.sessions.row(self.uid)
        if row is None:
            raise UnknownSession(self.uid)
        return row

    @cached_property
    def _readable(self) -> "Store":
        from session_memory.derive.archived import readable_store

        return readable_store(self._store, self.uid)

    @cached_property
    def _bodies(self) -> "Bodies":
        from session_memory.derive.bodies import Bodies

        return Bodies(self._readable)

    @cached_property
    def _payloads(self) -> "Payloads":
        from session_memory.views.payloads import Payloads

        return Payloads(self._readable, self.uid)


def _an_event(event: object) -> SessionEvent:
    if not isinstance(event, SessionEvent):
        hint = "Give one of session.events."
        raise InvalidRecord(f"{short_repr(event)} is no event", hint, field="event")
    return event
