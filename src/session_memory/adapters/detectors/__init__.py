"""Functions that classify commands, calls, results and prompts. Adapters of all agents use them.

They tell, for example, whether a shell command runs tests, and whether the tests passed.
"""

from .calls import best_argument, call_key, is_edit_tool, is_shell_tool, shell_text
from .commands import is_test_run, shell_edit
from .corrections import is_soft_correction
from .results import TestResult, test_result

__all__ = [
    "TestResult",
    "call_key",
    "is_edit_tool",
    "is_shell_tool",
    "is_soft_correction",
    "is_test_run",
    "best_argument",
    "shell_edit",
    "shell_text",
    "test_result",
]
