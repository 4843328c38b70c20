"""The detectors of the adapters, for packages that must not import an adapter.

An analysis asks several times what a command runs, so the latest answers are kept.
"""

from functools import lru_cache
from typing import Any

from session_memory.adapters.detectors import TestResult, is_soft_correction, test_result
from session_memory.adapters.detectors.calls import is_script_without_shell, shell_text
from session_memory.adapters.detectors.commits import arrived, given_subjects, logged_commits
from session_memory.adapters.detectors.programs import Program
from session_memory.adapters.detectors.programs import programs as programs_in
from session_memory.adapters.detectors.shell import EXAMINED, SimpleCommand
from session_memory.adapters.detectors.shell import simple_commands as simple_commands_in
from session_memory.adapters.operations import operations_of

__all__ = [
    "EXAMINED",
    "Program",
    "SimpleCommand",
    "TestResult",
    "arrived",
    "command_of",
    "given_subjects",
    "is_script_without_shell",
    "is_shell",
    "is_soft_correction",
    "logged_commits",
    "operations_of",
    "programs",
    "simple_commands",
    "test_result",
]


MOST_KEPT = 500


@lru_cache(maxsize=MOST_KEPT)
def programs(text: str) -> tuple[Program, ...]:
    """Every program in a shell text. The result is cached, so do not change it."""
    return tuple(programs_in(text))


@lru_cache(maxsize=MOST_KEPT)
def simple_commands(text: str) -> tuple[SimpleCommand, ...]:
    """The simple commands of a shell text. The result is cached, so do not change it."""
    return tuple(simple_commands_in(text))


def command_of(tool: str, arguments: Any) -> str | None:
    """The text that a call gives to a shell; None for other calls."""
    return shell_text(tool, arguments)


def is_shell(tool: str) -> bool:
    """Whether a tool runs shell commands."""
    return shell_text(tool, {"command": "true"}) is not None
