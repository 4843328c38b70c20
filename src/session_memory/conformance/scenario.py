"""The parts of a scenario, the same for all agents: prompts, what the model answers, what tools do,
and how the agent is stopped."""

from dataclasses import dataclass, field

NEW, RESUME, FORK, COMPACT = "new", "resume", "fork", "compact"
INTERRUPT, KILL = "interrupt", "kill"


@dataclass(frozen=True)
class RunShell:
    """The model calls the shell. `fails`: the command exits with another status than 0."""

    command: str
    fails: bool = False


@dataclass(frozen=True)
class WriteFile:
    """The model creates a file. `fails`: the user does not allow it."""

    path: str
    text: str
    fails: bool = False


@dataclass(frozen=True)
class EditFile:
    """The model replaces a line of a file by another one. `fails`: there is no such line."""

    path: str
    old: str
    new: str
    fails: bool = False


@dataclass(frozen=True)
class ReadFile:
    """The model reads a file. `fails`: the file does not exist."""

    path: str
    fails: bool = False


@dataclass(frozen=True)
class CallUnknown:
    """The model calls a tool that does not exist."""

    name: str = "no_such_tool"
    fails: bool = True


@dataclass(frozen=True)
class Delegate:
    """The model starts a subagent. The scenario's `subagents` says what the subagent does."""

    prompt: str
    fails: bool = False


Action = RunShell | WriteFile | EditFile | ReadFile | CallUnknown | Delegate


@dataclass(frozen=True)
class Step:
    """One answer of the model. `error`: the model answers with this HTTP status instead. `fault`:
    the stream hangs, is cut or pauses. `again`: every further request of this turn gets this answer
    too. `fills`: the answer reports so many tokens that the context is full."""

    text: str = ""
    actions: tuple[Action, ...] = ()
    thinking: str = ""
    error: int = 0
    fault: str = ""
    again: bool = False
    fills: bool = False


@dataclass(frozen=True)
class ScriptedTurn:
    """One run of the agent. `start`: a new session, or resume, fork or compact the session before.

    Without `approve`, the user does not allow tools. `stopped_by`: interrupt (Ctrl-C) or kill.
    `queued`: prompts that are sent while the agent works, one at each pause of the model.
    """

    prompt: str
    steps: tuple[Step, ...]
    start: str = NEW
    approve: bool = True
    other_model: bool = False
    stopped_by: str = ""
    queued: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scenario:
    """What the user, the model and the tools do in one or more runs of an agent.

    `subagents`: the prompt of each subagent, and the answers that its model gives. `needs`: an
    agent that cannot do one of these scenarios cannot do this one either.
    """

    name: str
    title: str
    turns: tuple[ScriptedTurn, ...]
    subagents: dict[str, tuple[Step, ...]] = field(default_factory=dict)
    needs: tuple[str, ...] = ()

    @property
    def interrupted(self) -> bool:
        return any(turn.stopped_by == INTERRUPT for turn in self.turns)

    @property
    def queues(self) -> bool:
        return any(turn.queued for turn in self.turns)

    @property
    def forks(self) -> int:
        """The number of copies of a session."""
        return sum(turn.start == FORK for turn in self.turns)
