"""What happens in a scenario, in words of no agent: prompts, what the model answers, what its tools
do, and how the agent is stopped."""

from dataclasses import dataclass, field

NEW, RESUME, FORK, COMPACT = "new", "resume", "fork", "compact"
INTERRUPT, KILL = "interrupt", "kill"


@dataclass(frozen=True)
class RunShell:
    """Run a command; `fails` if it exits with another status than 0."""

    command: str
    fails: bool = False


@dataclass(frozen=True)
class WriteFile:
    """Create a file."""

    path: str
    text: str
    fails: bool = False


@dataclass(frozen=True)
class EditFile:
    """Replace a line of a file by another one; `fails` if there is no such line."""

    path: str
    old: str
    new: str
    fails: bool = False


@dataclass(frozen=True)
class ReadFile:
    """Read a file; `fails` if it does not exist."""

    path: str
    fails: bool = False


@dataclass(frozen=True)
class CallUnknown:
    """Call a tool that does not exist."""

    name: str = "no_such_tool"
    fails: bool = True


@dataclass(frozen=True)
class Delegate:
    """Start a subagent with this prompt. What it does is in the scenario's `subagents`."""

    prompt: str
    fails: bool = False


Action = RunShell | WriteFile | EditFile | ReadFile | CallUnknown | Delegate


@dataclass(frozen=True)
class Step:
    """One answer of the model. `error` is an HTTP status instead. `fault`: the stream hangs or is
    cut. `again`: every further request of this turn gets the same. `fills`: the answer reports so
    many tokens that the context is full."""

    text: str = ""
    actions: tuple[Action, ...] = ()
    thinking: str = ""
    error: int = 0
    fault: str = ""
    again: bool = False
    fills: bool = False


@dataclass(frozen=True)
class ScriptedTurn:
    """One run of the agent. `start` says how it begins: new, or with the session before."""

    prompt: str
    steps: tuple[Step, ...]
    start: str = NEW
    approve: bool = True
    other_model: bool = False
    stopped_by: str = ""


@dataclass(frozen=True)
class Scenario:
    """`subagents`: the prompt of each, and the answers that it gets. `needs`: an agent that cannot
    do one of these scenarios cannot do this one either."""

    name: str
    title: str
    turns: tuple[ScriptedTurn, ...]
    subagents: dict[str, tuple[Step, ...]] = field(default_factory=dict)
    needs: tuple[str, ...] = ()

    @property
    def interrupted(self) -> bool:
        return any(turn.stopped_by == INTERRUPT for turn in self.turns)

    @property
    def forks(self) -> bool:
        return any(turn.start == FORK for turn in self.turns)
