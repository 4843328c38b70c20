"""Remarks about adapters that do not work. A broken adapter never fails a command."""

import sys
from collections.abc import Mapping

from session_memory.cli.kit.output import remark
from session_memory.cli.kit.settings import Settings


def remark_adapters(settings: Settings, problems: Mapping[str, str]) -> None:
    """Name adapters with a problem, each once in a run, and say what to do."""
    from session_memory.core.errors import AdapterFailed

    new = {name: reason for name, reason in problems.items() if name not in settings.named_adapters}
    settings.named_adapters.update(new)
    for _, reason in sorted(new.items()):
        remark(settings, f"warning: {reason}")
    if new:
        remark(settings, f"hint: {AdapterFailed.hint}")


def remark_used_adapters(settings: Settings) -> None:
    """Name the adapters that this command needed and that are missing or failed."""
    # Only a command that asks about agents imports these, and few do.
    if readers := sys.modules.get("session_memory.derive.readers"):
        for store in settings.opened_stores:
            for flavor, reason in sorted(readers.substituted(store).items()):
                remark(settings, f"Records of {flavor} were read without its adapter: {reason}.")
    if agents := sys.modules.get("session_memory.derive.agents"):
        remark_adapters(settings, agents.noted_failures())
