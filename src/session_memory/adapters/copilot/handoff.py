"""Write a session of another agent as a session of Copilot CLI."""

import json
from pathlib import Path
from typing import Any

from session_memory.adapters.handing_over import MARK, TITLE, LineClock, as_object, json_lines
from session_memory.core import handing

TESTED = "1.0.102"


def tool(operation: handing.Operation) -> tuple[str, dict[str, Any]]:
    match operation:
        case handing.RunCommand(command):
            return "bash", {"command": command, "description": TITLE}
        case handing.FileContent(path, content):
            return "create", {"path": path, "file_text": content}
        case handing.FileEdit(path, old, new):
            return "edit", {"path": path, "old_str": old, "new_str": new}
        case handing.FileRead(path, first, lines):
            if first is None and lines is None:
                return "view", {"path": path}
            last = -1 if lines is None else (first or 1) + lines - 1
            return "view", {"path": path, "view_range": [first or 1, last]}


def make(session: handing.HandedSession, root: Path) -> handing.TargetSession:
    name = session.new_uuid("session")
    writer = _CopilotEvents(session, name)
    for number, step in enumerate(session.steps):
        if isinstance(step, handing.HandedAnswer):
            writer.answer(step, number)
        else:
            writer.prompt(step.text, number)
    directory = root / "session-state" / name
    about = {
        "id": name,
        "cwd": session.cwd,
        "git_root": session.cwd,
        "name": session.title,
        "user_named": False,
        "summary_count": 0,
        "created_at": writer.began,
        "updated_at": writer.ended,
    }
    # JSON texts are valid YAML.
    yaml = "".join(f"{key}: {json.dumps(value)}\n" for key, value in about.items())
    return handing.TargetSession(
        name,
        (
            handing.NewFile(directory / "workspace.yaml", yaml.encode()),
            handing.NewFile(directory / "events.jsonl", json_lines(writer.lines)),
        ),
    )


class _CopilotEvents:
    def __init__(self, session: handing.HandedSession, name: str) -> None:
        self.lines: list[dict[str, Any]] = []
        self._session, self._clock = session, LineClock(session)
        self._before: str | None = None
        self._interaction = session.new_uuid("interaction")
        self.began = self.ended = self._clock.tick()
        self._event(
            "session.start",
            sessionId=name,
            version=1,
            producer="copilot-agent",
            copilotVersion=TESTED,
            startTime=self.began,
            context={"cwd": session.cwd, "gitRoot": session.cwd},
        )

    def prompt(self, text: str, number: int) -> None:
        self._interaction = self._session.new_uuid("interaction", number)
        self._event(
            "user.message",
            content=text,
            transformedContent=text,
            attachments=[],
            messageId=self._session.new_uuid("message", number),
            interactionId=self._interaction,
        )

    def answer(self, step: handing.HandedAnswer, number: int) -> None:
        turn, asked = {"turnId": str(number)}, {"interactionId": self._interaction}
        self._event("assistant.turn_start", **turn, **asked)
        self._event(
            "assistant.message",
            messageId=self._session.new_uuid("message", number),
            content=step.text,
            toolRequests=[
                {
                    "toolCallId": call.call_id,
                    "name": call.tool,
                    "arguments": as_object(call),
                    "type": "function",
                }
                for call in step.calls
            ],
            **asked,
        )
        for call in step.calls:
            named = {"toolCallId": call.call_id, "toolName": call.tool}
            self._event("tool.execution_start", **named, arguments=as_object(call), **turn)
        for call in step.calls:
            # For a failed call, Copilot would send the model an error text of Copilot's instead of
            # the result. So failed calls are written as successes too.
            result = {"success": True, "result": {"content": call.result}}
            self._event("tool.execution_complete", toolCallId=call.call_id, **result, **turn)
        self._event("assistant.turn_end", **turn)

    def _event(self, kind: str, **data: Any) -> None:
        own, self.ended = self._session.new_uuid("event", len(self.lines)), self._clock.tick()
        event = {"type": kind, "data": data, "id": own, "timestamp": self.ended}
        mark = {MARK: self._session.origin}
        self.lines.append({**mark, **event, "parentId": self._before})
        self._before = own
