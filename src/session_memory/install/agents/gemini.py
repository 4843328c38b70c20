"""Install in Gemini CLI. Its MCP servers and hooks are in ``settings.json``.

Timeouts of its hooks are in milliseconds.
"""

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
    "failure": AgentEvent("AfterTool", "run_shell_command"),
    "end": AgentEvent("SessionEnd"),
    "prompt": AgentEvent("BeforeAgent"),
    "start": AgentEvent("SessionStart"),
}
NOTES = (
    "The model calls the tools `mcp_session-memory_recall` and so on.",
    '`"trust": true` beside the command would skip its questions. We do not write it.',
)


def _directory(place: InstallPlace) -> Path:
    return place.directory("GEMINI_CLI_HOME", "") / ".gemini"


def _files(place: InstallPlace, request: Request) -> list[FileParts]:
    folder = _directory(place) if place.root is None else place.root / ".gemini"
    return [
        settings_json(folder, "gemini", EVENTS, request),
        *shared_skill(place, request),
    ]


def _advice(place: InstallPlace, request: Request) -> list[str]:
    advice = ["Gemini CLI asks before each call of a tool until you allow the server there."]
    if place.root is not None:
        advice.append("Gemini CLI reads .gemini in folders that you trust: /permissions trust.")
    return advice


def _plugin(request: Request) -> PluginFiles:
    return plugin_parts.extension("gemini", EVENTS, request, IN_MILLISECONDS)


SETUP = AgentSetup(
    "gemini",
    "Gemini CLI",
    "gemini",
    own_names(EVENTS),
    _directory,
    _files,
    _advice,
    plugin=_plugin,
    notes=NOTES,
)
