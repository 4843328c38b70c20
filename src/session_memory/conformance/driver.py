"""What the kit has to know about an agent: its package, how to start it with the scripted model,
the names of its tools, and what its log leaves out."""

import shlex
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
ONE_PROMPT = (
    "in one-shot mode the agent reads one prompt; more need its terminal interface, or a client of"
    " its server or of its protocol for editors"
)
_ONLY_ARGUMENTS = "the driver gives the agent a prompt only when it starts it"


@dataclass(frozen=True)
class Launch:
    """One start of an agent with a prompt. `start`: whether the agent begins a new session, or how
    it continues one."""

    prompt: str
    start: str = NEW
    approve: bool = True
    model: str = MODEL


class Driver(ABC):
    """One agent. With `server`, its settings also have an MCP server that the user added before."""

    name = ""
    title = ""
    package = ""
    # The registry of the package: `npm`, or `pypi`, where it needs Python `least_python` or newer.
    registry = "npm"
    least_python = (3, 11)
    program = ""
    seconds = 90.0
    # The files and directories with the agent's logs, below the home directory.
    logs: tuple[str, ...] = ()
    # The agent deletes logs of earlier runs. So they are copied after every run.
    deletes_logs = False
    # If the agent has no tools, `replies` leaves out the steps that call one.
    has_tools = True
    # The log has the tokens of a turn, not of each request.
    usage_per_turn = False
    # Subagents have no session of their own: their records are in the log of the parent.
    subagents_inside = False
    # The prompt that makes the agent compact. Without one, it compacts when its context is full.
    compact_prompt = ""
    full_context = 190_000
    # The agent asks for caches that last an hour, and logs what it wrote to them.
    hour_cache = True
    # The log says how much of the output is reasoning.
    logs_reasoning = True
    # Words in the last message of a request for a summary, and the form of the model's summary.
    summary_words = "summary of the conversation"
    summary_form = "{}"
    # A text that the agent prints when it has answered all prompts of its standard input. Without
    # one, it answers them after its input was closed.
    over = ""
    # Words in the last message of a request outside of the conversation, such as one for a title.
    aside_words = ""
    models = (MODEL, OTHER_MODEL)
    # HTTP errors after which the agent gives up. The script leaves out a step with such an error,
    # unless it is the last of its turn (`again`).
    not_retried: tuple[int, ...] = ()
    # Scenarios that the agent cannot do, with the reason.
    cannot: dict[str, str] = {}
    # Known differences: scenario (or "*" for all) -> key of the difference -> the reason.
    known: dict[str, dict[str, str]] = {}
    # The same for differences that show in some runs only: what the agent does depends on timing.
    sometimes: dict[str, dict[str, str]] = {}

    def __init__(self, *, server: bool = False) -> None:
        self.has_server = server

    @abstractmethod
    def configure(self, place: AgentPlace) -> None:
        """Write the settings with which the agent asks the scripted model."""

    def trust(self, place: AgentPlace) -> None:
        """Write what a user confirms once: that the agent may read the project's settings."""
        return

    def environment(self, place: AgentPlace) -> dict[str, str]:
        return {}

    def variables(self, launch: Launch) -> dict[str, str]:
        """Return environment variables for one start, in addition to those of `environment`."""
        return {}

    def preparations(self, launch: Launch, place: AgentPlace) -> list[list[str]]:
        """Return commands of the agent to run before this start, such as one that forks."""
        return []

    @abstractmethod
    def arguments(self, launch: Launch, place: AgentPlace) -> list[str]:
        """Return the arguments with which the program answers one prompt and exits."""

    def listening(self, launch: Launch) -> list[str]:
        """Return the arguments with which the program reads prompts from its standard input.

        Raises TypeError for an agent that cannot do that.
        """
        raise TypeError(_ONLY_ARGUMENTS)

    def spoken(self, prompt: str, is_queued: bool = False) -> str:
        """Return a prompt as a line for the standard input. A queued prompt (`is_queued`) is
        sent while the agent works. Raises TypeError as `listening` does."""
        raise TypeError(_ONLY_ARGUMENTS)

    @abstractmethod
    def shell(self, command: str) -> ModelCall:
        """The call of the agent's own tool that runs a command."""

    @abstractmethod
    def write(self, path: Path, text: str) -> ModelCall:
        """The call of the agent's tool that creates a file."""

    @abstractmethod
    def edit(self, path: Path, old: str, new: str) -> ModelCall:
        """The call of the agent's tool that replaces a text in a file."""

    def read(self, path: Path) -> ModelCall:
        """The call that reads a file; with the shell if the agent has no tool for it."""
        return self.shell(f"cat {shlex.quote(str(path))}")

    def delegate(self, prompt: str) -> ModelCall:
        """The call that starts a subagent and waits for its answer."""
        raise TypeError(f"{type(self).__name__} needs a delegate, or `subagent` in its `cannot`")

    def why_not(self, scenario: Scenario) -> str:
        """Return why the agent cannot do a scenario; an empty text if it can."""
        names = (scenario.name, *scenario.needs)
        for name in names:
            if name in self.cannot:
                return self.cannot[name]
        is_deaf = type(self).listening is Driver.listening
        return _ONLY_ARGUMENTS if is_deaf and scenario.queues else ""

    def is_summary(self, sent: Sent) -> bool:
        """Whether a request asks for the summary that replaces the history."""
        return self.summary_words in sent.last_text.lower()

    def is_aside(self, sent: Sent) -> bool:
        """Whether a request is not part of the conversation, such as one for a title."""
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
        """Return the model's replies in one step of a scenario; some agents need several."""
        calls = tuple(self.call(action, place) for action in step.actions)
        return [Reply(step.text, calls, step.thinking, error=step.error, fault=step.fault)]

    def conclusion(self, text: str) -> Reply:
        """Return the reply with which the model of a subagent says that it has finished."""
        return Reply(text)

    def newest(self, place: AgentPlace, pattern: str) -> Path:
        """Return the newest file that matches `pattern` below the agent's home directory."""
        found = max(place.home.glob(pattern), key=lambda path: path.stat().st_mtime, default=None)
        if found is None:
            raise FileNotFoundError(f"{self.name} wrote no {pattern}")
        return found
