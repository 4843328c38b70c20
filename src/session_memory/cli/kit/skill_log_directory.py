"""The option ``--dir`` of the skill commands, and the logs in that directory."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.settings import Settings

if TYPE_CHECKING:
    from session_memory.live.skill_log import SkillLog


def directory_option(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--dir",
        "directory",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="The directory of the skill logs; by default the first one that sync reads.",
    )(function)


def opened_log(settings: Settings, directory: Path | None) -> "SkillLog":
    """Open the skill log in ``directory``, by default the first one where ``sync`` collects it."""
    from session_memory.collect.discover import roots
    from session_memory.live.skill_log import SkillLog

    return SkillLog(directory or roots(settings.configuration(), only=("skill",))[0].path)
