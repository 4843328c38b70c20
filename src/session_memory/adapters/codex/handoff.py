"""Write a session of another agent as a thread (session) of Codex."""

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from session_memory.adapters.handing_over import MARK, LineClock, json_lines, json_text
from session_memory.core import handing

TESTED = "0.166.0"


def tool(operation: handing.Operation) -> tuple[str, dict[str, Any] | str]:
    match operation:
        case handing.RunCommand(command):
            return "exec_command", {"cmd": command}
        case handing.FileContent(path, content):
            return "apply_patch", _patch(f"Add File: {path}", _signed("+", content))
        case handing.FileEdit(path, old, new):
            changed = [*_signed("-", old), *_signed("+", new)]
            return "apply_patch", _patch(f"Update File: {path}", ["@@", *changed])
        case handing.FileRead(path, first, lines):
            return "exec_command", {"cmd": _reading(path, first, lines)}


def _patch(file: str, lines: list[str]) -> str:
    return "\n".join(["*** Begin Patch", f"*** {file}", *lines, "*** End Patch"])


def _signed(sign: str, text: str) -> list[str]:
    return [f"{sign}{line}" for line in text.removesuffix("\n").split("\n")] if text else []


def _reading(path: str, first: int | None, lines: int | None) -> str:
    place = shlex.quote(path)
    if first is None and lines is None:
        return f"cat {place}"
    start = max(first or 1, 1)
    return f"sed -n '{start},{'$' if lines is None else start + lines - 1}p' {place}"


def make(session: handing.HandedSession, root: Path) -> handing.TargetSession:
    """Return the log of the new thread.

    The model gets the lines of type ``response_item``. The lines of type ``event_msg`` are for the
    person only: without them, the screen of a resumed thread is empty.
    """
    name = session.new_uuid("session")
    writer = _CodexLines(session, name)
    for number, step in enumerate(session.steps):
        if not isinstance(step, handing.HandedAnswer):
            writer.prompt(step.text, session.new_uuid("turn", number))
            continue
        if step.text:
            writer.message(step.text)
        for call in step.calls:
            writer.called(call)
        for call in step.calls:
            writer.returned(call)
    writer.ended()
    made = datetime.fromtimestamp(session.at / 1000, UTC)
    file = f"rollout-{made:%Y-%m-%dT%H-%M-%S}-{name}.jsonl"
    path = root / "sessions" / f"{made:%Y}" / f"{made:%m}" / f"{made:%d}" / file
    return handing.TargetSession(name, (handing.NewFile(path, json_lines(writer.lines)),))


class _CodexLines:
    def __init__(self, session: handing.HandedSession, name: str) -> None:
        self.lines: list[dict[str, Any]] = []
        self._clock = LineClock(session)
        self._turn: str | None = None
        self._last = ""
        meta = {"id": name, "timestamp": self._clock.tick(), "cwd": session.cwd}
        self._origin = session.origin
        # Codex refuses a thread of another provider. Without a provider it takes the current one.
        self._line(
            "session_meta",
            {**meta, "originator": "session-memory", "cli_version": TESTED},
        )

    def prompt(self, text: str, turn: str) -> None:
        self.ended()
        self._turn = turn
        self._event("task_started", turn_id=turn, model_context_window=None)
        self._message("user", "input_text", text)
        self._event("user_message", message=text, images=[])

    def message(self, text: str) -> None:
        self._message("assistant", "output_text", text)
        self._event("agent_message", message=text)
        self._last = text

    def called(self, call: handing.HandedCall) -> None:
        if isinstance(call.arguments, str):
            given = {"status": "completed", "name": call.tool, "input": call.arguments}
            self._item("custom_tool_call", call_id=call.call_id, **given)
        else:
            given = {"name": call.tool, "arguments": json_text(call.arguments).decode()}
            self._item("function_call", call_id=call.call_id, **given)

    def returned(self, call: handing.HandedCall) -> None:
        is_custom = isinstance(call.arguments, str)
        kind = "custom_tool_call_output" if is_custom else "function_call_output"
        self._item(kind, call_id=call.call_id, output=call.result)

    def ended(self) -> None:
        if self._turn is not None:
            last = self._last or None
            self._event("task_complete", turn_id=self._turn, last_agent_message=last)
        self._turn, self._last = None, ""

    def _message(self, role: str, kind: str, text: str) -> None:
        self._item("message", role=role, content=[{"type": kind, "text": text}])

    def _item(self, kind: str, **fields: Any) -> None:
        self._line("response_item", {"type": kind, **fields})

    def _event(self, kind: str, **fields: Any) -> None:
        self._line("event_msg", {"type": kind, **fields})

    def _line(self, kind: str, payload: dict[str, Any]) -> None:
        line = {"timestamp": self._clock.tick(), "type": kind, "payload": payload}
        self.lines.append({MARK: self._origin, **line})
