"""Install in Claude Code.

Its MCP servers are in ``~/.claude.json`` or ``.mcp.json``, its hooks in ``settings.json``.
"""

from pathlib import Path

from session_memory.install import plugin_parts
from session_memory.install.agent import NAME, AgentSetup, InstallPlace, PluginFiles, Request
from session_memory.install.hook_parts import AgentEvent, hook_parts, own_names, server_member
from session_memory.install.parts import JSON, FileParts
from session_memory.install.skill import skill_in

WHERE = ("session_id", "cwd")
EVENTS = {
    # A command that fails fires this event and not PostToolUse.
    "failure": AgentEvent("PostToolUseFailure", "Bash", (*WHERE, "error", "tool_input.command")),
    "end": AgentEvent("SessionEnd"),
    "prompt": AgentEvent("UserPromptSubmit", None, (*WHERE, "prompt")),
    "start": AgentEvent("SessionStart"),
}
NOTES = (
    "The model calls the tools `mcp__session-memory__recall` and so on; with the plugin "
    "`mcp__plugin_session-memory_session-memory__recall`.",
    "`alwaysLoad` shows the tools to the model in the first request. Without it the model sees "
    "only their names and has to search for them.",
    "Claude Code has an event for commands that fail, so no hook runs after one that succeeds.",
    "With `--through-server` Claude Code asks the running server at an event and starts no "
    "process. Releases that do not know this kind of hook refuse the whole file of settings.",
)


def _directory(place: InstallPlace) -> Path:
    return place.directory("CLAUDE_CONFIG_DIR", ".claude")


def _servers(place: InstallPlace) -> Path:
    if place.root is not None:
        return place.root / ".mcp.json"
    # With the variable, Claude Code keeps this file in that directory too.
    named = place.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(named).expanduser() if named else place.home) / ".claude.json"


def _files(place: InstallPlace, request: Request) -> list[FileParts]:
    folder = _directory(place) if place.root is None else place.root / ".claude"
    # ``alwaysLoad`` shows the tools to the model at once. Otherwise it has to search for them.
    server = server_member(request, before={"type": "stdio"}, after={"alwaysLoad": True})
    hooks = hook_parts("claude", EVENTS, request)
    return [
        FileParts(_servers(place), JSON, (server,)),
        FileParts(folder / "settings.json", JSON, tuple(hooks)),
        *skill_in(folder, request),
    ]


def _advice(place: InstallPlace, request: Request) -> list[str]:
    if place.root is None:
        return []
    return ["Claude Code asks once in this project whether to use the server; answer yes."]


def _plugin(request: Request) -> PluginFiles:
    return PluginFiles(
        files={
            ".claude-plugin/plugin.json": plugin_parts.manifest(author={"name": "Session Memory"}),
            ".mcp.json": plugin_parts.servers(request),
            "hooks/hooks.json": plugin_parts.hooks("claude", EVENTS, request),
        },
        catalogs={".claude-plugin/marketplace.json": plugin_parts.catalog("claude")},
        commands=(
            "claude plugin marketplace add {dir}",
            f"claude plugin install {NAME}@{plugin_parts.MARKET}",
        ),
    )


SETUP = AgentSetup(
    "claude",
    "Claude Code",
    "claude",
    own_names(EVENTS),
    _directory,
    _files,
    _advice,
    plugin=_plugin,
    notes=NOTES,
)
