"""Install in opencode. Its MCP servers are in ``opencode.json``.

It has no hooks, so we install a plugin in JavaScript.
"""

from pathlib import Path

from session_memory.install.agent import NAME, AgentSetup, InstallPlace, Request
from session_memory.install.parts import JSON, WHOLE, FileParts, Member
from session_memory.install.plugin_file import plugin_file
from session_memory.install.skill import shared_skill

EVENTS = {"failure": "tool.execute.after", "end": "session.idle", "prompt": "chat.message"}
NOTES = (
    "The model calls the tools `session-memory_recall` and so on.",
    "If there is an `opencode.jsonc`, the server is written there.",
    "A plugin makes opencode load its plugin library at the start. Without a network that takes "
    "a minute; `--hooks none` installs no plugin.",
)


def _directory(place: InstallPlace) -> Path:
    return place.directory("XDG_CONFIG_HOME", ".config") / "opencode"


def _settings(place: InstallPlace, request: Request) -> list[Path]:
    """Return the settings file that opencode uses; with ``is_complete`` all that it may use."""
    folder = _directory(place) if place.root is None else place.root
    plain, commented = folder / "opencode.json", folder / "opencode.jsonc"
    if request.is_complete:
        return [plain, commented]
    return [commented if commented.exists() else plain]


def _files(place: InstallPlace, request: Request) -> list[FileParts]:
    value = {"type": "local", "command": request.call("mcp"), "enabled": True}
    server = Member(("mcp", NAME), value)
    folder = _directory(place) if place.root is None else place.root / ".opencode"
    files = [FileParts(path, JSON, (server,)) for path in _settings(place, request)]
    if request.hooks:
        plugin = plugin_file("opencode_plugin.js", "opencode", request)
        files.append(FileParts(folder / "plugins" / f"{NAME}.js", WHOLE, (plugin,)))
    return [*files, *shared_skill(place, request)]


def _advice(place: InstallPlace, request: Request) -> list[str]:
    if not request.hooks:
        return []
    return ["opencode downloads its plugin library at the first start with a plugin."]


SETUP = AgentSetup(
    "opencode", "opencode", "opencode", EVENTS, _directory, _files, _advice, notes=NOTES
)
