"""Tell whether a shell text runs tests, and which file it edits.

Both functions are called for every command of every session, so they first search the text for a
few words. Only a text with one of them is split into commands.
"""

import re
from collections.abc import Callable

from session_memory.core.lazy_patterns import lazy_pattern

from .programs import Program, programs
from .runners import RUNNERS, after_flags, without_values
from .shell import EXAMINED


def is_test_run(command: str) -> bool:
    """Whether a shell text runs tests. A text that only lists, compiles or mentions tests does
    not."""
    return _may_run_tests(command) and any(map(_runs_tests, programs(command)))


def shell_edit(command: str) -> str | None:
    """Return the path of the file that a shell text edits: "" if the path is unknown, None if the
    text edits nothing."""
    if not _may_edit(command):
        return None
    if command.lstrip().startswith("*** Begin Patch"):
        return _patched(command)
    paths = [path for path in map(_edited, programs(command)) if path is not None]
    return next(filter(None, paths), "") if paths else None


def _may_run_tests(text: str) -> bool:
    # A chain of `in` takes a quarter of the time of one regular expression with these words.
    if len(text) > EXAMINED:
        text = text[:EXAMINED]
    return (
        "est" in text
        or "make" in text
        or "mise" in text
        or "rspec" in text
        or "rake" in text
        or "mvn" in text
        or "tox" in text
        or "nox" in text
        or "nose2" in text
        or "mocha" in text
        or "ava" in text
        or "cypress" in text
        or "ginkgo" in text
        or "phpunit" in text
        or "bats" in text
        or "busted" in text
    )


def _may_edit(text: str) -> bool:
    if len(text) > EXAMINED:
        text = text[:EXAMINED]
    return (
        "<<" in text
        or "sed" in text
        or "perl" in text
        or "tee" in text
        or "atch" in text
        or " apply" in text
    )


def _runs_tests(program: Program) -> bool:
    runner = RUNNERS.get(program.name)
    return runner is not None and runner.runs(program.arguments)


def _edited(program: Program) -> str | None:
    editor = _EDITORS.get(program.name)
    return editor(program) if editor else None


def _edited_by_cat(program: Program) -> str | None:
    command = program.command
    if command.heredoc is None or not command.writes:
        return None
    return _visible(command.writes[-1])


def _edited_by_tee(program: Program) -> str | None:
    files = [word for word in program.arguments if not word.startswith("-")]
    if program.command.heredoc is None:
        # Saving the output of a command in a log is no edit of the project.
        files = [file for file in files if not file.endswith(".log") and file[:5] != "/tmp/"]
    return _visible(files[0]) if files else None


def _edited_by_sed(program: Program) -> str | None:
    arguments = program.arguments
    if not any(map(_SED_IN_PLACE.match, arguments)):
        return None
    valued = frozenset(filter(_SED_SCRIPT.fullmatch, arguments))
    words = without_values(arguments, valued)
    # BSD's `-i ''` has its suffix as a separate word.
    plain = [word for word in words if word and not word.startswith("-")]
    return _visible_first(plain if valued else plain[1:])


def _edited_by_perl(program: Program) -> str | None:
    arguments = program.arguments
    if not any(map(_PERL_IN_PLACE.match, arguments)):
        return None
    valued = frozenset(filter(_PERL_SCRIPT.fullmatch, arguments))
    plain = [word for word in without_values(arguments, valued) if not word.startswith("-")]
    return _visible_first(plain if valued else plain[1:])


def _edited_by_git(program: Program) -> str | None:
    verb = after_flags(program.arguments, _GIT_VALUED)
    if program.arguments[verb : verb + 1] != ["apply"]:
        return None
    return None if _DRY.intersection(program.arguments) else _patched(_text_of(program))


def _edited_by_patch(program: Program) -> str | None:
    if _DRY.intersection(program.arguments):
        return None
    words = without_values(program.arguments, _PATCH_VALUED)
    plain = [word for word in words if not word.startswith("-")]
    return _visible(plain[0]) if plain else _patched(_text_of(program))


def _edited_by_apply_patch(program: Program) -> str | None:
    text = _text_of(program)
    return _patched(text) if text or program.command.reads else None


def _text_of(program: Program) -> str:
    return program.command.heredoc or next((a for a in program.arguments if "\n" in a), "")


def _patched(text: str) -> str:
    found = _PATCHED_FILE.search(text, 0, EXAMINED)
    return (_visible(found[1]) or "") if found else ""


def _visible_first(words: list[str]) -> str | None:
    return _visible(words[0]) if words else ""


def _visible(path: str) -> str | None:
    """Return a path in a form that can be shown: None for a device, "" for a path that depends on a
    variable."""
    if path.startswith("/dev/"):
        return None
    return "" if "$" in path or path == "{}" or "\n" in path else path.strip()


_SED_IN_PLACE = lazy_pattern(r"-[nErsuz]*i|--in-place")
_SED_SCRIPT = lazy_pattern(r"-[nErsuz]*[ef]|--expression|--file")
_PERL_IN_PLACE = lazy_pattern(r"-[pnlaws0-7]*i")
_PERL_SCRIPT = lazy_pattern(r"-[\w.]*[eE]")
_GIT_VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree"})
_PATCH_VALUED = frozenset({"-i", "--input", "-d", "--directory", "-o", "-p"})
_DRY = frozenset({"--check", "--dry-run", "--stat", "--numstat", "--summary", "--help"})
# `*** Update File:` of Codex's own format, `+++ b/` of a unified diff.
_PATCHED_FILE = lazy_pattern(
    r"^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b/)?)(\S[^\t\n]*)", re.MULTILINE
)

_EDITORS: dict[str, Callable[[Program], str | None]] = {
    "cat": _edited_by_cat,
    "tee": _edited_by_tee,
    "sed": _edited_by_sed,
    "gsed": _edited_by_sed,
    "perl": _edited_by_perl,
    "git": _edited_by_git,
    "patch": _edited_by_patch,
    "apply_patch": _edited_by_apply_patch,
    "applypatch": _edited_by_apply_patch,
}
