"""Install in pi. It has neither MCP servers nor hooks, so we install an extension in TypeScript."""

from pathlib import Path

from session_memory.install.agent import NAME, AgentSetup, InstallPlace, Request
from session_memory.install.parts import WHOLE, FileParts
from session_memory.install.plugin_file import plugin_file
from session_memory.install.skill import shared_skill
from session_memory.mcp.catalog import TOOLS

EVENTS = {
    "failure": "tool_result",
    "end": "session_shutdown",
    "prompt": "before_agent_start",
    "start": "before_agent_start",
}
NOTES = (
    "The model calls the tools `recall`, `fix`, `show`, `sessions`, `why`, `handoff` and `cost`.",
    "The extension starts `session-memory mcp` with the first question. It ends with pi.",
)


def _directory(place: InstallPlace) -> Path:
    return place.directory("PI_CODING_AGENT_DIR", ".pi/agent")


def _files(place: InstallPlace, request: Request) -> list[FileParts]:
    folder = _directory(place) if place.root is None else place.root / ".pi"
    extension = plugin_file("pi_extension.ts", "pi", request, TOOLS=TOOLS)
    path = folder / "extensions" / f"{NAME}.ts"
    return [FileParts(path, WHOLE, (extension,)), *shared_skill(place, request)]


def _advice(place: InstallPlace, request: Request) -> list[str]:
    if place.root is None:
        return []
    return ["pi reads .pi in folders that you trust; it asks at the start."]


SETUP = AgentSetup("pi", "pi", "pi", EVENTS, _directory, _files, _advice, notes=NOTES)
