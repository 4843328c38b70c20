"""What only the agents themselves know: how long they keep their logs, and who reads them."""

import json
from pathlib import Path

from session_memory.adapters.registry import adapter, flavors

CLAUDE_KEEPS_DAYS = 30


def retention_days(flavor: str, root: Path) -> int | None:
    """After how many days the agent deletes a log it has not written to; ``None``: never told."""
    if flavor != "claude":
        return None
    for directory in (root, root / ".claude"):
        try:
            days = json.loads((directory / "settings.json").read_bytes()).get("cleanupPeriodDays")
        except (OSError, ValueError, AttributeError):
            continue
        if isinstance(days, int) and days > 0:
            return days
    return CLAUDE_KEEPS_DAYS


def adapter_versions() -> dict[str, int]:
    return {flavor: adapter(flavor).VERSION for flavor in flavors()}
