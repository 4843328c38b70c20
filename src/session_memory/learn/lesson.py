"""A lesson: a recurring problem (a pattern) that a person accepted, with its resolution.

A lesson is stored as a Markdown file with front matter: one line for each field, with a JSON value
or plain text. A person can edit the file, and YAML tools can read it.
"""

import re
from typing import Any

import msgspec

from session_memory.core.lesson_errors import LessonError
from session_memory.learn.advice import title
from session_memory.learn.detect import detectors
from session_memory.learn.patterns import OF_ERRORS, Pattern
from session_memory.learn.quoting import quoted
from session_memory.redact import mask

ACCEPTED, REJECTED, MERGED = "accepted", "rejected", "merged"
STATUSES = (ACCEPTED, REJECTED, MERGED)
MOST_SESSIONS = 50
MOST_EVENTS = 10
LONGEST_TEXT = 8_000
LONGEST_TITLE = 200
LONGEST_SUBJECT = 80
FORGOTTEN = "(forgotten)"
_ID = re.compile(r"l-[0-9a-f]{12}")
_PARTS = re.compile(r"^## (Problem|Resolution)[ \t]*$", re.MULTILINE)
_FENCE = "---"


class PatternRef(msgspec.Struct, frozen=True):
    """A pattern that a lesson is about. `measure` looks for it. Secrets in ``locus`` are masked."""

    id: str
    type: str
    locus: str
    polarity: str = "problem"


class Quote(msgspec.Struct, frozen=True):
    """A text of a session that is quoted in a lesson. ``forget`` removes it with the session.

    ``session_uid`` is empty if the session is unknown.
    """

    session_uid: str
    text: str


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """A lesson and its evidence.

    - ``repos``, ``flavors``: where the lesson applies; empty means everywhere.
    - ``sessions``: the number of sessions with the pattern. ``session_uids`` names some of them.
    - ``events``: some of their events, each as ``[session_uid, event_uid]``.
    - ``effect``: the last measured effect.
    """

    id: str
    version: int = 1
    status: str = ACCEPTED
    title: str
    repos: tuple[str, ...] = ()
    flavors: tuple[str, ...] = ()
    effect: str | None = None
    merged_into: str | None = None
    created_at: str
    updated_at: str
    patterns: tuple[PatternRef, ...] = ()
    sessions: int = 0
    first_seen: str | None = None
    last_seen: str | None = None
    session_uids: tuple[str, ...] = ()
    events: tuple[tuple[str, str], ...] = ()
    quotes: tuple[Quote, ...] = ()
    problem: str = ""
    resolution: str = ""

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values


FIELDS = Lesson.__struct_fields__[:-2]


def lesson_id(pattern_id: str) -> str:
    return f"l-{pattern_id.removeprefix('p-')}"


def is_lesson_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


_NAMED_BY_DETAIL = OF_ERRORS | {"repeated_instruction", "recurring_instruction"}
"""Types whose title uses the pattern's detail; the others use its locus."""


def lesson_of(pattern: Pattern, *, now: str, resolution: str = "") -> Lesson:
    """Make a lesson from a pattern. Texts from transcripts appear in it as quotes.

    Without ``resolution``, the lesson gets the fixed text of the pattern's type, which may be
    empty.
    """
    return Lesson(
        id=lesson_id(pattern.id),
        title=f"{title(pattern)}: {subject(pattern)}",
        repos=pattern.repos if len(pattern.repos) == 1 else (),
        created_at=now,
        updated_at=now,
        patterns=(PatternRef(pattern.id, pattern.type, mask(pattern.locus), pattern.polarity),),
        sessions=pattern.sessions,
        first_seen=pattern.first_seen,
        last_seen=pattern.last_seen,
        session_uids=pattern.session_uids[-MOST_SESSIONS:],
        events=tuple((one.session_uid, one.event_uid) for one in pattern.evidence[:MOST_EVENTS]),
        problem=_problem(pattern),
        resolution=resolution or _resolution(pattern),
    )


def subject(pattern: Pattern) -> str:
    """Return what the pattern is about as a quote, short enough for a title."""
    is_detail = pattern.type in _NAMED_BY_DETAIL
    return quoted(pattern.detail if is_detail else pattern.locus, LONGEST_SUBJECT)


def _problem(pattern: Pattern) -> str:
    sessions = "1 session" if pattern.sessions == 1 else f"{pattern.sessions} sessions"
    seen = f"Seen {pattern.times} in {sessions} ({', '.join(pattern.flavors)})."
    return f"{seen} It said: {quoted(pattern.detail)}"


def _resolution(pattern: Pattern) -> str:
    detector = detectors().get(pattern.type)
    template = "" if detector is None else detector.lesson
    return template.format(locus=quoted(pattern.locus), detail=quoted(pattern.detail))


def to_text(lesson: Lesson) -> str:
    values = msgspec.to_builtins(lesson)
    lines = [f"{name}: {_json(values[name])}" for name in FIELDS if values[name] is not None]
    return (
        f"{_FENCE}\n" + "\n".join(lines) + f"\n{_FENCE}\n\n"
        f"## Problem\n\n{lesson.problem.strip()}\n\n## Resolution\n\n{lesson.resolution.strip()}\n"
    )


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def from_text(text: str) -> Lesson:
    """Read the text of a lesson, which a person may have edited. Raises `LessonError`."""
    head, body = _split(text.replace("\r\n", "\n"))
    values: dict[str, Any] = dict(_fields(head))
    values.update(_texts(body))
    try:
        lesson = msgspec.convert(values, Lesson)
    except msgspec.ValidationError as error:
        raise LessonError(str(error)[:300].lower()) from error
    return checked(lesson)


def checked(lesson: Lesson) -> Lesson:
    """Return the lesson if its fields are valid; raise `LessonError` otherwise."""
    if not is_lesson_id(lesson.id):
        raise LessonError(f"its id is {lesson.id[:40]!r}, not l- and twelve hex digits")
    if lesson.status not in STATUSES:
        raise LessonError(f"its status is none of {', '.join(STATUSES)}")
    if lesson.version < 1:
        raise LessonError("its version is not 1 or more")
    if not lesson.title.strip() or len(lesson.title) > LONGEST_TITLE or "\n" in lesson.title:
        raise LessonError(f"its title is not one line of 1 to {LONGEST_TITLE} characters")
    for name in ("problem", "resolution"):
        if len(getattr(lesson, name)) > LONGEST_TEXT:
            raise LessonError(f"its {name} is longer than {LONGEST_TEXT:,} characters")
    return lesson


def _split(text: str) -> tuple[str, str]:
    if not text.startswith(f"{_FENCE}\n"):
        raise LessonError("it does not begin with front matter: a line ---")
    head, end, body = text[len(_FENCE) + 1 :].partition(f"\n{_FENCE}\n")
    if not end:
        raise LessonError("its front matter does not end: a line --- is missing")
    return head, body


def _fields(head: str) -> list[tuple[str, Any]]:
    found = []
    for line in head.split("\n"):
        name, colon, value = line.partition(":")
        if line.strip() and not line.startswith("#"):
            if not colon:
                raise LessonError(f"a front matter line is not 'name: value': {line[:60]!r}")
            found.append((name.strip(), _value(value.strip())))
    return found


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _texts(body: str) -> dict[str, str]:
    pieces = _PARTS.split(body)
    if sorted(pieces[1::2]) != ["Problem", "Resolution"]:
        raise LessonError("it needs the sections '## Problem' and '## Resolution', each once")
    named = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    return {name.lower(): text.strip() for name, text in named.items()}
