"""The folder of lessons: one file for each lesson, its versions, and a journal of decisions.

    lessons/l-0c88102dbf64.md            the current version
    lessons/versions/l-0c88102dbf64.1.md every version
    lessons/journal.jsonl                who decided what, when and why

The files are plain text, so that people can read, edit, commit and merge them. If a person edited a
file, the next change first records that edit as a separate version.
"""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from session_memory.core.lesson_errors import BrokenLesson, LessonError, UnknownLesson
from session_memory.learn.files import Journal, read_file, replace_file, sweep_below
from session_memory.learn.lesson import (
    FORGOTTEN,
    Lesson,
    Quote,
    from_text,
    is_lesson_id,
    to_text,
)
from session_memory.store.private_files import make_private

MOST_BYTES = 1 << 20
BY_HAND = "edited by hand"


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the journal of lessons: who made which version of a lesson, by which action.

    ``forced``: fewer sessions than required showed the lesson's pattern.
    """

    at: str
    who: str
    action: str
    lesson: str
    version: int
    why: str = ""
    forced: bool = False
    sha256: str = ""


class Lessons:
    """Reads and writes the folder of lessons."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.journal = Journal(directory / "journal.jsonl")

    def path(self, lesson_id: str) -> Path:
        return self.directory / f"{lesson_id}.md"

    def version_path(self, lesson_id: str, version: int) -> Path:
        return self.directory / "versions" / f"{lesson_id}.{version}.md"

    def ids(self) -> list[str]:
        found = (path.stem for path in self.directory.glob("l-*.md"))
        return sorted(name for name in found if is_lesson_id(name))

    def read(self) -> tuple[list[Lesson], list[str]]:
        """Return every lesson, and a sentence for each file that cannot be read."""
        found, problems = [], []
        for name in self.ids():
            try:
                found.append(self.get(name))
            except LessonError as error:
                problems.append(str(error))
        return found, problems

    def get(self, lesson_id: str) -> Lesson:
        if not is_lesson_id(lesson_id):
            raise UnknownLesson(lesson_id)
        lesson = self._load(self.path(lesson_id))
        if lesson is None:
            raise UnknownLesson(lesson_id)
        if lesson.id != lesson_id:
            raise BrokenLesson(str(self.path(lesson_id)), f"the id in it is {lesson.id}")
        return lesson

    def find(self, name: str) -> Lesson:
        """Return the one lesson whose id, or whose pattern's id, starts with ``name``.

        Raises `UnknownLesson` if none or several match.
        """
        prefix = f"l-{name[2:]}" if name.startswith("p-") else name
        ids = self.ids()
        matching = [one for one in ids if len(prefix) > 2 and one.startswith(prefix)]
        if len(matching) != 1:
            raise UnknownLesson(name, matching[:3] or get_close_matches(prefix, ids, n=3))
        return self.get(matching[0])

    def versions(self, lesson_id: str) -> list[Lesson]:
        """Return every version of a lesson, oldest first. The last one is the current version."""
        paths = (self.directory / "versions").glob(f"{lesson_id}.*.md")
        kept = [lesson for path in paths if (lesson := self._load(path)) is not None]
        now = self.get(lesson_id)
        older = sorted((one for one in kept if one != now), key=lambda one: one.version)
        return [*older, now]

    def decisions(self, lesson_id: str | None = None) -> list[Decision]:
        found = []
        for entry in self.journal.entries()[0]:
            try:
                decision = msgspec.convert(entry, Decision)
            except msgspec.ValidationError:
                # The line was written by another release, or it was merged wrongly by hand.
                continue
            if lesson_id in (None, decision.lesson):
                found.append(decision)
        return found

    def is_recorded(self, lesson_id: str) -> bool:
        """Whether the lesson's file is unchanged since the last decision in the journal."""
        decisions = self.decisions(lesson_id)
        data = read_file(self.path(lesson_id), MOST_BYTES) or b""
        return bool(decisions) and decisions[-1].sha256 == sha256(data).hexdigest()

    def _load(self, path: Path) -> Lesson | None:
        data = read_file(path, MOST_BYTES)
        if data is None:
            return None
        try:
            return from_text(data.decode())
        except UnicodeDecodeError:
            raise BrokenLesson(str(path), "it is not UTF-8") from None
        except BrokenLesson:
            raise
        except LessonError as error:
            raise BrokenLesson(str(path), str(error)) from error

    def save(
        self,
        lesson: Lesson,
        action: str,
        *,
        who: str,
        why: str = "",
        forced: bool = False,
    ) -> Lesson:
        """Save ``lesson`` as a new version. Call this while the journal is locked.

        Earlier versions stay. The journal is written last, so everything it lists is on disk.
        """
        make_private(self.directory / "versions")
        if (now := self._present(lesson.id)) is not None:
            now = self._recorded(now, who, lesson.updated_at)
            lesson = msgspec.structs.replace(
                lesson, version=now.version + 1, created_at=now.created_at
            )
        details = {"at": lesson.updated_at, "who": who, "action": action, "why": why}
        self._write(lesson, forced=forced, **details)
        return lesson

    def _present(self, lesson_id: str) -> Lesson | None:
        return self.get(lesson_id) if self.path(lesson_id).exists() else None

    def _recorded(self, lesson: Lesson, who: str, at: str) -> Lesson:
        """Return the current lesson, after recording a manual edit of it as a separate version."""
        if self.is_recorded(lesson.id):
            return lesson
        known = [decision.version + 1 for decision in self.decisions(lesson.id)]
        version = max([lesson.version, *known])
        lesson = msgspec.structs.replace(lesson, version=version, updated_at=at)
        self._write(lesson, at=at, who=who, action=BY_HAND)
        return lesson

    def _write(self, lesson: Lesson, **details: Any) -> None:
        data = to_text(lesson).encode()
        replace_file(self.version_path(lesson.id, lesson.version), data)
        replace_file(self.path(lesson.id), data)
        decision = Decision(
            lesson=lesson.id, version=lesson.version, sha256=sha256(data).hexdigest(), **details
        )
        self.journal.add(msgspec.to_builtins(decision))

    def forget(self, uids: Sequence[str]) -> tuple[list[str], list[str]]:
        """Remove the ids and texts of these sessions from every version of every lesson.

        Returns the ids of the changed lessons, and the removed texts. A lesson without other
        evidence is deleted with all its versions.
        """
        gone, words, changed = set(uids), [], []
        if self.directory.is_dir():
            with self.journal.held():
                sweep_below(self.directory)
        for name in self.ids():
            known = list(self._every_version(name))
            if not any(gone & set(_sessions(lesson)) for _, lesson in known):
                continue
            changed.append(name)
            words += [q.text for _, lesson in known for q in _forgettable(lesson, gone)]
            with self.journal.held():
                self._forget_in(known, gone)
        return changed, list(dict.fromkeys(words))

    def shown_by(self, uids: Sequence[str]) -> list[str]:
        """Return the ids of lessons whose evidence, in any version, has one of these sessions."""
        return [
            name
            for name in self.ids()
            if any(set(uids) & set(_sessions(lesson)) for _, lesson in self._every_version(name))
        ]

    def _every_version(self, name: str) -> Iterator[tuple[Path, Lesson]]:
        paths = [self.path(name), *sorted((self.directory / "versions").glob(f"{name}.*.md"))]
        for path in paths:
            if (lesson := self._load(path)) is not None:
                yield path, lesson

    def _forget_in(self, known: list[tuple[Path, Lesson]], gone: set[str]) -> None:
        _, present = known[0]
        if set(_sessions(present)) <= gone and present.sessions <= len(present.session_uids):
            for path, _ in known:
                path.unlink()
            return
        for path, lesson in known:
            data = to_text(_without(lesson, gone)).encode()
            replace_file(path, data)
            if path == self.path(lesson.id):
                decision = Decision(
                    at=lesson.updated_at,
                    who="forget",
                    action="forget",
                    lesson=lesson.id,
                    version=lesson.version,
                    sha256=sha256(data).hexdigest(),
                )
                self.journal.add(msgspec.to_builtins(decision))


def _sessions(lesson: Lesson) -> Iterator[str]:
    yield from lesson.session_uids
    yield from (uid for uid, _ in lesson.events)
    yield from (quote.session_uid for quote in lesson.quotes if quote.session_uid)


def _forgettable(lesson: Lesson, gone: set[str]) -> list[Quote]:
    return [quote for quote in lesson.quotes if quote.session_uid in gone or not quote.session_uid]


def _without(lesson: Lesson, gone: set[str]) -> Lesson:
    if not gone & set(_sessions(lesson)):
        return lesson
    texts = {name: getattr(lesson, name) for name in ("title", "problem", "resolution")}
    for quote in _forgettable(lesson, gone):
        texts = {name: text.replace(quote.text, FORGOTTEN) for name, text in texts.items()}
    kept = tuple(quote for quote in lesson.quotes if quote not in _forgettable(lesson, gone))
    left = tuple(uid for uid in lesson.session_uids if uid not in gone)
    return msgspec.structs.replace(
        lesson,
        sessions=max(lesson.sessions - len(lesson.session_uids) + len(left), 0),
        session_uids=left,
        events=tuple(event for event in lesson.events if event[0] not in gone),
        quotes=kept,
        **texts,
    )
