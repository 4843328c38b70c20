"""Pair tool calls with their results, and sum the tokens of a part of a session."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

from session_memory.derive.detecting import (
    is_script_without_shell,
    is_shell,
    programs,
    simple_commands,
)
from session_memory.learn.digest import Counted
from session_memory.learn.digest.carried_commands import carried_commands
from session_memory.store.brief_events import BriefEvent

MOST_OPEN = 10_000
_POLLS = frozenset({"write_stdin", "wait", "BashOutput", "TaskOutput"})
# Tools to which an agent without a person gives its answer, in the form that its caller wants.
_ANSWERING_WORDS = """
    structuredoutput structured_output yield attempt_completion submit_result submit_answer
    return_result final_answer complete_task task_complete report_result finish
"""
_ANSWERING = frozenset(_ANSWERING_WORDS.split())


class FinishedCall:
    """A call and its result. ``kinds`` are the kind and the marks of the call. ``turn`` is the
    number of prompts before the call."""

    __slots__ = ("call", "failed", "is_shell", "kinds", "result", "turn")

    def __init__(
        self, call: BriefEvent, kinds: tuple[str, ...], result: BriefEvent, turn: int = 0
    ) -> None:
        self.call, self.kinds, self.result, self.turn = call, kinds, result, turn
        # Computed once, because nearly every user of a call asks for them.
        self.failed = bool(result.is_error)
        self.is_shell = runs_shell(call.tool) and not self._is_patch_in_script

    @property
    def _is_patch_in_script(self) -> bool:
        """Whether a script calls other tools than the shell, such as one that applies a patch.

        The summary of such an edit is the path of its file.
        """
        summary, path = self.call.summary, self.call.path or ""
        if "edit" in self.kinds and path and path.startswith(summary.rstrip("…")):
            return True
        return is_script_without_shell(summary)

    @property
    def key(self) -> tuple[str | None, str]:
        """The tool and what it was used on. Calls with equal keys count as the same call repeated,
        such as two edits of one file."""
        return self.call.tool, self.call.path or self.call.summary

    @property
    def is_poll(self) -> bool:
        """Whether the call only waits for an earlier command that still runs."""
        return self.call.tool in _POLLS or "tools.write_stdin(" in self.call.summary

    @property
    def is_answer(self) -> bool:
        """Whether the agent gives its answer by this call instead of by a message."""
        return not self.failed and (self.call.tool or "").lower() in _ANSWERING

    @property
    def is_answer_no(self) -> bool:
        """Whether exit status 1 is the answer "no" (``grep`` found nothing), not a failure."""
        return self.answers_no(self.call.summary)

    def answers_no(self, command: str) -> bool:
        """Whether exit status 1 is the answer "no". ``command`` is the whole text of the call."""
        if self.result.exit_code == _PENDING and self.is_shell and "gh pr checks" in command:
            return True
        if self.result.exit_code != 1 or not self.is_shell:
            return False
        return says_no(command)


def says_no(command: str) -> bool:
    """Whether exit status 1 of a shell text is the answer "no", as for ``grep``, and no failure."""
    # The status of a shell text is that of its last command. ``bun run test`` is not ``test``.
    commands = [one.words for one in simple_commands(command) if one.words[:1] not in _ENDS]
    if len(commands) == 1 and "&&" not in command:
        # ``ssh host "ps aux | grep worker"`` ends with the status of ``grep``, too.
        commands = carried_commands(simple_commands(command)[0])
    return bool(commands) and _program_and_verb(commands[-1]) in _QUIET


# With this status, ``gh pr checks`` says that checks still run.
_PENDING = 8
# Programs that start another program and end with its exit status.
_STARTER_WORDS = "corepack rtk npx bunx uvx pipx env sudo xvfb-run command time nice nohup exec"
STARTERS = frozenset(_STARTER_WORDS.split())
_NO_SAYERS = "grep egrep fgrep rg ag diff cmp test [ which type -v pgrep git-diff git-grep"
_QUIET = frozenset(_NO_SAYERS.split())
# The status of a loop or a block is that of the last command in it.
_ENDS = (["done"], ["fi"], ["esac"], ["}"])


def _program_and_verb(words: list[str]) -> str:
    words = [word.rsplit("/", 1)[-1] for word in words[:3] if word not in STARTERS]
    is_git = len(words) > 1 and words[0] == "git"
    return f"git-{words[1]}" if is_git else next(iter(words), "")


class CallCounter(Protocol):
    """Counts something about the calls of one session, for a detector."""

    def add(self, finished: FinishedCall) -> None:
        """Count the next finished call. A counter must limit how much it remembers."""

    def result(self) -> Iterable[Counted]:
        """Return what was counted, the most important first. The digest keeps the first twenty."""


class OpenCalls:
    """Pairs the result of each tool call with the call; calls without a result stay open."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[BriefEvent, tuple[str, ...], int]] = {}
        self._turn = 0

    def begin_turn(self) -> None:
        """Note a prompt: the next calls belong to its turn."""
        self._turn += 1

    def opened(self, call: BriefEvent, kinds: tuple[str, ...]) -> None:
        if call.call_id is not None and len(self._open) < MOST_OPEN:
            self._open[call.call_id] = call, kinds, self._turn

    def closed(self, result: BriefEvent) -> FinishedCall | None:
        found = self._open.pop(result.call_id or "", None)
        if found is None:
            return None
        call, kinds, turn = found
        return FinishedCall(call, kinds, result, turn)

    def left(self) -> list[BriefEvent]:
        return [call for call, _, _ in self._open.values()]


_shells: dict[str, bool] = {}


def runs_shell(tool: str | None) -> bool:
    if tool is None:
        return False
    if tool not in _shells:
        if len(_shells) > MOST_OPEN:
            _shells.clear()
        _shells[tool] = is_shell(tool)
    return _shells[tool]


class TokenSums:
    """Sums the tokens between two events of a session. ``used`` has ``(seq, tokens)`` of each row.

    With ``spread``, each row is a whole turn, and a turn's tokens are spread evenly over its
    events.
    """

    def __init__(self, used: Sequence[tuple[int, int]], *, spread: bool = False) -> None:
        self.spread = spread
        self._seqs = [seq for seq, _ in used]
        self._sums = [0, *_running(tokens for _, tokens in used)]

    def between(self, first: int, last: int) -> int:
        """Return the tokens of the responses that ended from ``first`` to ``last``, inclusive."""
        if self.spread:
            return max(0, self._until(last) - self._until(first - 1))
        start, end = bisect_left(self._seqs, first), bisect_right(self._seqs, last)
        return max(0, self._sums[end] - self._sums[start]) if end > start else 0

    def _until(self, seq: int) -> int:
        """Return the tokens up to an event, with its share of the turn that it belongs to."""
        place = bisect_right(self._seqs, seq)
        if place == len(self._seqs):
            return self._sums[-1]
        begin = self._seqs[place - 1] if place else -1
        part = self._sums[place + 1] - self._sums[place]
        return self._sums[place] + part * max(0, seq - begin) // max(1, self._seqs[place] - begin)


def _running(numbers: Iterable[int]) -> Iterator[int]:
    total = 0
    for number in numbers:
        total += number
        yield total


def first_few(uids: Sequence[str], most: int = 5) -> tuple[str, ...]:
    """Return the first ``most`` different uids."""
    return tuple(islice(dict.fromkeys(uids), most))


def program_of(tool: str | None, call: str) -> str:
    """Return a name for what a call used: the tool, or ``shell: PROGRAM`` for a shell (``shell`` if
    the program is unknown). Without a tool it is ``model``."""
    if tool is None or not runs_shell(tool):
        return tool or "model"
    started = [program.name for program in programs(call) if program.name not in _PLACES]
    return f"shell: {started[0]}" if started else "shell"


_PLACES = frozenset({"cd", "export", "set", "source", "."})
