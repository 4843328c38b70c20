"""What only the adapters know: how long logs are kept, which versions read them, what is broken."""

import os
from collections.abc import Mapping
from pathlib import Path

from session_memory.adapters.registry import agent_or_substitute, agents, broken_adapters
from session_memory.config import Config, home
from session_memory.core.errors import AdapterFailed


def retention_days(flavor: str, root: Path) -> int | None:
    """After how many days the agent deletes a log it has not written to; None when it never does,
    or when its adapter fails to say."""
    try:
        return agent_or_substitute(flavor).keeps_days(root)
    except Exception:
        # A plugin's failure must not stop the report about all other agents.
        return None


def adapter_versions() -> dict[str, int]:
    """The version of every adapter that can be loaded."""
    return {agent.flavor: agent.version for agent in agents()}


def adapter_problems(config: Config, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Each enabled adapter that cannot be loaded, or cannot say where its logs are, and why."""
    found = broken_adapters()
    for agent in agents():
        try:
            agent.roots(environ, home(environ))
        except Exception as error:
            found[agent.flavor] = str(AdapterFailed(agent.flavor, error))
    return {flavor: why for flavor, why in found.items() if config.source(flavor).enabled}
