"""Write a session of another agent as a session of Qwen Code."""

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

TESTED = "0.24.4"
_MODEL = "handoff"


def tool(operation: handing.Operation) -> tuple[str, dict[str, Any]]:
    match operation:
        case handing.RunCommand(command):
            given = {"command": command, "description": TITLE}
            return "run_shell_command", {**given, "is_background": False}
        case handing.FileContent(path, content):
            return "write_file", {"file_path": path, "content": content}
        case handing.FileEdit(path, old, new, everywhere):
            given = {"file_path": path, "old_string": old, "new_string": new}
            return "edit", {**given, **({"replace_all": True} if everywhere else {})}
        case handing.FileRead(path, first, lines):
            start = None if first is None else first - 1
            return "read_file", named(file_path=path, offset=start, limit=lines)


def make(session: handing.HandedSession, root: Path) -> handing.TargetSession:
    name = session.new_uuid("session")
    writer = _QwenLines(session, name)
    for step in session.steps:
        if not isinstance(step, handing.HandedAnswer):
            writer.line("user", "user", [{"text": step.text}], provenance="real_user")
            continue
        parts: list[dict[str, Any]] = [{"text": step.text}] if step.text else []
        for call in step.calls:
            given = {"id": call.call_id, "name": call.tool, "args": as_object(call)}
            parts.append({"functionCall": given})
        writer.line("assistant", "model", parts, provenance="assistant_output", model=_MODEL)
        for call in step.calls:
            response = {"error" if call.failed else "output": call.result}
            answer = {"id": call.call_id, "name": call.tool, "response": response}
            status = {"callId": call.call_id, "status": "error" if call.failed else "success"}
            more = {"provenance": "tool_result", "toolCallResult": status}
            writer.line("tool_result", "user", [{"functionResponse": answer}], **more)
    path = root / "projects" / dashes(session.cwd) / "chats" / f"{name}.jsonl"
    return handing.TargetSession(name, (handing.NewFile(path, json_lines(writer.lines)),))


class _QwenLines:
    def __init__(self, session: handing.HandedSession, name: str) -> None:
        self.lines: list[dict[str, Any]] = []
        self._session, self._name = session, name
        self._clock = LineClock(session)
        self._before: str | None = None

    def line(self, kind: str, role: str, parts: list[dict[str, Any]], **more: Any) -> None:
        own = self._session.new_uuid("line", len(self.lines))
        self.lines.append(
            {
                MARK: self._session.origin,
                "uuid": own,
                "parentUuid": self._before,
                "sessionId": self._name,
                "timestamp": self._clock.tick(),
                "type": kind,
                "cwd": self._session.cwd,
                "version": TESTED,
                "message": {"role": role, "parts": parts},
                **more,
            }
        )
        self._before = own
