"""Find how an error was resolved in earlier sessions: by which edit or command."""

from collections.abc import Iterator
from typing import Any

import msgspec

from session_memory.core.schema import SessionEvent
from session_memory.derive.agents import changes_asked
from session_memory.derive.archived import readable_store, unreadable_reason
from session_memory.derive.bodies import Bodies
from session_memory.derive.detecting import command_of
from session_memory.learn.digest.similarity import content_words
from session_memory.learn.digest.telling import names_in, telling_lines
from session_memory.learn.fix import NEARLY_SAME as NEARLY_SAME
from session_memory.learn.fix import NOTHING, ErrorOccurrence, known_errors
from session_memory.redact import mask, mask_cut
from session_memory.redact.nested_values import mask_lines
from session_memory.search import Filters
from session_memory.store import Store
from session_memory.store.brief_events import brief_events
from session_memory.views.search import ShownHit, search
from session_memory.views.short_names import short_names

DEFAULT_LIMIT = 5
MOST_LINES = 24
LONGEST = 2_000
MOST_WORDS = 6
MOST_FILES = 4


class FixStep(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a resolution: the command, or the edited file with its changed lines."""

    event_uid: str
    seq: int
    tool: str | None
    path: str | None
    text: str
    lines: tuple[str, ...] = ()


class Remedy(msgspec.Struct, frozen=True, kw_only=True):
    """The error in one session, and what resolved it there.

    ``kind`` is the kind of the resolution, None if there is none. ``certainty`` is ``certain``,
    ``likely`` or ``possible``. ``said`` is what the model said before the change, and ``lines`` are
    the changed lines that matter most. ``steps`` are empty if the session was evicted and its
    archive cannot be read. ``again`` is the call that failed, and ``passed`` the check that
    succeeded after the change, "" if none is known. If the error was not resolved, ``others`` is
    the number of other sessions that had it and did not resolve it.
    """

    session_uid: str
    name: str
    flavor: str
    repo: str | None
    title: str | None
    ended_at: int | None
    error: str
    error_event: str
    count: int
    likeness: float
    kind: str | None
    text: str
    again: str
    steps: tuple[FixStep, ...] = ()
    certainty: str = ""
    said: str = ""
    lines: tuple[str, ...] = ()
    passed: str = ""
    others: int = 0


class Remedies(msgspec.Struct, frozen=True, kw_only=True):
    """How an error was resolved before. ``basis`` says what was found: sessions with the ``same``
    error, with ``similar`` errors, or ``nothing``. In the last case, ``mentions`` are error events
    with similar words."""

    asked: str
    fingerprint: str
    basis: str
    remedies: list[Remedy]
    mentions: list[ShownHit]

    def to_dict(self) -> dict[str, Any]:
        return {
            "asked": self.asked,
            "fingerprint": self.fingerprint,
            "basis": self.basis,
            "remedies": msgspec.to_builtins(self.remedies),
            "mentions": [hit.to_dict() for hit in self.mentions],
        }


def remedies(store: Store, text: str, *, now: int, limit: int = DEFAULT_LIMIT) -> Remedies:
    known = known_errors(store, text, limit)
    names = short_names(store, {occurrence.session_uid for occurrence in known.occurrences})
    mentions = _mentions(store, known.asked, now, limit) if known.basis == NOTHING else []
    return Remedies(
        asked=known.asked,
        fingerprint=known.fingerprint,
        basis=known.basis,
        remedies=[_remedy(store, occurrence, names) for occurrence in known.occurrences],
        mentions=mentions,
    )


def _mentions(store: Store, asked: str, now: int, limit: int) -> list[ShownHit]:
    """Search for error events with the longest words of the error line ``asked``.

    Sessions that were not analyzed are searched too.
    """
    words = sorted(content_words(asked), key=lambda word: (-len(word), word))[:MOST_WORDS]
    plain = [word for word in words if word.isalnum()]
    if not plain:
        return []
    asked = " ".join(f"{word}*" for word in plain)
    filters = Filters(kinds=("error",))
    return search(store, asked, filters, now=now, limit=limit or 50, widen=False).hits


def _remedy(store: Store, occurrence: ErrorOccurrence, names: dict[str, str]) -> Remedy:
    row = store.sessions.row(occurrence.session_uid)
    how = occurrence.resolution
    return Remedy(
        session_uid=occurrence.session_uid,
        name=names.get(occurrence.session_uid, occurrence.session_uid),
        flavor=occurrence.session_uid.partition(":")[0],
        repo=row.repo if row else None,
        title=mask_cut(row.title) if row and row.title else None,
        ended_at=row.ended_at if row else None,
        error=mask_cut(occurrence.sample),
        error_event=occurrence.event_uid,
        count=occurrence.count,
        likeness=occurrence.likeness,
        kind=how.kind if how else None,
        text=mask_cut(how.text) if how else "",
        again=mask_cut(occurrence.call),
        steps=tuple(_steps(store, occurrence)) if how else (),
        certainty=how.certainty if how else "",
        said=how.said if how else "",
        lines=how.lines if how else (),
        passed=how.passed if how else "",
        others=occurrence.others,
    )


def _steps(store: Store, occurrence: ErrorOccurrence) -> Iterator[FixStep]:
    how, uid = occurrence.resolution, occurrence.session_uid
    if how is None or not how.event_uids or unreadable_reason(store, uid) is not None:
        return
    readable = readable_store(store, uid)
    row, bodies = readable.sessions.row(uid), Bodies(readable)
    names = names_in(f"{occurrence.sample} {occurrence.near}")
    for brief in brief_events(readable.db, readable.names, row.id) if row else ():
        if brief.role == "assistant" and brief.event_uid in how.event_uids:
            event = readable.events.at(row.id, uid, brief.seq) if row else None
            if event is not None:
                yield from _steps_of(event, bodies, names)


def _steps_of(event: SessionEvent, bodies: Bodies, names: frozenset[str]) -> Iterator[FixStep]:
    """Yield what a call did: its command, or each file that it changed.

    Files come first if they have more of ``names``, the names in the error.
    """
    body = bodies.of(event)
    text = command_of(event.tool or "", body.arguments) or body.text
    step = FixStep(
        event_uid=event.event_uid or "",
        seq=event.seq,
        tool=event.tool,
        path=event.path,
        text=mask(text[: 4 * LONGEST])[:LONGEST] or mask_cut(event.summary),
    )
    if not event.is_a("edit"):
        yield step
        return
    asked = changes_asked(event.session_uid, body.arguments, body.text, event.path)
    changes = [(change.path, mask_lines(change.lines)) for change in asked if change.lines]
    # Changes with equally many names keep their order.
    changes.sort(key=lambda one: -len(names & names_in("\n".join((one[0], *one[1])))))
    for path, lines in changes[:MOST_FILES]:
        shown = tuple(line[:LONGEST] for line in telling_lines(lines, names, MOST_LINES))
        yield msgspec.structs.replace(step, path=path or event.path, lines=shown)
    if not changes:
        yield msgspec.structs.replace(step, path=event.path or (asked[0].path if asked else None))
