"""Write a session of another agent as a session of pi."""

from pathlib import Path
from typing import Any

from session_memory.adapters.handing_over import MARK, LineClock, as_object, json_lines, named
from session_memory.core import handing

_TOKENS = ("input", "output", "cacheRead", "cacheWrite")
# pi requires the usage of every answer. It is 0, because the original session counts the tokens.
_NO_COST = dict.fromkeys((*_TOKENS, "total"), 0)
_NO_USAGE = {**dict.fromkeys(_TOKENS, 0), "totalTokens": 0, "cost": _NO_COST}
# No real provider has these names. pi sends the thinking of a provider other than the current one
# as plain text.
_MODEL = {"api": "anthropic-messages", "provider": "handoff", "model": "handoff"}


def tool(operation: handing.Operation) -> tuple[str, dict[str, Any]]:
    match operation:
        case handing.RunCommand(command):
            return "bash", {"command": command}
        case handing.FileContent(path, content):
            return "write", {"path": path, "content": content}
        case handing.FileEdit(path, old, new):
            return "edit", {"path": path, "edits": [{"oldText": old, "newText": new}]}
        case handing.FileRead(path, first, lines):
            return "read", named(path=path, offset=first, limit=lines)


def make(session: handing.HandedSession, root: Path) -> handing.TargetSession:
    name = session.new_uuid("session")
    writer = _PiEntries(session, name)
    for step in session.steps:
        if not isinstance(step, handing.HandedAnswer):
            writer.message(role="user", content=[_text(step.text)])
            continue
        texts = [_text(step.text)] if step.text else []
        calls = [
            {"type": "toolCall", "id": one.call_id, "name": one.tool, "arguments": as_object(one)}
            for one in step.calls
        ]
        reason = "toolUse" if calls else "stop"
        answer = {"content": [*texts, *calls], **_MODEL, "usage": _NO_USAGE, "stopReason": reason}
        writer.message(role="assistant", **answer)
        for call in step.calls:
            result = {"toolCallId": call.call_id, "toolName": call.tool, "isError": call.failed}
            writer.message(role="toolResult", content=[_text(call.result)], **result)
    directory = f"--{session.cwd.strip('/').replace('/', '-').replace(':', '-')}--"
    began = writer.began.replace(":", "-").replace(".", "-")
    path = root / "sessions" / directory / f"{began}_{name}.jsonl"
    return handing.TargetSession(name, (handing.NewFile(path, json_lines(writer.lines)),))


class _PiEntries:
    def __init__(self, session: handing.HandedSession, name: str) -> None:
        self._session, self._clock = session, LineClock(session)
        self._before: str | None = None
        self.began = self._clock.tick()
        opened = {"type": "session", "version": 3, "id": name, "timestamp": self.began}
        self.lines: list[dict[str, Any]] = [{MARK: session.origin, **opened, "cwd": session.cwd}]

    def message(self, **fields: Any) -> None:
        own = self._session.new_id("entry", len(self.lines))[:8]
        entry = {"type": "message", "id": own, "parentId": self._before}
        at = self._clock.tick()
        message = {**fields, "timestamp": self._clock.ms}
        self.lines.append(
            {MARK: self._session.origin, **entry, "timestamp": at, "message": message}
        )
        self._before = own


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
