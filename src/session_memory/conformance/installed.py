"""What a registry installed."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Installed:
    """An agent that is there, or why it is not. `remark` tells of releases that do not install."""

    program: Path | None
    version: str
    remark: str = ""
