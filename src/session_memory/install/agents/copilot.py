"""Copilot CLI: servers in ``mcp-config.json``, hooks in files of their own."""

from pathlib import Path
from typing import Any

from session_memory.install.agent import NAME, AgentSetup, InstallPlace, Request
from session_memory.install.hook_parts import SECONDS, hook_command, server_member, whole_json
from session_memory.install.parts import JSON, FileParts
from session_memory.install.skill import shared_skill

EVENTS = {
    "failure": "postToolUse",
    "prompt": "userPromptSubmitted",
    "start": "sessionStart",
}


def _directory(place: InstallPlace) -> Path:
    return place.directory("COPILOT_HOME", ".copilot")


def _servers(place: InstallPlace) -> Path:
    # .mcp.json works as well, but other agents read it in another form.
    if place.root is not None:
        return place.root / ".github" / "mcp.json"
    return _directory(place) / "mcp-config.json"


def _files(place: InstallPlace, request: Request) -> list[FileParts]:
    server = server_member(request, before={"type": "local"}, after={"tools": ["*"]})
    files = [FileParts(_servers(place), JSON, (server,)), *shared_skill(place, request)]
    # Hooks of a project did not run in tests without a terminal.
    if place.root is not None or not request.hooks:
        return files
    hooks: dict[str, Any] = {
        EVENTS[event]: [
            {
                "type": "command",
                "bash": hook_command("copilot", event, request),
                "timeoutSec": SECONDS,
            }
        ]
        for event in EVENTS
        if event in request.hooks
    }
    path = _directory(place) / "hooks" / f"{NAME}.json"
    return [*files, whole_json(path, {"version": 1, "hooks": hooks}, "hook copilot ")]


def _advice(place: InstallPlace, request: Request) -> list[str]:
    if place.root is None:
        return []
    return [
        "Copilot CLI reads the project's servers in folders that you trust; it asks at the start.",
        "Copilot CLI has no hooks here; install it for the user to have them.",
    ]


SETUP = AgentSetup("copilot", "Copilot CLI", "copilot", tuple(EVENTS), _directory, _files, _advice)
