"""Carry out a person's decisions about lessons: accept, reject, edit, mark or merge.

A pattern is a problem that recurs in sessions; an accepted pattern is a lesson. A pattern that
fewer sessions show than configured is accepted only with ``force``. Each decision is recorded.
"""

import getpass
from collections.abc import Iterator, Sequence

import msgspec

from session_memory.config import LessonsConfig
from session_memory.core.lesson_errors import LessonError, TooLittleEvidence
from session_memory.core.text import below_repo
from session_memory.core.time import format_time
from session_memory.learn.lesson import (
    ACCEPTED,
    LONGEST_SUBJECT,
    MERGED,
    MOST_EVENTS,
    MOST_SESSIONS,
    REJECTED,
    Lesson,
    Quote,
    checked,
    lesson_id,
    lesson_of,
)
from session_memory.learn.lesson_text import SESSIONS, lesson_text
from session_memory.learn.lessons import Lessons
from session_memory.learn.patterns import OF_ERRORS, Pattern
from session_memory.learn.quoting import quoted
from session_memory.learn.recurring_wishes import is_told_by
from session_memory.store.digests import Digests
from session_memory.store.store import Store


class DecisionNote(msgspec.Struct, frozen=True):
    """Who decides, when and why. ``force`` accepts a pattern that too few sessions show."""

    at: int
    who: str
    why: str = ""
    force: bool = False


def current_user() -> str:
    """Return the login name of the user."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def accept(
    lessons: Lessons,
    store: Store,
    pattern: Pattern,
    floors: LessonsConfig,
    note: DecisionNote,
    *,
    repos: Sequence[str] | None = None,
    flavors: Sequence[str] | None = None,
) -> Lesson:
    """Make a lesson from a pattern. If the pattern has a rejected lesson, it gets a new version.

    ``floors.promote_sessions`` is the number of sessions that must show the pattern. ``repos`` and
    ``flavors`` limit where the lesson applies.
    """
    is_below = pattern.sessions < floors.promote_sessions
    if is_below and not note.force:
        needed = floors.promote_sessions
        setting = "promote_sessions"
        raise TooLittleEvidence(pattern.id, found=pattern.sessions, needed=needed, setting=setting)
    lesson = _proposed(store, pattern, note.at)
    if repos is not None:
        lesson = msgspec.structs.replace(lesson, repos=tuple(repos))
    if flavors is not None:
        lesson = msgspec.structs.replace(lesson, flavors=tuple(flavors))
    with lessons.journal.held():
        known = _known(lessons, lesson.id)
        if known is not None and known.status == ACCEPTED:
            hint = f"Change it with: session-memory lessons edit {lesson.id}"
            raise LessonError(f"{pattern.id} is already the lesson {lesson.id}", hint)
        return lessons.save(lesson, "accept", who=note.who, why=note.why, forced=is_below)


def reject(lessons: Lessons, store: Store, what: Pattern | Lesson, note: DecisionNote) -> Lesson:
    """Reject a pattern or a lesson. It stays in the folder with the status ``rejected``."""
    now = format_time(note.at)
    with lessons.journal.held():
        if isinstance(what, Pattern):
            known = _known(lessons, lesson_id(what.id))
            what = known or _proposed(store, what, note.at)
        else:
            what = lessons.get(what.id)
        lesson = msgspec.structs.replace(what, status=REJECTED, updated_at=now)
        return lessons.save(lesson, "reject", who=note.who, why=note.why)


def edit(lessons: Lessons, name: str, note: DecisionNote, **changes: object) -> Lesson:
    """Change title, problem, resolution, repos or flavors of a lesson."""
    with lessons.journal.held():
        known = lessons.find(name)
        lesson = msgspec.structs.replace(known, **changes, updated_at=format_time(note.at))
        if msgspec.structs.replace(lesson, updated_at=known.updated_at) == known:
            hint = "Give a new title, problem, resolution, repository or agent."
            raise LessonError(f"the edit changes nothing in {known.id}", hint)
        return lessons.save(checked(lesson), "edit", who=note.who, why=note.why)


def mark(lessons: Lessons, name: str, effect: str | None, note: DecisionNote) -> Lesson:
    """Record the measured effect of a lesson; write nothing if the lesson has it already."""
    with lessons.journal.held():
        known = lessons.find(name)
        if known.effect == effect:
            return known
        changed = msgspec.structs.replace(known, effect=effect, updated_at=format_time(note.at))
        return lessons.save(changed, "mark", who=note.who, why=note.why)


def merge(lessons: Lessons, into: str, others: Sequence[str], note: DecisionNote) -> Lesson:
    """Add the evidence of the lessons ``others`` to the lesson ``into``.

    The others get the status ``merged``.
    """
    now = format_time(note.at)
    with lessons.journal.held():
        kept = lessons.find(into)
        gone = [lessons.find(name) for name in dict.fromkeys(others)]
        if any(one.id == kept.id for one in gone):
            raise LessonError(f"{kept.id} cannot be merged into itself", "Name two lessons.")
        for one in (kept, *gone):
            if one.status != ACCEPTED:
                hint = "Only accepted lessons can be merged: accept it first."
                raise LessonError(f"{one.id} is {one.status}", hint)
        why = note.why or f"merged {', '.join(one.id for one in gone)}"
        joined = msgspec.structs.replace(_joined(kept, gone), updated_at=now)
        joined = lessons.save(joined, "merge", who=note.who, why=why)
        for one in gone:
            away = msgspec.structs.replace(one, status=MERGED, merged_into=kept.id, updated_at=now)
            lessons.save(away, "merge", who=note.who, why=note.why or f"merged into {kept.id}")
    return joined


def _joined(kept: Lesson, gone: list[Lesson]) -> Lesson:
    every = [kept, *gone]
    uids = tuple(dict.fromkeys(uid for one in every for uid in one.session_uids))
    # Lessons name only some sessions, and these may overlap. So this is a lower bound.
    sessions = max(len(uids), *(one.sessions for one in every))
    scopes = [one.repos for one in every], [one.flavors for one in every]
    repos, flavors = (
        tuple(sorted({name for part in scope for name in part})) if all(scope) else ()
        for scope in scopes
    )
    return msgspec.structs.replace(
        kept,
        repos=repos,
        flavors=flavors,
        patterns=tuple(dict.fromkeys(shown for one in every for shown in one.patterns)),
        sessions=sessions,
        first_seen=min((one.first_seen for one in every if one.first_seen), default=None),
        last_seen=max((one.last_seen for one in every if one.last_seen), default=None),
        session_uids=uids[-MOST_SESSIONS:],
        events=tuple(dict.fromkeys(event for one in every for event in one.events))[:MOST_EVENTS],
    )


def _known(lessons: Lessons, name: str) -> Lesson | None:
    return lessons.get(name) if lessons.path(name).exists() else None


def suggested_text(store: Store, pattern: Pattern) -> str:
    """Return the text of the lesson that a pattern would give.

    Empty if a person has to write the text, if the pattern is in fewer than `SESSIONS` sessions, or
    if it is about one task.
    """
    if pattern.sessions < SESSIONS or _is_of_one_task(pattern):
        return ""
    return _proposed(store, pattern, 0).resolution


def _is_of_one_task(pattern: Pattern) -> bool:
    is_wish = pattern.type == "recurring_instruction"
    return is_wish and not is_told_by(pattern.detail, pattern.locus.split())


def _proposed(store: Store, pattern: Pattern, now: int) -> Lesson:
    """Make a lesson from a pattern, and note which of its texts are quoted from which session."""
    advised = lesson_text(store, pattern)
    lesson = lesson_of(pattern, now=format_time(now), resolution=advised.text)
    text = f"{lesson.title}\n{lesson.problem}\n{lesson.resolution}"
    own = (Quote(uid, span) for uid, span in advised.quotes)
    quotes = dict.fromkeys(
        quote for quote in (*_quotes(store, pattern), *own) if quote.text in text
    )
    return msgspec.structs.replace(lesson, quotes=tuple(quotes))


def _quotes(store: Store, pattern: Pattern) -> Iterator[Quote]:
    sessions, fixed_in = {}, {}
    if pattern.type in OF_ERRORS:
        digests = Digests(store.db)
        sessions = digests.last_with("sample", pattern.locus)
        fixed_in = digests.last_with("resolved_by", pattern.locus)
    first = pattern.session_uids[0] if pattern.sessions == len(pattern.session_uids) else ""
    for text in (pattern.detail, pattern.locus):
        yield Quote(sessions.get(text, first), quoted(text))
        yield Quote(sessions.get(text, first), quoted(text, LONGEST_SUBJECT))
    for fix in pattern.resolutions:
        for text in dict.fromkeys((fix.text, below_repo(fix.text, pattern.only_repo))):
            yield Quote(fixed_in.get(fix.text, ""), quoted(text))
