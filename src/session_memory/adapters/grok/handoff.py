"""Write a session of another agent as a session of Grok."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

from session_memory.adapters.handing_over import (
    MARK,
    TITLE,
    LineClock,
    as_object,
    json_lines,
    json_text,
    named,
)
from session_memory.core import handing
from session_memory.core.time import format_time

_MODEL = "handoff"


def tool(operation: handing.Operation) -> tuple[str, dict[str, Any]]:
    match operation:
        case handing.RunCommand(command):
            return "run_terminal_command", {"command": command, "description": TITLE}
        case handing.FileContent(path, content):
            return "write", {"file_path": path, "content": content}
        case handing.FileEdit(path, old, new, everywhere):
            given = {"file_path": path, "old_string": old, "new_string": new}
            return "search_replace", {**given, **({"replace_all": True} if everywhere else {})}
        case handing.FileRead(path, first, lines):
            return "read_file", named(target_file=path, offset=first, limit=lines)


def make(session: handing.HandedSession, root: Path) -> handing.TargetSession:
    """Return the files of the new session.

    ``chat_history.jsonl`` is for the model. ``updates.jsonl`` is what the person sees, and what a
    sync collects. Grok adds its system prompt itself, but not the row with the working directory.
    """
    name = session.new_uuid("session")
    chat, updates = _Chat(session), _Updates(session, name)
    for step in session.steps:
        if isinstance(step, handing.HandedAnswer):
            chat.answer(step)
            updates.answer(step)
        else:
            chat.prompt(step.text)
            updates.prompt(step.text)
    updates.ended()
    directory = root / "sessions" / quote(session.cwd, safe="") / name
    summary = {
        "info": {"id": name, "cwd": session.cwd},
        "session_summary": session.title,
        "created_at": format_time(session.at),
        "updated_at": format_time(session.at),
        "num_messages": len(updates.lines),
        "num_chat_messages": len(chat.rows),
        "current_model_id": _MODEL,
        "chat_format_version": 1,
        MARK: session.origin,
    }
    return handing.TargetSession(
        name,
        (
            handing.NewFile(directory / "chat_history.jsonl", json_lines(chat.rows)),
            handing.NewFile(directory / "updates.jsonl", json_lines(updates.lines)),
            handing.NewFile(directory / "summary.json", json_text(summary)),
        ),
    )


class _Chat:
    def __init__(self, session: handing.HandedSession) -> None:
        where = f"<user_info>\nWorkspace Path: {session.cwd}\n</user_info>"
        self.rows: list[dict[str, Any]] = [{"type": "user", "content": [_text(where)]}]
        self._prompts = 0

    def prompt(self, text: str) -> None:
        asked = [_text(f"<user_query>\n{text}\n</user_query>")]
        self.rows.append({"type": "user", "content": asked, "prompt_index": self._prompts})
        self._prompts += 1

    def answer(self, step: handing.HandedAnswer) -> None:
        row: dict[str, Any] = {"type": "assistant", "content": step.text, "model_id": _MODEL}
        if step.calls:
            row["tool_calls"] = [_chat_call(call) for call in step.calls]
        self.rows.append(row)
        for call in step.calls:
            result = {"tool_call_id": call.call_id, "content": call.result}
            self.rows.append({"type": "tool_result", **result})


def _chat_call(call: handing.HandedCall) -> dict[str, str]:
    given = json_text(as_object(call)).decode()
    return {"id": call.call_id, "name": call.tool, "arguments": given}


class _Updates:
    def __init__(self, session: handing.HandedSession, name: str) -> None:
        self.lines: list[dict[str, Any]] = []
        self._session, self._name = session, name
        self._clock = LineClock(session)
        self._prompts = 0
        self._prompt = session.new_uuid("prompt")

    def prompt(self, text: str) -> None:
        self._prompt = self._session.new_uuid("prompt", self._prompts)
        index = {"promptIndex": self._prompts}
        self._prompts += 1
        self._update("user_message_chunk", content=_text(text), _meta=index)

    def answer(self, step: handing.HandedAnswer) -> None:
        if step.text:
            self._update("agent_message_chunk", content=_text(step.text))
        for call in step.calls:
            given = as_object(call)
            self._update("tool_call", toolCallId=call.call_id, title=call.tool, rawInput=given)
        for call in step.calls:
            status = "failed" if call.failed else "completed"
            shown = [{"type": "content", "content": _text(call.result)}]
            self._update("tool_call_update", toolCallId=call.call_id, status=status, content=shown)

    def ended(self) -> None:
        fields = {"prompt_id": self._prompt, "stop_reason": "end_turn"}
        self._update("turn_completed", "_x.ai/session/update", **fields)

    def _update(self, kind: str, method: str = "session/update", **fields: Any) -> None:
        self._clock.tick()
        meta = {
            "eventId": f"{self._name}-{len(self.lines) + 1}",
            "agentTimestampMs": self._clock.ms,
            "promptId": self._prompt,
        }
        update = {"sessionUpdate": kind, **fields}
        params = {"sessionId": self._name, "update": update, "_meta": meta}
        seconds = self._clock.ms // 1000
        line = {"timestamp": seconds, "method": method, "params": params}
        self.lines.append({MARK: self._session.origin, **line})


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
