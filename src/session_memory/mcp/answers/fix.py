"""The tool ``fix``: find what resolved an error in an earlier session, an edit or a command."""

from typing import Any, NamedTuple

from session_memory.core.text import below_repo
from session_memory.learn.digest import Resolution
from session_memory.learn.fix import ErrorOccurrence, known_errors
from session_memory.mcp.asking import Question
from session_memory.mcp.session_line import event_ref, head_line, shown_path
from session_memory.views.current_repository import FileThen

SHOWN = 3
# On real sessions, less similar errors had other causes.
LEAST_ALIKE = 0.5
MOST_LINES = 8
_HOW = {
    "edit": "resolved by this edit",
    "command": "resolved by this command",
    "instead": "this call worked instead",
    "look": "worked after the file was read",
    "again": "the same call worked later without a change",
}


class KnownFixes(NamedTuple):
    """Errors that fit a question: ``resolved`` and ``unresolved`` ones of the asked repository,
    and ``others`` that sessions of other repositories resolved. The best come first."""

    resolved: list[ErrorOccurrence]
    unresolved: list[ErrorOccurrence]
    others: list[ErrorOccurrence]

    @property
    def same(self) -> int:
        return sum(one.is_same for one in self.resolved)

    @property
    def offered(self) -> list[ErrorOccurrence]:
        """The resolved errors to show. Similar ones are left out if the same error was resolved."""
        return self.resolved[: self.same or None]


def known_fixes(question: Question, arguments: dict[str, Any]) -> KnownFixes:
    # `Memory.fix` is not used: it also reads whole edits, and searches all words of unknown errors.
    store, repos, command = question.memory.store, question.repos, arguments["command"] or ""
    known = known_errors(store, arguments["error"], 0, repos=repos, command=command).occurrences
    found = [one for one in known if one.is_same or one.likeness >= LEAST_ALIKE]
    own = [one for one in found if question.admits(question.repo_of(one.session_uid))]
    return KnownFixes(
        sorted((one for one in own if one.resolution), key=lambda one: not one.is_same),
        [one for one in own if not one.resolution],
        [one for one in found if one.resolution and one not in own],
    )


def write(question: Question, arguments: dict[str, Any]) -> None:
    write_known(question, known_fixes(question, arguments))


def write_known(question: Question, known: KnownFixes) -> None:
    unresolved = known.unresolved
    if known.same:
        question.answer.say(f"same error, resolved before ({known.same} found):")
    elif known.resolved:
        question.answer.say("not this error, but similar ones were resolved; check that they fit:")
    elif any(one.is_same for one in unresolved):
        question.answer.say("same error before, but no session resolved it:")
    else:
        question.nothing("no fix known for this error", everywhere=not known.others)
        unresolved = []
    shown = (known.offered or unresolved)[:SHOWN]
    states = question.changes(
        (question.repo_of(one.session_uid), question.moment(one.ended_at), [one.resolution.text])
        for one in shown
        if one.resolution and one.resolution.kind == "edit"
    )
    for place, one in enumerate(shown):
        _occurrence(question, one, states, rank=2 * place)
    if known.others and not known.same:
        kind = "the same" if any(one.is_same for one in known.others) else "a similar"
        question.answer.say(f'other repositories resolved {kind} error: fix with repo="*"', rank=1)


def _occurrence(
    question: Question, one: ErrorOccurrence, states: dict[FileThen, str], rank: int
) -> None:
    answer, how = question.answer, one.resolution
    session = question.memory.session(one.session_uid)
    event = how.event_uids[0] if how and how.event_uids else one.event_uid
    alike = "" if one.is_same else f", {one.likeness:.0%} alike"
    head = head_line(question, event_ref(question, session.uid, event), session.record, "unknown")
    answer.say(f"{head}{alike}", rank)
    answer.quote("error", one.sample, rank + 1, most=200)
    if how is None:
        return
    if how.said:
        answer.quote("model said", how.said, rank + 2)
    sure = "" if how.certainty in ("certain", "") else f" ({how.certainty})"
    words = _HOW.get(how.kind, how.kind) + sure
    if how.kind == "edit":
        state = states.get(FileThen(how.text, question.moment(one.ended_at) or 0))
        label = f"{words}, {state}" if state else words
        answer.quote(label, shown_path(how.text, session.record), rank, most=160)
        _lines(question, how, rank + 1)
    elif how.text:
        answer.quote(words, below_repo(how.text, session.repo), rank)
    else:
        answer.say(words, rank)
    if how.passed:
        answer.quote("then passed", below_repo(how.passed, session.repo), rank + 3, most=120)


def _lines(question: Question, how: Resolution, rank: int) -> None:
    changed = [line for line in how.lines if line[:1] in "+-" and line[1:].strip()]
    for line in (changed or list(how.lines))[:MOST_LINES]:
        question.answer.quote("", line, rank, most=160)
