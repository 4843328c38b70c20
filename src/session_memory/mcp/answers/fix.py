"""The tool ``fix``: find what resolved an error in an earlier session, an edit or a command."""

import shlex
from typing import Any

from session_memory.core.text import below_repo
from session_memory.learn.digest import Resolution
from session_memory.learn.fix import ErrorOccurrence, known_errors
from session_memory.mcp.asking import Question
from session_memory.mcp.repository import FileThen
from session_memory.mcp.session_line import event_ref, head_line, shown_path

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


def write(question: Question, arguments: dict[str, Any]) -> None:
    # Not `Memory.fix`: that also reads the whole edits, and searches all words of an unknown error.
    known = known_errors(question.memory.store, arguments["error"], 0).occurrences
    found = [one for one in known if one.is_same or one.likeness >= LEAST_ALIKE]
    own = [one for one in found if question.admits(question.repo_of(one.session_uid))]
    resolved = _by_command([one for one in own if one.resolution], arguments["command"])
    unresolved = [one for one in own if not one.resolution]
    others = [one for one in found if one.resolution and one not in own]
    same = sum(one.is_same for one in resolved)
    if same:
        question.answer.say(f"same error, resolved before ({same} found):")
    elif resolved:
        question.answer.say("not this error, but similar ones were resolved; check that they fit:")
    elif any(one.is_same for one in unresolved):
        question.answer.say("same error before, but no session resolved it:")
    else:
        question.nothing("no fix known for this error", everywhere=not others)
        unresolved = []
    # A similar error is no answer if the same one was resolved.
    shown = (resolved[: same or SHOWN] or unresolved)[:SHOWN]
    states = question.changes(
        (question.repo_of(one.session_uid), question.moment(one.ended_at), [one.resolution.text])
        for one in shown
        if one.resolution and one.resolution.kind == "edit"
    )
    for place, one in enumerate(shown):
        _occurrence(question, one, states, rank=2 * place)
    if others and not same:
        kind = "the same" if any(one.is_same for one in others) else "a similar"
        question.answer.say(f'other repositories resolved {kind} error: fix with repo="*"', rank=1)


def _by_command(found: list[ErrorOccurrence], command: str | None) -> list[ErrorOccurrence]:
    """Those that failed in the same program first; the same error stays before similar ones."""
    program = _program(command or "")
    return sorted(
        found, key=lambda one: (not one.is_same, bool(program) and _program(one.call) != program)
    )


def _program(command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return words[0].rpartition("/")[2] if words else ""


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
    if one.call and how.kind in ("edit", "command"):
        answer.quote("then passed", below_repo(one.call, session.repo), rank + 3, most=120)


def _lines(question: Question, how: Resolution, rank: int) -> None:
    changed = [line for line in how.lines if line[:1] in "+-" and line[1:].strip()]
    for line in (changed or list(how.lines))[:MOST_LINES]:
        question.answer.quote("", line, rank, most=160)
