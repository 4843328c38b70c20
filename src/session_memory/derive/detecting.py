"""The detectors of the adapters, for rooms that must not import an adapter."""

from typing import Any

from session_memory.adapters.detectors import TestResult, is_soft_correction, test_result
from session_memory.adapters.detectors.calls import shell_text
from session_memory.adapters.detectors.commits import arrived, given_subjects, logged_commits
from session_memory.adapters.detectors.programs import Program, programs
from session_memory.adapters.detectors.shell import SimpleCommand, simple_commands

__all__ = [
    "Program",
    "SimpleCommand",
    "TestResult",
    "arrived",
    "command_of",
    "given_subjects",
    "is_shell",
    "is_soft_correction",
    "logged_commits",
    "programs",
    "simple_commands",
    "test_result",
]


def command_of(tool: str, arguments: Any) -> str | None:
    """The text that a call gives to a shell; None for other calls."""
    return shell_text(tool, arguments)


def is_shell(tool: str) -> bool:
    """Whether a tool runs shell commands."""
    return shell_text(tool, {"command": "true"}) is not None
