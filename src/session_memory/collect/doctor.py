"""Ask the adapters how long agents keep logs, which version they have, and what is broken."""

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
    """Return after how many days an agent deletes a log that it no longer writes to.

    None: it never does, or its adapter fails.
    """
    return agent_or_substitute(flavor).keeps_days(root)


def adapter_versions() -> dict[str, int]:
    """The version of every adapter that can be loaded."""
    return {agent.flavor: agent.version for agent in agents()}


def adapter_problems(config: Config, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the reason for each enabled adapter that is broken or has a failing function.

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
