"""Install in Copilot CLI.

Its MCP servers are in ``mcp-config.json``. Our hooks are in a file of their own.
"""

from pathlib import Path
from typing import Any

from session_memory.install import plugin_parts
from session_memory.install.agent import NAME, AgentSetup, InstallPlace, PluginFiles, Request
from session_memory.install.hook_parts import (
    SECONDS,
    AgentEvent,
    hook_command,
    own_names,
    server_member,
    whole_json,
)
from session_memory.install.parts import JSON, FileParts
from session_memory.install.skill import shared_skill

EVENTS = {
    "failure": AgentEvent("postToolUse", "bash"),
    "end": AgentEvent("sessionEnd"),
    "prompt": AgentEvent("userPromptSubmitted"),
    "start": AgentEvent("sessionStart"),
}
NOTES = (
    "The model calls the tools `session-memory-recall` and so on.",
    "In a project the server is in `.github/mcp.json`: other agents read `.mcp.json` in another "
    "form.",
)


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
    if not request.hooks:
        return files
    hooks = {
        named.name: [_hook(event, named.matcher, request)]
        for event, named in EVENTS.items()
        if event in request.hooks
    }
    folder = _directory(place) if place.root is None else place.root / ".github"
    path = folder / "hooks" / f"{NAME}.json"
    return [*files, whole_json(path, {"version": 1, "hooks": hooks}, "hook copilot ")]


def _hook(event: str, matcher: str | None, request: Request) -> dict[str, Any]:
    """A hook in the form of Copilot CLI."""
    command = hook_command("copilot", event, request)
    limited = {} if matcher is None else {"matcher": matcher}
    return {"type": "command", **limited, "bash": command, "timeoutSec": SECONDS}


def _advice(place: InstallPlace, request: Request) -> list[str]:
    if place.root is None:
        return []
    what = "servers and hooks" if request.hooks else "servers"
    return [
        f"Copilot CLI reads a project's {what} in folders that you trust; it asks at the start."
    ]


def _plugin(request: Request) -> PluginFiles:
    # Hooks of plugins are read in the form of Claude Code, with its names of events and tools.
    events = {
        "failure": AgentEvent("PostToolUse", "Bash"),
        "end": AgentEvent("SessionEnd"),
        "prompt": AgentEvent("UserPromptSubmit"),
        "start": AgentEvent("SessionStart"),
    }
    return PluginFiles(
        files={
            "plugin.json": plugin_parts.manifest(),
            ".mcp.json": plugin_parts.servers(request),
            "hooks/hooks.json": plugin_parts.hooks("copilot", events, request),
        },
        catalogs={".github/plugin/marketplace.json": plugin_parts.catalog("copilot")},
        commands=(
            "copilot plugin marketplace add {dir}",
            f"copilot plugin install {NAME}@{plugin_parts.MARKET}",
        ),
    )


SETUP = AgentSetup(
    "copilot",
    "Copilot CLI",
    "copilot",
    own_names(EVENTS),
    _directory,
    _files,
    _advice,
    plugin=_plugin,
    notes=NOTES,
)
