"""Find calls that deliver work (commit, push or open a pull request), and whether it arrived.

The exit status alone does not show that: a wrapper or a pipe may hide that a hook refused the
commit. So the output counts as well.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from session_memory.derive.detecting import Program, arrived, logged_commits, programs
from session_memory.learn.digest.steps import FinishedCall
from session_memory.learn.digest.texts import Texts

STAGES = COMMIT, PUSH, PULL_REQUEST = "commit", "push", "pull_request"
_HOSTS = {"gh": ("pr", "release"), "glab": ("mr", "release"), "hub": ("pull-request",)}
_HANDED_OVER = frozenset({"create", "merge", "submit", "ready"})
# Tools of servers for git and its hosts: mcp__github__create_pull_request, git_commit.
_TOOL = re.compile(
    r"(?:^|_)(?:git_(?P<git>commit|push)|(?:create|merge)_(?:pull|merge)_request)$", re.IGNORECASE
)
_WHOLE = ("commit", "push", "gh ", "glab ", "hub ")
# The summary of a long command is cut. If the part that is left has one of these texts, the missing
# part may deliver something.
_CUT = (*_WHOLE, "git", "&&", "cd ")


class Delivery(NamedTuple):
    """An attempt to deliver work. ``kind`` is ``commit``, ``push`` or ``pull_request``.

    To open or merge a pull request is ``pull_request``, and so is to make a release. ``arrived`` is
    None if the command still runs or had nothing to deliver.
    """

    kind: str
    arrived: bool | None


def deliveries(finished: FinishedCall, texts: Texts) -> list[Delivery]:
    """Return what a call delivered or tried to deliver, in the order of its commands."""
    if not finished.is_shell:
        tool = _TOOL.search(finished.call.tool or "")
        kind = PULL_REQUEST if tool is None or tool["git"] is None else tool["git"].lower()
        return [] if tool is None else [Delivery(kind, not finished.failed)]
    if not _may_deliver(finished):
        return []
    command = texts.command(finished.call)
    if not any(name in command for name in ("git", *_HOSTS)):
        return []
    tried = list(_tried(command))
    if not tried:
        return []
    output = texts.output(finished.result)
    return [Delivery(kind, arrived(output, kind == COMMIT, finished.failed)) for kind in tried]


def delivers(command: str) -> bool:
    """Whether a shell text commits, pushes or opens a pull request."""
    return any(_tried(command))


def _may_deliver(finished: FinishedCall) -> bool:
    """Whether the call may deliver something, judged by its summary, which may be cut."""
    summary = finished.call.summary
    if not summary.endswith("…"):
        return any(word in summary for word in _WHOLE)
    return any(word in summary for word in _CUT) or any(logged_commits(finished.result.summary))


def _tried(command: str) -> Iterator[str]:
    for program in programs(command):
        if is_commit(program):
            yield COMMIT
        elif _is_push(program):
            yield PUSH
        elif _is_pull_request(program):
            yield PULL_REQUEST


def is_commit(program: Program) -> bool:
    return "--dry-run" not in program.arguments and _verb(program) == "commit"


def _is_push(program: Program) -> bool:
    return not {"--dry-run", "-n"} & set(program.arguments) and _verb(program) == "push"


def _verb(program: Program) -> str:
    """Return ``commit``, ``push``, ``stash`` or ``log`` if the program is git with this subcommand,
    such as ``git -C place commit``; else ""."""
    if program.name != "git":
        return ""
    words = [word for word in program.arguments if not word.startswith("-")]
    return next((word for word in words[:3] if word in ("commit", "push", "stash", "log")), "")


def _is_pull_request(program: Program) -> bool:
    words = [word for word in program.arguments if not word.startswith("-")]
    subjects = _HOSTS.get(program.name, ())
    if words[:1] == ["pull-request"]:
        return "pull-request" in subjects
    return len(words) > 1 and words[0] in subjects and words[1] in _HANDED_OVER
