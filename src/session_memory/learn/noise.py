"""Decide which patterns (recurring problems) are noise or rare, and not worth a person's time.

Noise is true, but nothing that a repository or its owner can change:

- failures of an agent's own tools: an edit whose text is not in the file, a refused plan. They
  occur in every repository, and the agent sees the message and goes on. Errors of programs (what
  shells and MCP servers answer) are no noise.
- errors without a call: a person's own words, or errors of the model's service.
- types that only say how a session went, and large outputs of programs that only look.

Each detector says whether its type is about the session or about a tool (`learn/detector.py`).

A pattern is rare if only one session has it. An error of two sessions is rare, too, because both
sessions usually worked on one task, such as a failing test that an edit fixed. It is not rare if
another call or a command resolved it in both sessions, or in one of them and it occurred on two
days: then later sessions can do the same.
"""

from collections.abc import Iterable

from session_memory.learn.detect import detectors
from session_memory.learn.digest.steps import runs_shell

SHELL = "shell"
_LOOKING_WORDS = """
    cat head tail less more ls tree find fd grep egrep rg ag sed awk jq yq diff git gh curl wget pwd
    echo printf nl wc sort env ps for while const python python3 node type dir get-content
    get-childitem select-string get-item
"""
# Programs that print what their arguments ask for. A large output says nothing about the program.
_LOOKING = frozenset(_LOOKING_WORDS.split())
_SERVERS = ("mcp_", "mcp.")


def is_noise(
    kind: str, locus: str, tools: Iterable[str | None] = (), *, is_skill: bool = False
) -> bool:
    """Whether a pattern of type ``kind`` is noise.

    ``tools`` are the tools whose calls had the errors of the pattern; None stands for an error
    without a call.
    ``is_skill``: the pattern comes from skill logs, where errors of tools are no noise.
    """
    # A store may have signals of a detector that this release does not have.
    detector = detectors().get(kind)
    if detector is not None and detector.about_session:
        return True
    if is_skill:
        return False
    if detector is not None and detector.about_tool:
        tool, _, program = locus.partition(":")
        # Without a program, only the beginning of a long command is known.
        if kind == "oversized_output" and (
            program.strip().lower() in _LOOKING or (tool.strip() == SHELL and not program.strip())
        ):
            return True
        return not (tool.strip() == SHELL or _is_program(tool.strip()))
    used = list(tools)
    return bool(used) and not any(tool is not None and _is_program(tool) for tool in used)


OFTEN = 3
# Kinds of resolutions that a later session can repeat: another call, or a command.
_LEARNABLE = frozenset({"instead", "command"})


def is_rare(kind: str, sessions: int, days: int, ended_by: Iterable[tuple[str, int]]) -> bool:
    """Whether too few sessions have a pattern of type ``kind``, which occurred on ``days`` days.

    ``ended_by`` has the kinds of resolutions of its error, each with the number of sessions.
    """
    if sessions >= OFTEN:
        return False
    if sessions < 2:
        return True
    learnable = sum(number for how, number in ended_by if how in _LEARNABLE)
    says_something = learnable >= sessions or (learnable and days > 1)
    return kind == "recurring_error" and not says_something


def _is_program(tool: str) -> bool:
    """Whether a tool runs a program or asks an MCP server, and is not the agent's own."""
    return runs_shell(tool) or tool.lower().startswith(_SERVERS)
