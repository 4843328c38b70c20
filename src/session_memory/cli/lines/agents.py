"""Remarks about agents whose adapter is missing, too old or broken."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from session_memory.cli.kit.output import remark

if TYPE_CHECKING:
    from session_memory.cli.kit.settings import Settings


def remark_skipped(settings: "Settings", skipped: Mapping[str, str]) -> None:
    """Print, for each agent in ``skipped`` (name: reason), why its sessions were not rebuilt."""
    for flavor, reason in sorted(skipped.items()):
        remark(settings, f"Sessions of {flavor} were left as they are: {reason}.")
