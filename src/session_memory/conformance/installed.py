"""The result of installing an agent from npm or PyPI."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Installed:
    """An installed agent; `program` is None if it could not be installed.

    `remark` says which releases could not be installed, and why.
    """

    program: Path | None
    version: str
    remark: str = ""
