"""What the kit has to know about an agent: its package, how it is started against the scripted
model, by which names a model calls its tools, and what it does not write down."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from session_memory.conformance.place import AgentPlace
from session_memory.conformance.reply import MODEL, ModelCall, Reply
from session_memory.conformance.scenario import (
    NEW,
    Action,
    CallUnknown,
    Delegate,
    EditFile,
    ReadFile,
    RunShell,
    Scenario,
    Step,
    WriteFile,
)
from session_memory.conformance.sent import Sent

KEY = "scripted"
OTHER_MODEL = "scripted-other"


@dataclass(frozen=True)
class Launch:
    """One start of an agent with a prompt. `start` says which session it goes on with."""

    prompt: str
    start: str = NEW
    approve: bool = True
    model: str = MODEL


class Driver(ABC):
    """One agent. With `server` the settings hold an MCP server of the user's own as well."""

    name = ""
    title = ""
    package = ""
    # Where the package is: in `npm`, or in `pypi` for Pythons from `least_python` on.
    registry = "npm"
    least_python = (3, 11)
    program = ""
    seconds = 90.0
    # What is recorded, below the home directory.
    logs: tuple[str, ...] = ()
    # The agent deletes logs of earlier runs. They are collected after every run.
    deletes_logs = False
    # Without tools, `replies` leaves out what needs one.
    has_tools = True
    # The log says what a turn used, not what each request did.
    usage_per_turn = False
    # Subagents have no session of their own: their records are in the log of the parent.
    subagents_inside = False
    # The prompt that compacts. Without one, the agent compacts when its context is full.
    compact_prompt = ""
    full_context = 190_000
    # The agent asks for caches that last an hour, and logs what it wrote to them.
    hour_cache = True
    # The log says how much of the output is reasoning.
    logs_reasoning = True
    # Words of the last message of a request for a summary, and what stands around the summary.
    summary_words = "summary of the conversation"
    summary_form = "{}"
    # Words of the last message of a request that the agent makes for itself.
    aside_words = ""
    models = (MODEL, OTHER_MODEL)
    # HTTP errors after which the agent gives up; the script leaves them out where it expects more.
    not_retried: tuple[int, ...] = ()
    # Scenarios that the agent cannot do, with the reason.
    cannot: dict[str, str] = {}
    # scenario (or "*") -> difference -> why the agent's log cannot tell.
    known: dict[str, dict[str, str]] = {}

    def __init__(self, *, server: bool = False) -> None:
        self.has_server = server

    @abstractmethod
    def configure(self, place: AgentPlace) -> None:
        """Write the settings with which the agent asks the scripted model."""

    def trust(self, place: AgentPlace) -> None:
        """What the user does once so that the agent reads the settings of a project."""
        return

    def environment(self, place: AgentPlace) -> dict[str, str]:
        return {}

    def variables(self, launch: Launch) -> dict[str, str]:
        """Further variables of one start."""
        return {}

    def preparations(self, launch: Launch, place: AgentPlace) -> list[list[str]]:
        """Commands of the program that a user runs first, such as one that forks a session."""
        return []

    @abstractmethod
    def arguments(self, launch: Launch, place: AgentPlace) -> list[str]:
        """The words after the program's name that answer one prompt and end."""

    @abstractmethod
    def shell(self, command: str) -> ModelCall:
        """The call of the agent's own tool that runs a command."""

    @abstractmethod
    def write(self, path: Path, text: str) -> ModelCall:
        """The call that creates a file."""

    @abstractmethod
    def edit(self, path: Path, old: str, new: str) -> ModelCall:
        """The call that replaces a text."""

    def read(self, path: Path) -> ModelCall:
        """The call that reads a file; by the shell if there is no tool for it."""
        return self.shell(f"cat {path}")

    def delegate(self, prompt: str) -> ModelCall:
        """The call that starts a subagent and waits for its answer."""
        raise TypeError(f"{type(self).__name__} needs a delegate, or `subagent` in its `cannot`")

    def why_not(self, scenario: Scenario) -> str:
        """Why the agent cannot do a scenario; nothing if it can."""
        names = (scenario.name, *scenario.needs)
        return next((self.cannot[name] for name in names if name in self.cannot), "")

    def is_summary(self, sent: Sent) -> bool:
        """Whether a request asks for the summary that replaces the history."""
        return self.summary_words in sent.last_text.lower()

    def is_aside(self, sent: Sent) -> bool:
        """Whether the agent asks for something that is no part of the conversation."""
        words = self.aside_words
        return not sent.body.get("tools") or bool(words and words in sent.last_text.lower())

    def call(self, action: Action, place: AgentPlace) -> ModelCall:
        match action:
            case RunShell(command):
                call = self.shell(command)
            case WriteFile(path, text):
                call = self.write(place.repo / path, text)
            case EditFile(path, old, new):
                call = self.edit(place.repo / path, old, new)
            case ReadFile(path):
                call = self.read(place.repo / path)
            case CallUnknown(name):
                call = ModelCall(name, {"reason": "none"})
            case Delegate(prompt):
                call = self.delegate(prompt)
        return ModelCall(call.name, call.arguments, call.namespace, action.fails)

    def replies(self, step: Step, place: AgentPlace) -> Sequence[Reply]:
        """What the model says in one step; more than one reply if this agent needs more."""
        calls = tuple(self.call(action, place) for action in step.actions)
        return [Reply(step.text, calls, step.thinking, error=step.error, fault=step.fault)]

    def conclusion(self, text: str) -> Reply:
        """How the model of a subagent says that it has finished."""
        return Reply(text)

    def newest(self, place: AgentPlace, pattern: str) -> Path:
        """The newest file of this pattern below the home directory."""
        found = max(place.home.glob(pattern), key=lambda path: path.stat().st_mtime, default=None)
        if found is None:
            raise FileNotFoundError(f"{self.name} wrote no {pattern}")
        return found
