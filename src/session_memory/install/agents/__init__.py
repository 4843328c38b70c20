"""The agents that can be connected. Each is one module here."""

from functools import cache
from importlib import import_module

from session_memory.install.agent import AgentSetup

NAMES = ("claude", "codex", "grok", "gemini", "qwen", "copilot", "opencode", "pi")


@cache
def setup_of(name: str) -> AgentSetup:
    setup: AgentSetup = import_module(f"{__name__}.{name}").SETUP
    return setup


def setups() -> list[AgentSetup]:
    return [setup_of(name) for name in NAMES]
