"""A lesson: a pattern that a person accepted, with its resolution; as a value and as a text file.

The file is Markdown with front matter: a line for each field, its value JSON or plain words, so
that a person can write it and any tool that knows YAML can read it.
"""

import re
from typing import Any

import msgspec

from session_memory.core.lesson_errors import LessonError
from session_memory.learn.advice import how, title
from session_memory.learn.patterns import OF_ERRORS, Fix, Pattern
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


class Shown(msgspec.Struct, frozen=True):
    """A pattern that a lesson is about: what measuring looks for. Secrets in ``locus`` are
    masked; ``id`` still tells it from every other."""

    id: str
    type: str
    locus: str
    polarity: str = "problem"


class Quote(msgspec.Struct, frozen=True):
    """Words of a session in the text of a lesson; of an unknown one where ``session_uid`` is
    empty. With the session they are forgotten."""

    session_uid: str
    text: str


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """``repos`` and ``flavors`` are its scope, everything where they are empty. ``sessions`` is
    how many sessions showed it, some of them named in ``session_uids``; ``events`` are of these,
    ``[session_uid, event_uid]``. ``effect`` is what a measurement said last.
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
    patterns: tuple[Shown, ...] = ()
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


# ------------------------------------------------------------ out of a pattern

# What an agent is to do. Where only a person can tell, nothing is said: a lesson without a
# resolution goes nowhere.
_DO = {
    "retry_storm": "After the second failure of {locus}, change something before trying again.",
    "schema_thrash": "Check the arguments that {locus} takes before calling it.",
    "permission_denied": "Do not try {locus}: it is refused here. Ask first.",
    "timeout": "Run {locus} in the background, in smaller parts, or with a longer limit.",
    "flaky_test": "Run {locus} again before trusting a result: it passes and fails unchanged.",
    "oversized_output": "Let {locus} print less: head, tail, a filter, a range of lines.",
    "reread_file": "Read {locus} once and keep in mind what it holds.",
    "thrown_away": "Agree on the plan before edits begin, and keep steps small.",
    "context_overflow": "Give large parts to subagents, and keep outputs short.",
    "budget_overrun": "Split tasks like these, and keep outputs short.",
    "repeated_instruction": "The user asks for this again and again, so do it unasked: {detail}",
    "recurring_instruction": "The user asks for this again and again, so do it unasked: {detail}",
}
_TELLING = OF_ERRORS | {"repeated_instruction", "recurring_instruction"}
"""Types that are known by what was said; of the others the place says more."""
_RARE = 5


def lesson_of(pattern: Pattern, *, now: str) -> Lesson:
    """The words are ours; what transcripts said stands in them as quotes."""
    return Lesson(
        id=lesson_id(pattern.id),
        title=f"{title(pattern)}: {subject(pattern)}",
        repos=pattern.repos if len(pattern.repos) == 1 else (),
        created_at=now,
        updated_at=now,
        patterns=(Shown(pattern.id, pattern.type, mask(pattern.locus), pattern.polarity),),
        sessions=pattern.sessions,
        first_seen=pattern.first_seen,
        last_seen=pattern.last_seen,
        session_uids=pattern.session_uids[-MOST_SESSIONS:],
        events=tuple((one.session_uid, one.event_uid) for one in pattern.evidence[:MOST_EVENTS]),
        problem=_problem(pattern),
        resolution=_resolution(pattern),
    )


def subject(pattern: Pattern) -> str:
    """What it is about, short enough for a title."""
    return quoted(pattern.detail if pattern.type in _TELLING else pattern.locus, LONGEST_SUBJECT)


def telling_fixes(pattern: Pattern) -> list[Fix]:
    """What helped more than once, or in one of few sessions: a coincidence is no advice."""
    return [
        fix
        for fix in pattern.resolutions
        if fix.kind != "again" and (fix.sessions > 1 or pattern.sessions <= _RARE)
    ]


def _problem(pattern: Pattern) -> str:
    sessions = "1 session" if pattern.sessions == 1 else f"{pattern.sessions} sessions"
    seen = f"Seen {pattern.times} in {sessions} ({', '.join(pattern.flavors)})."
    return f"{seen} It said: {quoted(pattern.detail)}"


def _resolution(pattern: Pattern) -> str:
    words = _DO.get(pattern.type, "")
    told = words.format(locus=quoted(pattern.locus), detail=quoted(pattern.detail))
    if helped := telling_fixes(pattern):
        fix = helped[0]
        done = how(Fix(fix.kind, quoted(fix.text), fix.sessions))
        seen = "1 session" if fix.sessions == 1 else f"{fix.sessions} sessions"
        told = f"{told} What resolved it in {seen}: {done}.".strip()
    return told


# ------------------------------------------------------------ as a file


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
    """Read what `to_text` wrote, also after a person edited it; a `LessonError` says what is
    wrong with it."""
    head, body = _split(text.replace("\r\n", "\n"))
    values: dict[str, Any] = dict(_fields(head))
    values.update(_texts(body))
    try:
        lesson = msgspec.convert(values, Lesson)
    except msgspec.ValidationError as error:
        raise LessonError(str(error)[:300].lower()) from error
    return checked(lesson)


def checked(lesson: Lesson) -> Lesson:
    """The same lesson; refuses what no file may say."""
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
                raise LessonError(f"a line of its front matter is no 'name: value': {line[:60]!r}")
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
