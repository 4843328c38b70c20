"""The tool ``handoff``: a session as a text, with which an agent can continue the work."""

from typing import Any

from session_memory.mcp.asking import Question


def write(question: Question, arguments: dict[str, Any]) -> None:
    ref = arguments["ref"].strip().strip("[]").partition("#")[0]
    session = question.memory.session(ref)
    text = session.handoff_text(last=arguments["last"])
    left = question.answer.quote_lines("session", text)
    if left:
        question.answer.say(
            f"{left:,} more characters; ask with more tokens, or with a smaller last"
        )
