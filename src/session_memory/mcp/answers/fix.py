"""``fix``: the edit or the command that resolved an error before."""

import shlex
from typing import Any

from session_memory.core.text import below_repo
from session_memory.mcp.asking import Question
from session_memory.mcp.session_line import head_line
from session_memory.views.fixes import Remedies, Remedy

# So many are asked for, because some may be of other repositories.
ASKED = 12
SHOWN = 3
MOST_LINES = 8
_HOW = {
    "edit": "resolved by this edit",
    "command": "resolved by this command",
    "instead": "this call worked instead",
    "look": "worked after the file was read",
    "again": "the same call worked later without a change",
}


def write(question: Question, arguments: dict[str, Any]) -> None:
    found = question.memory.fix(arguments["error"], limit=ASKED)
    own = [one for one in found.remedies if question.admits(one.repo)]
    resolved = _by_command([one for one in own if one.kind is not None], arguments["command"])
    unresolved = [one for one in own if one.kind is None]
    if resolved:
        _basis(question, found, resolved)
    elif unresolved:
        question.answer.say("known error, but no session resolved it:")
    else:
        question.nothing("no fix known for this error")
    for place, remedy in enumerate((resolved or unresolved)[:SHOWN]):
        _remedy(question, remedy, rank=2 * place)
    others = [one for one in found.remedies if one.kind is not None and one not in own]
    if others and not question.is_asked:
        kind = "the same" if any(one.likeness == 1 for one in others) else "a similar"
        question.answer.say(f'other repositories resolved {kind} error: repo="*"', rank=1)


def _by_command(remedies: list[Remedy], command: str | None) -> list[Remedy]:
    """Those that failed in the same program first; the same error stays before similar ones."""
    program = _program(command or "")
    return sorted(
        remedies,
        key=lambda one: (one.likeness != 1, bool(program) and _program(one.again) != program),
    )


def _program(command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return words[0].rpartition("/")[2] if words else ""


def _basis(question: Question, found: Remedies, resolved: list[Remedy]) -> None:
    same = sum(one.likeness == 1 for one in resolved)
    if same:
        question.answer.say(f"same error, resolved before ({same} found):")
    else:
        question.answer.say("not this error, but similar ones were resolved; check that they fit:")


def _remedy(question: Question, remedy: Remedy, rank: int) -> None:
    answer, repo = question.answer, remedy.repo
    record = question.memory.session(remedy.session_uid).record
    seq = remedy.steps[0].seq if remedy.steps else None
    ref = remedy.name if seq is None else f"{remedy.name}#{seq}"
    alike = "" if remedy.likeness == 1 else f", {remedy.likeness:.0%} alike"
    answer.say(f"{head_line(question, ref, record, 'unknown')}{alike}", rank)
    answer.quote("error", remedy.error, rank + 1, most=200)
    if remedy.kind is None:
        return
    if remedy.said:
        answer.quote("model said", remedy.said, rank + 2)
    sure = "" if remedy.certainty in ("certain", "") else f" ({remedy.certainty})"
    how = _HOW.get(remedy.kind, remedy.kind) + sure
    if remedy.kind == "edit":
        _edits(question, remedy, how, rank)
    else:
        answer.quote(how, below_repo(remedy.text, repo), rank)
    if remedy.again and remedy.kind in ("edit", "command"):
        answer.quote("then passed", below_repo(remedy.again, repo), rank + 3, most=120)


def _edits(question: Question, remedy: Remedy, how: str, rank: int) -> None:
    paths = list(dict.fromkeys(step.path for step in remedy.steps if step.path)) or [remedy.text]
    states = {}
    if question.is_here(remedy.repo):
        states = question.place.changes_since(paths, remedy.ended_at)
    for path in paths[:2]:
        state = f", {states[path]}" if path in states else ""
        question.answer.quote(f"{how}{state}", below_repo(path, remedy.repo), rank, most=160)
    lines = remedy.lines or tuple(line for step in remedy.steps for line in step.lines)
    changed = [line for line in lines if line[:1] in "+-"]
    for line in (changed or list(lines))[:MOST_LINES]:
        question.answer.quote("", line, rank + 1, most=160)
