"""Recognize shell texts that show less than their commands print, or hide that a command failed."""

import re
import warnings

from session_memory.derive.detecting import simple_commands

_CUTTING = (["head"], ["tail"], ["grep"], ["rg"], ["egrep"])
_SEARCHING = (["grep"], ["egrep"], ["rg"])
# Words that a filter for all errors looks for.
_FAILING = "error Error ERROR fail Fail FAIL failed FAILED not ok ✗ ✘ × ● ✕ ❌ warning Exception"
_HIDING_END = 300
_HIDING_SIGNS = ("||", ";")
_HIDING = re.compile(
    r"""(?:\|\|\s*(?:true|:|exit\ 0|(?:echo|printf)\b[^|;&]*)|;\s*(?:true|:))[\s)}]*$"""
)


def hides_failure(text: str) -> bool:
    """Whether a shell text hides a failure of its commands, as ``ls x || echo missing`` does."""
    end = text[-_HIDING_END:]
    return any(sign in end for sign in _HIDING_SIGNS) and _HIDING.search(end) is not None


def cuts_output(text: str) -> bool:
    """Whether a shell text shows only a part of what its commands print: ``make lint | head``."""
    commands = simple_commands(text)
    return len(commands) > 1 and "|" in text and commands[-1].words[:1] in _CUTTING


def filters_out(text: str, error: str) -> bool:
    """Whether a ``grep`` in a shell text hides an error from its output.

    ``tsc | grep -v TS2322`` hides errors with this code, ``tsc | grep cart`` those of other files.
    """
    if "grep" not in text and "rg" not in text:
        return False
    return any(
        _hides(command.words[1:], error)
        for command in simple_commands(text)[1:]
        if command.words[:1] in _SEARCHING and not command.reads
    )


def _hides(words: list[str], error: str) -> bool:
    options = [word for word in words if word.startswith("-")]
    patterns = [word for word in words if not word.startswith("-")]
    if len(patterns) != 1:
        # A search in files prints nothing of what another command printed.
        return False
    short = "".join(option for option in options if not option.startswith("--"))
    try:
        # Python warns of some patterns that grep knows, such as "[[:digit:]]".
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            given = patterns[0].replace("\\|", "|")
            pattern = re.compile(given, re.IGNORECASE if "i" in short else 0)
    except re.error:
        return False
    is_found = pattern.search(error) is not None
    return is_found if "v" in short else not is_found and pattern.search(_FAILING) is None
