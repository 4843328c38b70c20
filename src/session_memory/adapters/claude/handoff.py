"""Write a session of another agent as a session of Claude Code."""

from pathlib import Path
from typing import Any

from session_memory.adapters.handing_over import (
    MARK,
    TITLE,
    LineClock,
    as_object,
    dashes,
    json_lines,
    named,
)
from session_memory.core import handing


def tool(operation: handing.Operation) -> tuple[str, dict[str, Any]]:
    match operation:
        case handing.RunCommand(command):
            return "Bash", {"command": command, "description": TITLE}
        case handing.FileContent(path, content):
            return "Write", {"file_path": path, "content": content}
        case handing.FileEdit(path, old, new, everywhere):
            given = {"file_path": path, "old_string": old, "new_string": new}
            return "Edit", {**given, "replace_all": everywhere}
        case handing.FileRead(path, first, lines):
            return "Read", named(file_path=path, offset=first, limit=lines)


def make(session: handing.HandedSession, root: Path) -> handing.TargetSession:
    """Return the log of the new session, with one line for each block.

    Each line links to the line before it, and the blocks of a response share an id: without either,
    Claude Code loses messages. Thoughts are left out, because Claude Code refuses a thinking block
    without a signature.
    """
    name = session.new_uuid("session")
    writer = _ClaudeLines(session, name)
    for number, step in enumerate(session.steps):
        if not isinstance(step, handing.HandedAnswer):
            writer.add("user", step.text)
            continue
        response = f"msg_{session.new_id('response', number)[:24]}"
        if step.text:
            writer.answer(response, {"type": "text", "text": step.text})
        for call in step.calls:
            block = {"id": call.call_id, "name": call.tool, "input": as_object(call)}
            writer.answer(response, {"type": "tool_use", **block})
        for call in step.calls:
            result = {"type": "tool_result", "tool_use_id": call.call_id, "content": call.result}
            writer.add("user", [{**result, "is_error": call.failed}])
    path = root / "projects" / dashes(session.cwd) / f"{name}.jsonl"
    return handing.TargetSession(name, (handing.NewFile(path, json_lines(writer.lines)),))


class _ClaudeLines:
    def __init__(self, session: handing.HandedSession, name: str) -> None:
        self.lines: list[dict[str, Any]] = []
        self._session, self._name = session, name
        self._clock = LineClock(session)
        self._before: str | None = None

    def answer(self, response: str, block: dict[str, Any]) -> None:
        message = {"id": response, "type": "message", "role": "assistant", "content": [block]}
        self._line("assistant", message)

    def add(self, role: str, content: Any) -> None:
        self._line(role, {"role": role, "content": content})

    def _line(self, kind: str, message: dict[str, Any]) -> None:
        own = self._session.new_uuid("line", len(self.lines))
        self.lines.append(
            {
                MARK: self._session.origin,
                "parentUuid": self._before,
                "isSidechain": False,
                "userType": "external",
                "cwd": self._session.cwd,
                "sessionId": self._name,
                "type": kind,
                "message": message,
                "uuid": own,
                "timestamp": self._clock.tick(),
            }
        )
        self._before = own
