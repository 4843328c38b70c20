"""What only the adapters know: how long logs are kept, which versions read them, what is broken."""

import os
from collections.abc import Mapping
from pathlib import Path

from session_memory.adapters.registry import (
    agent_or_substitute,
    agents,
    broken_adapters,
    failing_functions,
)
from session_memory.collect.discover import declared_roots
from session_memory.config import Config
from session_memory.core.errors import AdapterFailed


def retention_days(flavor: str, root: Path) -> int | None:
    """After how many days the agent deletes a log it has not written to; None when it never does,
    or when its adapter fails to say."""
    return agent_or_substitute(flavor).keeps_days(root)


def adapter_versions() -> dict[str, int]:
    """The version of every adapter that can be loaded."""
    return {agent.flavor: agent.version for agent in agents()}


def adapter_problems(config: Config, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Each enabled adapter that is broken, or has a function that fails, with the reason.

    If a package announces an adapter that is not used, the key is the name of the package.
    """
    found = broken_adapters() | failing_functions()
    for agent in agents():
        try:
            declared_roots(agent, environ)
        except AdapterFailed as failure:
            others = found.get(agent.flavor)
            found[agent.flavor] = f"{failure}; {others}" if others else str(failure)
    return {flavor: why for flavor, why in found.items() if config.source(flavor).enabled}
