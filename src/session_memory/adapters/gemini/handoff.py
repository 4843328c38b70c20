"""Write a session of another agent as a session of Gemini CLI."""

import hashlib
import json
import re
from pathlib import Path, PurePosixPath
from typing import Any

from session_memory.adapters.handing_over import (
    MARK,
    TITLE,
    LineClock,
    as_object,
    json_lines,
    named,
)
from session_memory.core import handing

_PROJECTS = "projects.json"
_ROOT = ".project_root"


def tool(operation: handing.Operation) -> tuple[str, dict[str, Any]]:
    match operation:
        case handing.RunCommand(command):
            return "run_shell_command", {"command": command, "description": TITLE}
        case handing.FileContent(path, content):
            return "write_file", {"file_path": path, "content": content}
        case handing.FileEdit(path, old, new, everywhere):
            given = {"file_path": path, "instruction": "edit", "old_string": old}
            more = {"allow_multiple": True} if everywhere else {}
            return "replace", {**given, "new_string": new, **more}
        case handing.FileRead(path, first, lines):
            last = None if lines is None else (first or 1) + lines - 1
            return "read_file", named(file_path=path, start_line=first, end_line=last)


def make(session: handing.HandedSession, root: Path) -> handing.TargetSession:
    """Return the log of the new session, and the files that register its directory if needed.

    Gemini CLI keeps the sessions of a directory under a short name, which is in ``projects.json``.
    A directory without a name gets one here, as it would when Gemini CLI starts in it.
    """
    name = session.new_uuid("session")
    clock = LineClock(session)
    began = clock.tick()
    header = {
        MARK: session.origin,
        "sessionId": name,
        "projectHash": hashlib.sha256(session.cwd.encode("utf-8", "surrogatepass")).hexdigest(),
        "startTime": began,
        "lastUpdated": began,
        "kind": "main",
    }
    lines: list[dict[str, Any]] = [header]
    for step in session.steps:
        named = {MARK: session.origin, "id": session.new_uuid("line", len(lines))}
        own = {**named, "timestamp": clock.tick()}
        if isinstance(step, handing.HandedAnswer):
            lines.append({**own, "type": "gemini", **_answer(step, clock)})
        else:
            lines.append({**own, "type": "user", "content": [{"text": step.text}]})
    project, files = _project(root, session.cwd)
    file = f"session-{began[:16].replace(':', '-')}-{name[:8]}.jsonl"
    log = handing.NewFile(root / "tmp" / project / "chats" / file, json_lines(lines))
    return handing.TargetSession(name, (*files, log))


def _answer(step: handing.HandedAnswer, clock: LineClock) -> dict[str, Any]:
    answer: dict[str, Any] = {"content": step.text, "thoughts": []}
    if step.calls:
        answer["toolCalls"] = [_call(call, clock.tick()) for call in step.calls]
    return answer


def _call(call: handing.HandedCall, at: str) -> dict[str, Any]:
    named = {"id": call.call_id, "name": call.tool}
    response = {"error" if call.failed else "output": call.result}
    return {
        **named,
        "args": as_object(call),
        "result": [{"functionResponse": {**named, "response": response}}],
        "status": "error" if call.failed else "success",
        "timestamp": at,
        "resultDisplay": call.result,
    }


def _project(root: Path, cwd: str) -> tuple[str, list[handing.NewFile]]:
    """Return the short name of a directory, and the files to write if it has none yet."""
    place = root / _PROJECTS
    try:
        known = json.loads(place.read_bytes())
        projects = known["projects"]
        taken = set(projects.values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        known, projects, taken = {"projects": {}}, {}, set()
    if isinstance(name := projects.get(cwd), str) and _is_name(name):
        return name, []
    base = re.sub(r"[^a-z0-9]+", "-", PurePosixPath(cwd).name.lower()).strip("-") or "project"
    name, number = base, 0
    while name in taken or (root / "tmp" / name).exists():
        number += 1
        name = f"{base}-{number}"
    named = {**known, "projects": {**projects, cwd: name}}
    text = json.dumps(named, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")
    owner = cwd.encode("utf-8", "surrogatepass")
    places = [root / kind / name / _ROOT for kind in ("tmp", "history")]
    return name, [
        handing.NewFile(place, text, is_shared=True),
        *(handing.NewFile(one, owner) for one in places),
    ]


def _is_name(name: str) -> bool:
    return bool(name) and "/" not in name and name not in (".", "..")
