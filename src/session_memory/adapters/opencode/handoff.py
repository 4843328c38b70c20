"""Write a session of another agent as a document for ``opencode import``."""

import os
import re
from pathlib import Path
from typing import Any

import apsw

from session_memory.adapters.databases import reading_database
from session_memory.adapters.handing_over import MARK, TITLE, as_object, json_text, named
from session_memory.adapters.json_records import mapping, string
from session_memory.adapters.opencode.translate import PLACE_OF_MARK
from session_memory.adapters.opencode.units import data_of
from session_memory.core import handing

TESTED = "1.18.33"
_NEWEST_PROMPTS = """
    select data from message where json_extract(data, '$.role') = 'user'
    order by time_created desc limit 1
"""
_CONFIGURED = re.compile(rb'"model"\s*:\s*"([^"/\s]{1,100})/([^"\s]{1,200})"')
_LONGEST_CONFIG = 1 << 20
_NO_TOKENS = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}


def tool(operation: handing.Operation) -> tuple[str, dict[str, Any]]:
    match operation:
        case handing.RunCommand(command):
            return "bash", {"command": command, "description": TITLE}
        case handing.FileContent(path, content):
            return "write", {"filePath": path, "content": content}
        case handing.FileEdit(path, old, new, everywhere):
            given = {"filePath": path, "oldString": old, "newString": new}
            return "edit", {**given, **({"replaceAll": True} if everywhere else {})}
        case handing.FileRead(path, first, lines):
            return "read", named(filePath=path, offset=first, limit=lines)


def make(session: handing.HandedSession, root: Path) -> handing.TargetSession:
    document = _Document(session, _model(root))
    for step in session.steps:
        if isinstance(step, handing.HandedAnswer):
            document.answer(step)
        else:
            document.prompt(step.text)
    info = {
        "id": document.session,
        "slug": "handoff",
        "projectID": "global",
        "directory": session.cwd,
        "title": session.title,
        "version": TESTED,
        "time": {"created": session.at, "updated": session.at},
        "metadata": {MARK: session.origin},
    }
    content = json_text({"info": info, "messages": document.messages})
    return handing.TargetSession(
        document.session, (handing.NewFile(root / f"{document.session}.json", content),)
    )


def _model(root: Path) -> dict[str, str]:
    """Return the model of the new session.

    It is the model of the last prompt in opencode's database, else the model in opencode's
    settings, else a made-up model.

    opencode refuses to continue a session with a model that it does not know.
    """
    return _last_used(root) or _configured(root) or {"providerID": "opencode", "modelID": "handoff"}


def _last_used(root: Path) -> dict[str, str] | None:
    place = root / "opencode.db"
    if not place.is_file():
        return None
    try:
        with reading_database(place) as db:
            row = next(iter(db.execute(_NEWEST_PROMPTS)), None)
    except (apsw.Error, OSError):
        return None
    model = mapping(data_of({"data": row[0]}).get("model")) if row else {}
    names = {name: string(model.get(name)) for name in ("providerID", "modelID")}
    return names if all(names.values()) else None


def _configured(root: Path) -> dict[str, str] | None:
    home = root.parents[2] if len(root.parents) > 2 else root
    base = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "opencode"
    for name in ("opencode.jsonc", "opencode.json", "config.json"):
        try:
            text = (base / name).read_bytes()[:_LONGEST_CONFIG]
        except OSError:
            continue
        if found := _CONFIGURED.search(text):
            return {"providerID": found[1].decode(), "modelID": found[2].decode("utf-8", "replace")}
    return None


class _Document:
    def __init__(self, session: handing.HandedSession, model: dict[str, str]) -> None:
        self._handed, self._model = session, model
        self._made = 0
        self._ms = session.at - len(session.steps)
        self._prompt = ""
        self.session = self._id("ses")
        self.messages: list[dict[str, Any]] = []

    def prompt(self, text: str) -> None:
        name = self._prompt = self._id("msg")
        info = {
            **self._named(name, "user"),
            "time": {"created": self._ms},
            "agent": "build",
            "model": self._model,
        }
        self.messages.append({"info": info, "parts": [self._part(name, type="text", text=text)]})

    def answer(self, step: handing.HandedAnswer) -> None:
        name = self._id("msg")
        at = {"start": self._ms, "end": self._ms}
        parts = [self._part(name, type="text", text=step.text, time=at)] if step.text else []
        for call in step.calls:
            state = _state(call, at)
            parts.append(
                self._part(name, type="tool", tool=call.tool, callID=call.call_id, state=state)
            )
        info = {
            **self._named(name, "assistant"),
            "parentID": self._prompt or name,
            "mode": "build",
            "agent": "build",
            "path": {"cwd": self._handed.cwd, "root": self._handed.cwd},
            "cost": 0,
            "tokens": _NO_TOKENS,
            # If the model were the current one, opencode would send the metadata to the provider.
            "modelID": "handoff",
            "providerID": "handoff",
            "time": {"created": self._ms, "completed": self._ms},
            "finish": "tool-calls" if step.calls else "stop",
        }
        self.messages.append({"info": info, "parts": parts})

    def _named(self, name: str, role: str) -> dict[str, Any]:
        self._ms += 1
        return {"id": name, "sessionID": self.session, "role": role}

    def _part(self, message: str, **fields: Any) -> dict[str, Any]:
        # SDKs of providers expect an object of objects here, and ignore names they do not know.
        mark = {PLACE_OF_MARK: {MARK: self._handed.origin}}
        own = {"id": self._id("prt"), "sessionID": self.session, "messageID": message}
        return {**own, **fields, "metadata": mark}

    def _id(self, kind: str) -> str:
        """Return a new id. It begins with the time, as in opencode, so later ids sort after it."""
        self._made += 1
        order = (self._handed.at * 4096 + self._made) & ((1 << 48) - 1)
        return f"{kind}_{order:012x}{self._handed.new_id(kind, self._made)[:14]}"


def _state(call: handing.HandedCall, at: dict[str, int]) -> dict[str, Any]:
    given = as_object(call)
    if call.failed:
        return {"status": "error", "input": given, "error": call.result, "time": at}
    shown = {"title": call.tool, "metadata": {}, "output": call.result}
    return {"status": "completed", "input": given, **shown, "time": at}
