"""Recognize shell texts that show less than their commands print, or hide that a command failed."""

import re

from session_memory.derive.detecting import simple_commands

_CUTTING = (["head"], ["tail"], ["grep"], ["rg"], ["egrep"])
_SEARCHING = (["grep"], ["egrep"], ["rg"])
# Words that a filter for all errors looks for.
_FAILING = "error Error ERROR fail Fail FAIL failed FAILED not ok ✗ ✘ × ● ✕ ❌ warning Exception"
_OR = re.compile(r"\\?\|")
_SPECIAL = re.compile(r"[][\\*+?(){}]")
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
    wanted = _literals(patterns[0])
    if not wanted:
        return False
    if "i" in short:
        wanted, error, failing = [one.lower() for one in wanted], error.lower(), _FAILING.lower()
    else:
        failing = _FAILING
    is_found = any(one in error for one in wanted)
    return is_found if "v" in short else not is_found and not any(one in failing for one in wanted)


def _literals(pattern: str) -> list[str]:
    """Return the texts that a pattern such as ``cart|order`` looks for; none if it is not so plain.

    A pattern in a log is never run as a regular expression: a hostile one would run for ever.
    """
    parts = [part.strip("^$") for part in _OR.split(pattern)]
    return [] if any(not part or _SPECIAL.search(part) for part in parts) else parts
