"""Find the programs that a shell text starts, also through ``sudo``, ``uv run`` or ``bash -c``."""

from collections.abc import Iterator
from itertools import dropwhile
from typing import NamedTuple

from session_memory.core.lazy_patterns import lazy_pattern

from .runners import (
    LEADING_FLAGS,
    NO_FLAGS,
    PREFIXES,
    RUNNERS,
    TAKES_NAMES,
    WRAPPERS,
    after_flags,
    program_name,
)
from .shell import SimpleCommand, simple_commands

_MAX_WRAPPERS = 8
_MAX_SHELLS = 3
_ASSIGNMENT = lazy_pattern(r"[A-Za-z_]\w*\+?=")
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish", "pwsh", "powershell"})
_SCRIPT_FLAG = lazy_pattern(r"-\w*c|-(?i:command)")
# A variable as the first word of a command is nearly always an interpreter.
_PYTHON = lazy_pattern(r"(?:python|pypy|py)[\d.]*w?|\$.*")
_PYTHON_VALUED = frozenset({"-W", "-X", "--source", "--rcfile", "--omit", "--include"})
_MODULE_FLAG = lazy_pattern(r"-[A-Za-z]*m")
_NODE_VALUED = frozenset({"--import", "-r", "--require", "--loader", "--env-file", "-C"})


class Program(NamedTuple):
    """A program with its arguments, and the simple command that it is part of."""

    name: str
    arguments: list[str]
    command: SimpleCommand


def programs(text: str, depth: int = 0) -> Iterator[Program]:
    """Yield every program that the shell text ``text`` starts. A wrapper such as ``sudo`` comes
    before the program that it starts."""
    for command in simple_commands(text):
        for name, arguments in _unwrapped(command.words):
            yield Program(name, arguments, command)
            if name in _SHELLS and depth < _MAX_SHELLS:
                yield from programs(_script(arguments), depth + 1)


def _unwrapped(words: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and arguments of a command, then those without its first wrapper, then
    without the next wrapper, and so on."""
    wrapper_may_be_unknown = True
    for _ in range(_MAX_WRAPPERS):
        words = list(dropwhile(_ASSIGNMENT.match, words))
        if not words:
            return
        name, arguments = program_name(words[0]), words[1:]
        yield name, arguments
        if name in PREFIXES:
            words = PREFIXES[name].unwrapped(arguments)
            continue
        inner = _started_by(name, arguments)
        if inner is None:
            if not wrapper_may_be_unknown or name in RUNNERS or name in TAKES_NAMES:
                return
            inner = arguments
        wrapper_may_be_unknown = False
        words = inner


def _started_by(name: str, arguments: list[str]) -> list[str] | None:
    """Return the words of the command that the wrapper ``name`` starts; None if ``name`` is no
    known wrapper."""
    if _PYTHON.fullmatch(name):
        return _started_by_python(arguments)
    if name in ("coverage", "python -m coverage") and arguments[:1] == ["run"]:
        return ["python", *arguments[1:]]
    if name in ("node", "tsx"):
        return _started_by_node(arguments)
    if name == "find":
        return list(dropwhile(lambda word: not word.startswith("-exec"), arguments))[1:]
    verb = after_flags(arguments, LEADING_FLAGS.get(name, NO_FLAGS))
    if verb < len(arguments) and (wrapper := WRAPPERS.get(f"{name} {arguments[verb]}")):
        return wrapper.unwrapped(arguments[verb + 1 :])
    known = WRAPPERS.get(name)
    return known.unwrapped(arguments) if known else None


def _started_by_python(arguments: list[str]) -> list[str]:
    index = 0
    while index < len(arguments):
        word, rest = arguments[index], arguments[index + 1 :]
        if _MODULE_FLAG.fullmatch(word):
            return [f"python -m {rest[0]}", *rest[1:]] if rest else []
        if word == "-c":
            return []
        if not word.startswith("-"):
            return arguments[index:]
        index += 2 if word in _PYTHON_VALUED else 1
    return []


def _started_by_node(arguments: list[str]) -> list[str]:
    start = after_flags(arguments, _NODE_VALUED)
    tests = ["node --test"] if "--test" in arguments[:start] else []
    return tests + arguments[start:]


def _script(arguments: list[str]) -> str:
    flags = after_flags(arguments, NO_FLAGS)
    has_script = any(map(_SCRIPT_FLAG.fullmatch, arguments[:flags]))
    return arguments[flags] if has_script and flags < len(arguments) else ""
