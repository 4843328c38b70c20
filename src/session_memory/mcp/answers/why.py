"""The tool ``why``: which sessions wrote a file or a line of it, and what was asked of them."""

from typing import Any

from session_memory.core.text import one_line
from session_memory.mcp.asking import Question
from session_memory.mcp.catalog import ToolError
from session_memory.pricing.money_text import shown
from session_memory.views.figures import plural
from session_memory.views.short_names import short_names

SHOWN = 5


def write(question: Question, arguments: dict[str, Any]) -> None:
    root, line = question.place.root, arguments["line"] or None
    if root is None:
        raise ToolError("why needs a git repository, and this directory is in none")
    place = (root / arguments["path"]).resolve()
    if not place.is_relative_to(root.resolve()) or not place.is_file():
        raise ToolError("why needs the path of a file of this repository, such as src/app.py")
    found = question.memory.why(place, line)
    alone = sum(one.session_uid is None for one in found.lines)
    of = f"line {line}" if line else plural(len(found.lines), "line")
    question.answer.say(f"{of} of {one_line(found.path)}:")
    names = short_names(question.memory.store, [one.session_uid for one in found.sessions])
    for rank, one in enumerate(found.sessions[:SHOWN], 1):
        name = names[one.session_uid]
        cost = f"{shown(one.turn_cost)} for this prompt"
        question.answer.say(f"[{name}#{one.seq}] {plural(one.lines, 'line')}, {cost}", rank)
        question.answer.quote("asked", one.prompt, rank, most=240)
        for text in one.decided[:2]:
            question.answer.quote("decided", text, rank, most=160)
        question.answer.quote("said", one.said, rank, most=240)
    if alone:
        question.answer.say(f"{plural(alone, 'line')} by no session: by a person, or not logged")
    for commit in found.commits[:1] if line else ():
        question.answer.quote(f"commit {commit.sha[:7]}", commit.subject, most=120)
