"""Tool calls paired with their results, and token sums over parts of a session."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from session_memory.derive.detecting import is_shell, programs, simple_commands
from session_memory.store.brief_events import BriefEvent

MOST_OPEN = 10_000


class FinishedCall:
    """A call and its result. ``kinds`` are the kind and the marks of the call."""

    __slots__ = ("call", "failed", "is_shell", "kinds", "result")

    def __init__(self, call: BriefEvent, kinds: tuple[str, ...], result: BriefEvent) -> None:
        self.call, self.kinds, self.result = call, kinds, result
        # Everything that looks at a call asks for these.
        self.failed = bool(result.is_error)
        self.is_shell = runs_shell(call.tool)

    @property
    def key(self) -> tuple[str | None, str]:
        """Equal for two calls when one repeats the other. Edits of one file are such calls."""
        return self.call.tool, self.call.path or self.call.summary

    @property
    def is_answer_no(self) -> bool:
        """Whether exit status 1 is the answer "no" (``grep`` found nothing), not a failure."""
        return self.answers_no(self.call.summary)

    def answers_no(self, command: str) -> bool:
        """The same, for a call whose whole command is known."""
        if self.result.exit_code != 1 or not self.is_shell:
            return False
        return says_no(command)


def says_no(command: str) -> bool:
    """Whether exit status 1 of a shell text is the answer "no"."""
    # The status is that of the last command. ``bun run test`` is not ``test``.
    commands = [one.words for one in simple_commands(command) if one.words[:1] not in _ENDS]
    return bool(commands) and _program_and_verb(commands[-1]) in _QUIET


# Programs that start the one behind them, and give its exit status.
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


class OpenCalls:
    """Pairs each result with its call; a call without a result stays open."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[BriefEvent, tuple[str, ...]]] = {}

    def opened(self, call: BriefEvent, kinds: tuple[str, ...]) -> None:
        if call.call_id is not None and len(self._open) < MOST_OPEN:
            self._open[call.call_id] = call, kinds

    def closed(self, result: BriefEvent) -> FinishedCall | None:
        found = self._open.pop(result.call_id or "", None)
        return None if found is None else FinishedCall(*found, result)

    def left(self) -> list[BriefEvent]:
        return [call for call, _ in self._open.values()]


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
    """Sums of tokens between two places of a session.

    With ``spread``, usage rows are whole turns, and a turn's tokens are spread over its events.
    """

    def __init__(self, used: Sequence[tuple[int, int]], *, spread: bool = False) -> None:
        self.spread = spread
        self._seqs = [seq for seq, _ in used]
        self._sums = [0, *_running(tokens for _, tokens in used)]

    def between(self, first: int, last: int) -> int:
        """Tokens of the responses that ended at ``first`` or later, and at ``last`` or before."""
        if self.spread:
            return max(0, self._until(last) - self._until(first - 1))
        start, end = bisect_left(self._seqs, first), bisect_right(self._seqs, last)
        return max(0, self._sums[end] - self._sums[start]) if end > start else 0

    def _until(self, seq: int) -> int:
        """Tokens up to an event, with the event's share of its turn."""
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
    """The first ``most`` uids, each once."""
    return tuple(islice(dict.fromkeys(uids), most))


def program_of(tool: str | None, call: str) -> str:
    """The tool's name; for a shell ``shell: PROGRAM``; ``model`` without a tool."""
    if tool is None or not runs_shell(tool):
        return tool or "model"
    started = [program.name for program in programs(call) if program.name not in _PLACES]
    return f"shell: {started[0]}" if started else "shell"


_PLACES = frozenset({"cd", "export", "set", "source", "."})
