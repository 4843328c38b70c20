"""Codex: servers in ``config.toml``, hooks in ``hooks.json``."""

from pathlib import Path

from session_memory.install.agent import NAME, AgentSetup, InstallPlace, Request
from session_memory.install.hook_parts import AgentEvent, hook_parts, server_words
from session_memory.install.parts import JSON, TOML, FileParts, Table
from session_memory.install.skill import shared_skill

EVENTS = {
    "failure": AgentEvent("PostToolUse", "Bash"),
    "end": AgentEvent("SessionEnd"),
    "prompt": AgentEvent("UserPromptSubmit"),
    "start": AgentEvent("SessionStart"),
}


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


SETUP = AgentSetup("codex", "Codex", "codex", tuple(EVENTS), _directory, _files, _advice)
