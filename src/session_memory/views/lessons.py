"""Lessons, ready to show: their text, their history and the files that contain them."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from session_memory.config import Config
from session_memory.core.errors import UnknownPattern
from session_memory.core.lesson_errors import LessonError, UnknownLesson
from session_memory.derive.files_beside import beside
from session_memory.derive.repositories import LoggedPlace, repo_of
from session_memory.learn.advice import title
from session_memory.learn.applied import AppliedLessons
from session_memory.learn.applied_registry import AppliedState
from session_memory.learn.curate import suggested_text
from session_memory.learn.kept_patterns import kept_patterns
from session_memory.learn.lesson import Lesson, lesson_id
from session_memory.learn.lessons import Decision, Lessons
from session_memory.learn.measure import (
    ComparedSession,
    Measurement,
    compared_sessions,
    measure,
)
from session_memory.learn.patterns import Pattern
from session_memory.learn.proposals import Proposal, propose, seen_in
from session_memory.learn.signal import PROBLEM
from session_memory.learn.targets import Target, default_targets, target
from session_memory.store import Store
from session_memory.views.learning import find_pattern

MEASURED_DAYS = 90


def lessons_of(store: Store, config: Config, directory: Path | None = None) -> Lessons:
    """Return the lessons in ``directory``, else in the configured folder, else beside the store."""
    if directory is None and config.lessons.dir:
        directory = Path(config.lessons.dir).expanduser()
    return Lessons(_place(store, "lessons") if directory is None else directory.absolute())


def has_place(store: Store, config: Config) -> bool:
    """Whether there may be lessons. A store in memory has no place for them."""
    return bool(config.lessons.dir) or beside(store) is not None


def applied_of(store: Store) -> AppliedLessons:
    """Return the registry of the files that lessons were written into. It is beside the store."""
    return AppliedLessons(_place(store, "applied"))


def _place(store: Store, name: str) -> Path:
    place = beside(store)
    if place is None:
        hint = "Use a store in a file, or name the folder with --dir."
        raise LessonError("a store in memory has no place for lessons", hint)
    return place / name


class LessonRow(msgspec.Struct, frozen=True):
    """A lesson in a list. ``seen`` is the current number of sessions with its pattern, ``live`` are
    the files that contain the lesson. ``is_recorded`` is false if its file was edited by hand."""

    lesson: Lesson
    seen: int
    live: tuple[str, ...]
    is_recorded: bool

    def to_dict(self) -> dict[str, Any]:
        values = self.lesson.to_dict()
        return {**values, "seen": self.seen, "live": list(self.live), "recorded": self.is_recorded}


class LessonList(msgspec.Struct, frozen=True):
    directory: str
    rows: list[LessonRow]
    problems: list[str]

    def to_dict(self) -> dict[str, Any]:
        rows = [row.to_dict() for row in self.rows]
        return {"directory": self.directory, "lessons": rows, "problems": self.problems}


class LessonPage(msgspec.Struct, frozen=True):
    row: LessonRow
    decisions: list[Decision]
    versions: list[Lesson]

    def to_dict(self) -> dict[str, Any]:
        return {
            "lesson": self.row.to_dict(),
            "decisions": msgspec.to_builtins(self.decisions),
            "versions": [one.to_dict() for one in self.versions],
        }


def list_lessons(
    lessons: Lessons, applied: AppliedLessons, store: Store, status: str | None = None
) -> LessonList:
    found, problems = lessons.read()
    live, seen = applied.live(), evidence(store) if found else {}
    rows = [_row(lessons, one, live, seen) for one in found if status in (None, one.status)]
    return LessonList(str(lessons.directory), rows, problems)


def show_lesson(lessons: Lessons, applied: AppliedLessons, store: Store, name: str) -> LessonPage:
    lesson = lessons.find(name)
    row = _row(lessons, lesson, applied.live(), evidence(store))
    return LessonPage(row, lessons.decisions(lesson.id), lessons.versions(lesson.id))


class LessonEffect(msgspec.Struct, frozen=True):
    """What `lessons measure` says about a lesson, and the sessions that it compared."""

    measured: Measurement
    sessions: dict[str, list[ComparedSession]]


def lesson_effect(
    lessons: Lessons,
    applied: AppliedLessons,
    store: Store,
    config: Config,
    name: str,
    days: int = MEASURED_DAYS,
) -> LessonEffect:
    lesson, periods = lessons.find(name), applied.periods()
    least = config.lessons.measure_sessions
    (measured,) = measure(store, [lesson], periods, least=least, days=days)
    return LessonEffect(measured, compared_sessions(store, lesson, periods, days=days))


def live_effects(store: Store, config: Config, most: int) -> list[Measurement]:
    """Measure the effect of the lessons that are or were in files; of at most ``most`` lessons."""
    lessons, periods = lessons_of(store, config), applied_of(store).periods()
    live = {period.lesson for period in periods}
    found = [one for one in lessons.read()[0] if one.id in live][:most]
    least = config.lessons.measure_sessions
    return measure(store, found, periods, least=least, days=MEASURED_DAYS) if found else []


def _row(
    lessons: Lessons, lesson: Lesson, live: Sequence[AppliedState], seen: dict[str, int]
) -> LessonRow:
    where = tuple(one.target for one in live if any(h.id == lesson.id for h in one.lessons))
    return LessonRow(lesson, seen_in(lesson, seen), where, lessons.is_recorded(lesson.id))


def evidence(store: Store) -> dict[str, int]:
    """Return the number of analyzed sessions with each pattern, by the id of the pattern."""
    return {pattern.id: pattern.sessions for pattern in kept_patterns(store)}


def pattern_or_lesson(store: Store, lessons: Lessons, name: str) -> Pattern | Lesson:
    """Return the lesson whose id starts with ``name``, else the pattern whose id does."""
    try:
        return lessons.find(name)
    except UnknownLesson:
        if name.startswith("l-"):
            raise
    return find_pattern(store, name)


def pattern_named(store: Store, lessons: Lessons, name: str) -> Pattern:
    """Return the pattern whose id starts with ``name``. The id of a lesson means its pattern."""
    try:
        return find_pattern(store, f"p-{name[2:]}" if name.startswith("l-") else name)
    except UnknownPattern:
        if name.startswith("l-"):
            raise UnknownPattern(name, [lessons.find(name).patterns[0].id]) from None
        raise


def proposals(
    store: Store,
    config: Config,
    lessons: Lessons,
    applied: AppliedLessons,
    *,
    targets: Sequence[Path],
    here: Path,
    repo: str | None = None,
    only: Sequence[str] = (),
    force: bool = False,
) -> list[Proposal]:
    """Propose an edit of each target file; by default the instruction files of project ``here``."""
    found, _ = lessons.read()
    selected = [lessons.find(name).id for name in only]
    seen = evidence(store)
    live = {one.target: [held.id for held in one.lessons] for one in applied.live()}
    return [
        propose(
            file,
            found,
            config.lessons,
            only=selected,
            also=live.get(str(file.path), ()),
            evidence=seen,
            around=applied.around(file.path),
            force=force,
        )
        for file in files(store, config, targets, here, repo)
    ]


def files(
    store: Store, config: Config, targets: Sequence[Path], here: Path, repo: str | None = None
) -> list[Target]:
    return [
        target(path, config, repo or repository_at(store, path.parent.resolve()))
        for path in targets or default_targets(here)
    ]


def repository_at(store: Store, directory: Path) -> str | None:
    """Return the repository of most sessions in a directory; without sessions, the one that its
    path names."""
    found = Counter(row.repo for row in store.sessions.in_directory(str(directory)) if row.repo)
    if found:
        return min(found, key=lambda name: (-found[name], name))
    return repo_of(LoggedPlace(str(directory)))


def files_with_lessons_of(store: Store, config: Config, uids: Sequence[str]) -> list[str]:
    """Return the instruction files with a lesson whose evidence includes one of these sessions."""
    if beside(store) is None:
        return []
    names = set(lessons_of(store, config).shown_by(uids))
    live = applied_of(store).live() if names else []
    return [one.target for one in live if names & {held.id for held in one.lessons}]


def forget_in_lessons(store: Store, config: Config, uids: Sequence[str]) -> list[str]:
    """Remove these sessions from the lessons, and delete kept copies of files that quote them.

    The copies are those that `revert` restores. Returns the ids of the changed lessons.
    """
    if beside(store) is None and not config.lessons.dir:
        return []
    changed, words = lessons_of(store, config).forget(uids)
    if words and beside(store) is not None:
        applied_of(store).forget(words)
    return changed


class SuggestedLesson(msgspec.Struct, frozen=True, kw_only=True):
    """A lesson that nobody accepted or rejected yet. ``pattern`` is the id of its pattern."""

    pattern: str
    title: str
    repos: tuple[str, ...]
    sessions: int
    text: str

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values


def suggested_lessons(
    store: Store, lessons: Lessons, *, repo: str | None = None, limit: int = 20
) -> list[SuggestedLesson]:
    """Return lessons that several sessions suggest and nobody accepted or rejected yet.

    The most important is first. ``limit`` 0 means all.
    """
    decided = {lesson.id for lesson in lessons.read()[0]}
    found = []
    for pattern in kept_patterns(store, repo=repo):
        if pattern.noise or pattern.polarity != PROBLEM or lesson_id(pattern.id) in decided:
            continue
        if text := suggested_text(store, pattern):
            found.append(
                SuggestedLesson(
                    pattern=pattern.id,
                    title=title(pattern),
                    repos=pattern.repos,
                    sessions=pattern.sessions,
                    text=text,
                )
            )
        if limit and len(found) == limit:
            break
    return found
