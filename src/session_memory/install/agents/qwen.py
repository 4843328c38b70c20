"""Install in Qwen Code. Its MCP servers and hooks are in ``settings.json``."""

from pathlib import Path

from session_memory.install import plugin_parts
from session_memory.install.agent import AgentSetup, InstallPlace, PluginFiles, Request
from session_memory.install.hook_parts import (
    IN_MILLISECONDS,
    AgentEvent,
    own_names,
    settings_json,
)
from session_memory.install.parts import FileParts
from session_memory.install.skill import shared_skill

EVENTS = {
    "failure": AgentEvent("PostToolUseFailure", "run_shell_command"),
    # SessionEnd does not fire for a session without a terminal. Stop fires after every turn.
    "end": AgentEvent("Stop"),
    "prompt": AgentEvent("UserPromptSubmit"),
    "start": AgentEvent("SessionStart"),
}
NOTES = (
    "The model calls the tools `mcp__session-memory__recall` and so on.",
    '`"trust": true` beside the command would skip its questions. We do not write it.',
)


def _directory(place: InstallPlace) -> Path:
    return place.directory("QWEN_HOME", ".qwen")


def _files(place: InstallPlace, request: Request) -> list[FileParts]:
    folder = _directory(place) if place.root is None else place.root / ".qwen"
    return [
        settings_json(folder, "qwen", EVENTS, request),
        *shared_skill(place, request),
    ]


def _advice(place: InstallPlace, request: Request) -> list[str]:
    advice = ["Qwen Code asks before each call of a tool until you allow the server there."]
    if place.root is not None and request.hooks:
        advice.append("Qwen Code runs the hooks of a project in folders that you trust: /trust.")
    return advice


def _plugin(request: Request) -> PluginFiles:
    return plugin_parts.extension("qwen", EVENTS, request, IN_MILLISECONDS)


SETUP = AgentSetup(
    "qwen",
    "Qwen Code",
    "qwen",
    own_names(EVENTS),
    _directory,
    _files,
    _advice,
    plugin=_plugin,
    notes=NOTES,
)
