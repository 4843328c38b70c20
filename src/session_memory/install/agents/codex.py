"""Install in Codex. Its MCP servers are in ``config.toml``, its hooks in ``hooks.json``."""

from pathlib import Path

from session_memory.install import plugin_parts
from session_memory.install.agent import NAME, AgentSetup, InstallPlace, PluginFiles, Request
from session_memory.install.hook_parts import AgentEvent, hook_parts, own_names, server_words
from session_memory.install.parts import JSON, TOML, FileParts, Table
from session_memory.install.skill import shared_skill

EVENTS = {
    "failure": AgentEvent("PostToolUse", "Bash"),
    "end": AgentEvent("SessionEnd"),
    "prompt": AgentEvent("UserPromptSubmit"),
    "start": AgentEvent("SessionStart"),
}
NOTES = (
    "The model finds the tools in the namespace `mcp__session_memory`.",
    "Codex runs the hook `failure` after every command, because it has no event for failures.",
    "Codex notes the hooks that you trust by their place in the file, so ours is the last there.",
)


def _directory(place: InstallPlace) -> Path:
    return place.directory("CODEX_HOME", ".codex")


def _files(place: InstallPlace, request: Request) -> list[FileParts]:
    folder = _directory(place) if place.root is None else place.root / ".codex"
    table = Table(("mcp_servers", NAME), server_words(request))
    hooks = hook_parts("codex", EVENTS, request)
    return [
        FileParts(folder / "config.toml", TOML, (table,)),
        FileParts(folder / "hooks.json", JSON, tuple(hooks)),
        *shared_skill(place, request),
    ]


def _advice(place: InstallPlace, request: Request) -> list[str]:
    advice = []
    if place.root is not None:
        advice.append("Codex reads .codex in projects that you trust; it asks when it starts.")
    if request.hooks:
        advice.append("Codex runs hooks only after you reviewed them once: start codex, /hooks.")
    return advice


def _plugin(request: Request) -> PluginFiles:
    paths = {"skills": "./skills/", "mcpServers": "./.mcp.json", "hooks": "./hooks/hooks.json"}
    entry = {
        "name": NAME,
        "source": {"source": "local", "path": "./plugins/codex"},
        "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
        "category": "Productivity",
    }
    market = {"name": plugin_parts.MARKET, "interface": {"displayName": "Session Memory"}}
    return PluginFiles(
        files={
            ".codex-plugin/plugin.json": plugin_parts.manifest(**paths),
            ".mcp.json": plugin_parts.servers(request),
            "hooks/hooks.json": plugin_parts.hooks("codex", EVENTS, request),
        },
        catalogs={".agents/plugins/marketplace.json": {**market, "plugins": [entry]}},
        commands=(
            "codex plugin marketplace add {dir}",
            f"codex plugin add {NAME}@{plugin_parts.MARKET}",
        ),
    )


SETUP = AgentSetup(
    "codex",
    "Codex",
    "codex",
    own_names(EVENTS),
    _directory,
    _files,
    _advice,
    plugin=_plugin,
    notes=NOTES,
)
