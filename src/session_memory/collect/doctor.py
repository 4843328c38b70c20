"""What only the agents themselves know: how long they keep their logs, and who reads them."""

from pathlib import Path

from session_memory.adapters.registry import agent_or_substitute, agents


def retention_days(flavor: str, root: Path) -> int | None:
    """After how many days the agent deletes a log it has not written to; ``None``: never."""
    return agent_or_substitute(flavor).keeps_days(root)


def adapter_versions() -> dict[str, int]:
    return {agent.flavor: agent.version for agent in agents()}
