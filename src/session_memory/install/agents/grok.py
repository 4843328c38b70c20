"""Install in Grok. Its MCP servers are in ``config.toml``. Our hooks are in a file of their own.

Grok also reads the servers and hooks of Claude Code.
"""

from pathlib import Path
from typing import Any

from session_memory.install import plugin_parts
from session_memory.install.agent import NAME, AgentSetup, InstallPlace, PluginFiles, Request
from session_memory.install.errors import InstallError
from session_memory.install.hook_parts import (
    AgentEvent,
    hook_file,
    hook_parts,
    own_names,
    server_words,
)
from session_memory.install.parts import TOML, FileParts, Table, read_values
from session_memory.install.skill import shared_skill
from session_memory.install.target_file import read_text

# Prompt and start hooks run too, but Grok ignores what they print.
EVENTS = {
    # A command that fails fires this event and not PostToolUseFailure.
    "failure": AgentEvent("PostToolUse", "Bash"),
    "end": AgentEvent("SessionEnd"),
}
# The agent whose servers Grok reads.
READ = "claude"
SWITCH = "GROK_CLAUDE_MCPS_ENABLED"
NOTES = (
    "The model calls `use_tool` with `session-memory__recall` and so on.",
    "Grok reads Claude Code's servers and hooks. If Claude Code has the server, it is not written "
    "twice. The hooks are: those of Claude Code do nothing when Grok runs them.",
    "`[compat.claude]` in `~/.grok/config.toml` turns that reading off. Then install again.",
    "As a plugin it has the tools and the skill only: Grok 1.0.41 lists the hooks of a plugin, but "
    "did not run them.",
)


def _directory(place: InstallPlace) -> Path:
    return place.directory("GROK_HOME", ".grok")


def _folder(place: InstallPlace) -> Path:
    return _directory(place) if place.root is None else place.root / ".grok"


def _has_server(place: InstallPlace, request: Request) -> bool:
    """Whether Grok finds the server among those of the other agent."""
    if READ not in request.present or place.environ.get(SWITCH, "").lower() in ("0", "false"):
        return False
    path = _directory(place) / "config.toml"
    try:
        settings: Any = read_values(TOML, read_text(path), path)
    except InstallError:
        # A message says so when the file is edited.
        return True
    for key in ("compat", READ, "mcps"):
        settings = settings.get(key) if isinstance(settings, dict) else None
    return settings is not False


def _files(place: InstallPlace, request: Request) -> list[FileParts]:
    folder = _folder(place)
    table = Table(("mcp_servers", NAME), server_words(request))
    return [
        FileParts(folder / "config.toml", TOML, () if _has_server(place, request) else (table,)),
        *hook_file(folder / "hooks" / f"{NAME}.json", hook_parts("grok", EVENTS, request)),
        *shared_skill(place, request),
    ]


def _advice(place: InstallPlace, request: Request) -> list[str]:
    advice = []
    if _has_server(place, request):
        advice.append("Grok reads Claude Code's servers, so the server is not written twice.")
    if place.root is not None:
        advice.append("Grok reads .grok in folders that you trust: start it with grok --trust.")
    return advice


def _plugin(request: Request) -> PluginFiles:
    return PluginFiles(
        files={
            ".claude-plugin/plugin.json": plugin_parts.manifest(),
            ".mcp.json": plugin_parts.servers(request),
            "hooks/hooks.json": plugin_parts.hooks("grok", EVENTS, request),
        },
        commands=("grok plugin install {plugin} --trust",),
    )


SETUP = AgentSetup(
    "grok",
    "Grok",
    "grok",
    own_names(EVENTS),
    _directory,
    _files,
    _advice,
    reads=(READ,),
    plugin=_plugin,
    notes=NOTES,
)
