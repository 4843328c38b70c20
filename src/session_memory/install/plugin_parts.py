"""Make what plugins of several agents share: their manifests, servers and hooks."""

from typing import Any

from session_memory import __version__
from session_memory.install.agent import NAME, PluginFiles, Request
from session_memory.install.hook_parts import (
    SECONDS,
    AgentEvent,
    hook_parts,
    server_words,
)

DESCRIPTION = "Recall what earlier coding sessions did: known fixes, decisions, changes, cost."
# The name that agents show for the folder when it is added as a marketplace.
MARKET = "session-memory-local"


def manifest(**more: Any) -> dict[str, Any]:
    """Return the manifest of a plugin: name, version and description, and ``more`` fields."""
    return {"name": NAME, "version": __version__, "description": DESCRIPTION, **more}


def catalog(agent: str) -> dict[str, Any]:
    """Return the catalogue of the folder in the form that Claude Code introduced."""
    entry = {**manifest(), "source": f"./plugins/{agent}"}
    owner = {"name": "Session Memory"}
    return {"name": MARKET, "description": DESCRIPTION, "owner": owner, "plugins": [entry]}


def servers(request: Request) -> dict[str, Any]:
    return {"mcpServers": {NAME: server_words(request)}}


def extension(
    agent: str, events: dict[str, AgentEvent], request: Request, timeout: int
) -> PluginFiles:
    """Return an extension: that is what Gemini CLI and Qwen Code call a plugin."""
    return PluginFiles(
        files={
            f"{agent}-extension.json": manifest(**servers(request)),
            "hooks/hooks.json": hooks(agent, events, request, timeout),
        },
        commands=(f"{agent} extensions install {{plugin}}",),
    )


def hooks(
    agent: str, names: dict[str, AgentEvent], request: Request, timeout: int = SECONDS
) -> dict[str, Any]:
    parts = hook_parts(agent, names, request, timeout)
    return {"hooks": {part.path[-1]: [part.value] for part in parts}}
