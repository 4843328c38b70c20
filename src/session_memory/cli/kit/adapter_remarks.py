"""Print remarks about adapters that are missing or fail."""

import sys
from collections.abc import Mapping

from session_memory.cli.kit.output import remark
from session_memory.cli.kit.settings import Settings


def remark_adapters(settings: Settings, problems: Mapping[str, str]) -> None:
    """Print a warning for each adapter in ``problems`` (name: reason), once a run, and a hint."""
    from session_memory.core.errors import AdapterFailed

    new = {name: reason for name, reason in problems.items() if name not in settings.named_adapters}
    settings.named_adapters.update(new)
    for _, reason in sorted(new.items()):
        remark(settings, f"warning: {reason}")
    if new:
        remark(settings, f"hint: {AdapterFailed.hint}")


def remark_used_adapters(settings: Settings) -> None:
    """Print a remark for each adapter that this command needed and that is missing or failed."""
    # If a module is not imported yet, the command has asked no adapter.
    if readers := sys.modules.get("session_memory.derive.readers"):
        for store in settings.opened_stores:
            for flavor, reason in sorted(readers.substituted(store).items()):
                remark(settings, f"Records of {flavor} were read without its adapter: {reason}.")
    if agents := sys.modules.get("session_memory.derive.agents"):
        remark_adapters(settings, agents.noted_failures())
