"""The rows of `recall.py`: questions from label files, and what the answers come to."""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from chat_templates import downloaded, templates_in
from click.testing import CliRunner

from session_memory import Memory
from session_memory.cli import main as command_line
from session_memory.config import LessonsConfig
from session_memory.derive.bodies import Bodies
from session_memory.learn.applied_registry import AppliedPeriod
from session_memory.learn.digest import Digest, ErrorSnippet
from session_memory.learn.digest.similarity import content_words
from session_memory.learn.digests import digest_of
from session_memory.learn.fleet import Fleet, fleet_of
from session_memory.learn.judgement import HELPED
from session_memory.learn.lesson import Lesson, lesson_of
from session_memory.learn.lessons import Lessons
from session_memory.learn.measure import DAY_MS, GONE, NOT_APPLIED, TOO_LITTLE, measure
from session_memory.learn.patterns import Pattern
from session_memory.learn.train.example import ExampleFilter
from session_memory.learn.train.export import export
from session_memory.testing.chat_templates import rendered
from session_memory.views.calls import calls_of
from session_memory.views.lessons import suggested_lessons

FIRST = 3
TOP = 40
Label = dict[str, Any]


class Figure(msgspec.Struct):
    """A row of the table: how many of how many, and what was wrong."""

    row: str
    name: str
    count: int
    of: int
    goal: str
    misses: list[str] = []

    @property
    def shown(self) -> str:
        share = f"{self.count / self.of:.0%}" if self.of else "–"
        return f"{share} ({self.count} of {self.of})"

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values


class Labels:
    """The label files of a directory, which are JSON lists, and the store that is asked."""

    def __init__(self, place: Path, store: Path, templates: Path | None = None) -> None:
        self._place = place
        self.store = store
        self.templates = templates

    def has(self, row: str) -> bool:
        return (self._place / f"{FILES[row]}.json").exists()

    def of(self, row: str) -> list[Label]:
        found: list[Label] = json.loads((self._place / f"{FILES[row]}.json").read_text())
        return found


# ---------------------------------------------------------------- how


def how(memory: Memory, labels: Labels) -> Iterator[Figure]:
    """A session that did the task is among the first three."""
    for name, is_asked in (
        ("how: all questions", lambda one: True),
        ("how: in other words than the title", lambda one: one.get("other_words")),
    ):
        asked = [one for one in labels.of("how") if is_asked(one)]
        misses = []
        for one in asked:
            found = [task.session_uid for task in memory.how(one["q"], limit=FIRST).sessions]
            if not set(found) & set(one["uids"]):
                titles = [f"{uid} {memory.session(uid).title}"[:110] for uid in one["uids"]]
                misses.append(f"{one['q']}\n    wanted {titles}\n    found  {found}")
        yield Figure("how", name, len(asked) - len(misses), len(asked), "80%", misses)


# ---------------------------------------------------------------- fix


def fix(memory: Memory, labels: Labels) -> Iterator[Figure]:
    """What solved the error is among the first three answers, and can be read on the screen."""
    asked = labels.of("fix")
    misses, unreadable = [], []
    for one in asked:
        found = memory.fix(one["q"], limit=FIRST)
        if not matches(one["answer"], map(_offered, found.remedies)):
            got = [f"{r.kind} {r.text[:80]!r} for {r.error[:80]!r}" for r in found.remedies]
            misses.append(f"{one['uid']} {one['q'][:200]!r}\n    wanted {one['answer']}")
            misses += [f"    got {line}" for line in got or ["nothing"]]
        if not matches(one["answer"], [_on_screen(labels, one["q"])]):
            unreadable.append(one["q"][:100])
    yield Figure(
        "fix",
        "fix: the true fix among the first 3",
        _right(asked, misses),
        len(asked),
        "75%",
        misses,
    )
    yield Figure(
        "fix",
        "fix: and readable on the screen",
        len(asked) - len(unreadable),
        len(asked),
        "75%",
        unreadable,
    )


def _right(asked: list[Label], misses: list[str]) -> int:
    return len(asked) - sum(not line.startswith("    ") for line in misses)


def _offered(remedy: Any) -> str:
    """What an answer offers as the fix: its steps as text, and as JSON as a log has them."""
    offered = [remedy.text]
    for step in remedy.steps:
        offered += [step.text, "\n".join(step.lines), step.path or ""]
    offered += [getattr(remedy, "said", "")]
    text = "\n".join(offered)
    return f"{text}\n{json.dumps(text, ensure_ascii=False)}"


def _on_screen(labels: Labels, text: str) -> str:
    """What `fix` prints, without the lines that repeat the error."""
    words = ("--store", str(labels.store), "fix", "--limit", str(FIRST), "--", text)
    printed = CliRunner().invoke(command_line, words, env={"COLUMNS": "100"}).output
    kept = [line for line in printed.splitlines() if not _repeats(line, text)]
    flat = " ".join(" ".join(kept).split())
    return "\n".join([*kept, flat, json.dumps("\n".join(kept), ensure_ascii=False)])


def _repeats(line: str, text: str) -> bool:
    shown = line.strip(" …")
    return len(shown) > 20 and shown[:60] in " ".join(text.split())


def matches(expressions: Iterable[str], texts: Iterable[str]) -> bool:
    wanted = [re.compile(one, re.IGNORECASE) for one in expressions]
    return any(one.search(text) for text in texts for one in wanted)


# ---------------------------------------------------------------- outcomes


def outcome(memory: Memory, labels: Labels) -> Iterator[Figure]:
    asked = labels.of("outcome")
    wrong, misses, right = 0, [], Counter[str]()
    for one in asked:
        digest = _digest(memory, one["uid"])
        ours = digest.outcome.outcome if digest else "none"
        if ours in (one["outcome"], one.get("also")):
            right[one["outcome"]] += 1
            continue
        wrong += ours not in ("unknown", "none")
        reason = digest.outcome.reason if digest else ""
        misses.append(f"{one['uid']} wanted {one['outcome']} got {ours} ({reason}): {one['why']}")
    yield Figure("outcome", "outcome: right", right.total(), len(asked), "88%", misses)
    yield Figure("outcome", "outcome: wrong, not merely unknown", wrong, len(asked), "≤ 4%")
    # Most sessions succeed, so a mistake with the others hardly shows in the sum.
    for word, number in sorted(Counter(one["outcome"] for one in asked).items()):
        yield Figure("outcome", f"outcome: of those labelled {word}", right[word], number, "–")


def _digest(memory: Memory, uid: str) -> Digest | None:
    return digest_of(memory.store, uid)


# ---------------------------------------------------------------- resolutions


def resolution(memory: Memory, labels: Labels) -> Iterator[Figure]:
    """Of the labelled errors: how many resolutions in digests are what truly ended the error."""
    asked = labels.of("resolution")
    true, resolved, misses = 0, 0, []
    for one in asked:
        snippets = list(_about(memory, one))
        claims = [snippet for snippet in snippets if snippet.resolution is not None]
        texts = [_claimed(memory, one["uid"], snippet) for snippet in claims]
        resolved += bool(claims)
        if matches([one["regex"]], texts):
            true += 1
            continue
        got = [
            f"{s.resolution.kind}: {s.resolution.text[:100]!r} for {s.sample[:80]!r}"
            for s in claims
            if s.resolution
        ]
        state = got or [f"unresolved {s.sample[:100]!r}" for s in snippets] or ["no such error"]
        misses.append(f"{one['uid']} {one['error']} | {one['call']}\n    true: {one['true_fix']}")
        misses += [f"    got {line}" for line in state[:4]]
    yield Figure("resolution", "resolutions: true, of those given", true, resolved, "85%", misses)
    yield Figure("resolution", "resolutions: true, of all labelled", true, len(asked), "–")


def _about(memory: Memory, label: Label) -> Iterator[ErrorSnippet]:
    """The errors of the session that share most words with the labelled one."""
    digest = _digest(memory, label["uid"])
    wanted = content_words(label["error"])
    scored = [
        (len(wanted & content_words(f"{one.sample} {one.call}")), one)
        for one in (digest.error_snippets if digest else ())
    ]
    best = max((score for score, _ in scored), default=0)
    return (one for score, one in scored if best and score == best)


def _claimed(memory: Memory, uid: str, snippet: ErrorSnippet) -> str:
    """What a resolution names: its text and the whole calls."""
    how_ = snippet.resolution
    assert how_ is not None
    named = set(how_.event_uids)
    bodies = Bodies(memory.store)
    texts = [how_.text]
    for call in calls_of(memory.store, uid):
        if call.event.event_uid in named:
            body = bodies.of(call.event)
            texts += [body.text, json.dumps(body.arguments, ensure_ascii=False, default=str)]
    texts += list(getattr(how_, "lines", ())) + [getattr(how_, "said", "") or ""]
    return "\n".join(texts)


# ---------------------------------------------------------------- patterns and instructions


def _patterns(memory: Memory) -> list[Pattern]:
    return list(memory.patterns(limit=0).patterns)


def _text_of(memory: Memory, pattern: Pattern) -> str:
    found = [pattern.detail, *(fix_.text for fix_ in pattern.resolutions)]
    return "\n".join(found)


def _is_about(memory: Memory, pattern: Pattern, label: Label) -> bool:
    is_here = not pattern.repos or label["repo"] in pattern.repos
    return is_here and matches(label["any_of"], [_text_of(memory, pattern)])


def patterns(memory: Memory, labels: Labels) -> Iterator[Figure]:
    asked = [one for one in labels.of("pattern") if not one.get("weak")]
    top = [one for one in _patterns(memory) if one.polarity == "problem"][:TOP]
    known = [p for p in top if any(_is_about(memory, p, one) for one in labels.of("pattern"))]
    missed = [one for one in asked if not any(_is_about(memory, p, one) for p in top)]
    misses = _missing(missed)
    misses += [
        f"unlabelled {p.type} {p.sessions} sessions {','.join(p.repos)}: {p.detail[:120]}"
        for p in top
        if p not in known
    ]
    yield Figure(
        "pattern",
        "patterns: labelled ones among the first 40",
        len(asked) - len(missed),
        len(asked),
        "–",
        misses,
    )
    yield Figure(
        "pattern",
        "patterns: of the first 40, those in the labels",
        len(known),
        len(top),
        "read the rest",
    )


def _missing(labels: list[Label]) -> list[str]:
    return [f"missing {one['repo']}: {one['gist']} ({len(one['uids'])} sessions)" for one in labels]


def instructions(memory: Memory, labels: Labels) -> Iterator[Figure]:
    asked = labels.of("instruction")
    ours = [one for one in _patterns(memory) if one.type == "recurring_instruction"]
    missed = [one for one in asked if not any(_is_about(memory, p, one) for p in ours)]
    false = [p for p in ours if not any(_is_about(memory, p, one) for one in asked)]
    misses = _missing(missed)
    misses += [f"not labelled: {p.sessions} {','.join(p.repos)}: {p.detail[:140]}" for p in false]
    yield Figure(
        "instruction",
        "repeated instructions: found",
        len(asked) - len(missed),
        len(asked),
        "70%",
        misses,
    )
    yield Figure(
        "instruction",
        "repeated instructions: true, of those found",
        len(ours) - len(false),
        len(ours),
        "80%",
    )


def lessons(memory: Memory, labels: Labels) -> Iterator[Figure]:
    """Suggested lessons that say what a reader wrote for the same problem, or a labelled wish."""
    known = {one.id: one for one in _patterns(memory)}
    wishes = labels.of("instruction") if labels.has("instruction") else []
    with tempfile.TemporaryDirectory() as place:
        found = suggested_lessons(memory.store, Lessons(Path(place)), limit=0)
    misses = []
    for one in found:
        pattern = known[one.pattern]
        told = any(_is_about(memory, pattern, label) for label in wishes)
        for label in labels.of("lesson"):
            if _is_about(memory, pattern, label):
                told = told or len(_commands_in(label["lesson"]) & _commands_in(one.text)) > 1
        if not told:
            misses.append(f"{one.sessions} {','.join(one.repos)}: {one.text}")
    name = "lessons: suggested ones that agree with a reader"
    yield Figure("lesson", name, len(found) - len(misses), len(found), "50%", misses)


def _commands_in(text: str) -> frozenset[str]:
    """The words inside of quotes."""
    return frozenset(word for span in re.findall(r"`+([^`]+)`+", text) for word in span.split())


# ---------------------------------------------------------------- people


def people(memory: Memory, labels: Labels) -> Iterator[Figure]:
    """Messages typed by a person. The labels leave slash commands out."""
    asked, misses = labels.of("people"), []
    for one in asked:
        prompts = list(_prompts(memory, one["uid"]))
        if len(prompts) != one["prompts"]:
            misses.append(
                f"{one['uid']} wanted {one['prompts']} got {len(prompts)} {one.get('note', '')}"
            )
            misses += [f"    {text[:100]!r}" for text in prompts]
    right = _right(asked, misses)
    yield Figure(
        "people", "messages of people counted exactly", right, len(asked), "33 of 35", misses
    )


def _prompts(memory: Memory, uid: str) -> Iterator[str]:
    row = memory.store.sessions.row(uid)
    for event in memory.store.events.each_of(row.id, uid) if row else ():
        if "user_msg" in (event.kind, *event.marks) and event.summary[:1] != "/":
            yield event.summary


# ---------------------------------------------------------------- measuring


def placebo(memory: Memory, labels: Labels) -> Iterator[Figure]:
    """Lessons that nobody wrote: each problem seen in three sessions, at the start of each day."""
    least = LessonsConfig().measure_sessions
    fleet = fleet_of(memory.store)
    judged, misses = 0, []
    for pattern in [one for one in _patterns(memory) if one.polarity == "problem"]:
        for repo in pattern.repos:
            lesson = msgspec.structs.replace(lesson_of(pattern, now=""), repos=(repo,), flavors=())
            for period in _placebo_periods(fleet, lesson, repo, pattern):
                (one,) = measure(memory.store, [lesson], [period], least=least, days=9_000)
                if one.verdict not in (TOO_LITTLE, GONE, NOT_APPLIED):
                    judged += 1
                    if one.verdict == HELPED:
                        sides = f"{one.before.rate:.0%} to {one.after.rate:.0%}"
                        misses.append(f"{repo} {one.applied_at} {sides} {pattern.detail[:80]}")
    name = "measure: says helped though no lesson was written"
    yield Figure("measure", name, len(misses), judged, "≤ 2.5%", misses)


def _placebo_periods(
    fleet: Fleet, lesson: Lesson, repo: str, pattern: Pattern
) -> Iterator[AppliedPeriod]:
    starts = [
        one.started_at
        for one in fleet.sessions
        if one.repo == repo and one.started_at is not None and one.relation != "subagent"
    ]
    seen = sorted(fleet.by_uid[uid].started_at or 0 for uid in pattern.session_uids)
    for day in sorted({start // DAY_MS for start in starts}):
        if sum(start < day * DAY_MS for start in seen) >= LessonsConfig().distribute_sessions:
            yield AppliedPeriod(
                lesson=lesson.id,
                target="AGENTS.md",
                repo=repo,
                names=("AGENTS.md", "CLAUDE.md"),
                since=day * DAY_MS,
            )


# ---------------------------------------------------------------- training


def training(memory: Memory, labels: Labels) -> Iterator[Figure]:
    """The templates that render every training row rightly."""
    with tempfile.TemporaryDirectory() as place:
        sessions = memory.store.sessions.every()
        export(memory.store, sessions, ExampleFilter(), Path(place) / "rows")
        known = templates_in(labels.templates or downloaded(Path(place)))
        found = rendered(Path(place) / "rows", known)
    misses = [f"{name}: {reason}" for name, reason in found.items() if reason is not None]
    name = "train: chat templates that render every row"
    yield Figure("train", name, len(found) - len(misses), len(found), "all with tools", misses)


FILES = {
    "how": "how",
    "fix": "fix",
    "outcome": "outcomes",
    "resolution": "resolutions",
    "pattern": "patterns",
    "instruction": "instructions",
    "people": "people",
    "lesson": "patterns",
    "measure": "outcomes",
    "train": "outcomes",
}
Row = Callable[[Memory, Labels], Iterator[Figure]]
ROWS: dict[str, Row] = {
    "how": how,
    "fix": fix,
    "outcome": outcome,
    "resolution": resolution,
    "pattern": patterns,
    "instruction": instructions,
    "people": people,
    "lesson": lessons,
    "measure": placebo,
    "train": training,
}
