"""Which patterns are noise: true, but nothing that a repository or its owner can change.

Agents' own tools fail in their own ways in every repository: an edit whose text is not in the file,
a file that was not read before, a refused plan. The agent sees the message and goes on. A person
who looks for problems of the project wants the errors of programs: what shells and servers answer.
An error that no call had stands in a person's own words, or is one of the model's service.

What happened in one session does not come back. An error in two is usually one task that took two
sessions, such as a failing test that an edit mended. It says something if another command ended it
in both, or in one and it came back on another day: then the next session can know better.
"""

from collections.abc import Iterable

from session_memory.learn.digest.steps import runs_shell

SHELL = "shell"
# These say how a session went. Together they say nothing about a place.
_ABOUT_SESSIONS = frozenset(
    {"failed", "abandoned", "thrown_away", "reread_file", "schema_thrash", "budget_overrun"}
)
# Their locus begins with the tool, or with "shell: PROGRAM".
_ABOUT_TOOLS = frozenset({"oversized_output", "permission_denied", "retry_storm", "timeout"})
_LOOKING_WORDS = """
    cat head tail less more ls tree find fd grep egrep rg ag sed awk jq yq diff git gh curl wget pwd
    echo printf nl wc sort env ps const python python3 node
"""
# Programs whose output depends on what they were asked, so that nothing can be said about them.
_LOOKING = frozenset(_LOOKING_WORDS.split())
_SERVERS = ("mcp_", "mcp.")


def is_noise(
    kind: str, locus: str, tools: Iterable[str | None] = (), *, is_skill: bool = False
) -> bool:
    """Whether a pattern is noise. ``tools`` are those whose calls had its errors.

    ``is_skill``: it is about skills, which are no tools of an agent.
    """
    if kind in _ABOUT_SESSIONS:
        return True
    if is_skill:
        return False
    if kind in _ABOUT_TOOLS:
        tool, _, program = locus.partition(":")
        if kind == "oversized_output" and program.strip() in _LOOKING:
            return True
        return not (tool.strip() == SHELL or _is_program(tool.strip()))
    used = list(tools)
    return bool(used) and not any(tool is not None and _is_program(tool) for tool in used)


OFTEN = 3
# What ended an error, if a later session can do the same: another call, or a command.
_LEARNABLE = frozenset({"instead", "command"})


def is_rare(kind: str, sessions: int, days: int, ended_by: Iterable[tuple[str, int]]) -> bool:
    """Whether too few sessions have it. ``ended_by``: what kinds of change resolved the error, and
    in how many sessions."""
    if sessions >= OFTEN:
        return False
    if sessions < 2:
        return True
    learnable = sum(number for how, number in ended_by if how in _LEARNABLE)
    says_something = learnable >= sessions or (learnable and days > 1)
    return kind == "recurring_error" and not says_something


def _is_program(tool: str) -> bool:
    """Whether a call runs a program or asks a server, rather than the agent itself."""
    return runs_shell(tool) or tool.lower().startswith(_SERVERS)
