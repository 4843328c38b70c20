"""The driver of aider, which calls no tools: its model writes changes into the answer. So only the
steps of a scenario without calls are played, with one request for each prompt."""

from collections.abc import Sequence
from pathlib import Path

from session_memory.conformance.driver import KEY, Driver, Launch
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.reply import ModelCall, Reply
from session_memory.conformance.scenario import NEW, Step
from session_memory.conformance.sent import Sent

_HISTORY = ".aider.chat.history.md"
_UNCOUNTED = (
    "aider logs no ids of responses and rounds tokens, and only steps without calls are played"
)
_ASKS_AGAIN = "aider adds a file that the answer names to the chat, and asks again"
_NO_TOOLS = "aider has no tools: its model writes changes into the answer"


class Aider(Driver):
    name, title, program = "aider", "aider", "aider"
    package, registry = "aider-chat", "pypi"
    logs = (_HISTORY,)
    has_tools = False
    known = {
        "*": {
            "tokens": _UNCOUNTED,
            "requests": _UNCOUNTED,
            "extra": _UNCOUNTED,
            "sessions": "every start of aider is a session, also one that restores the history",
        },
        "retry": {"script": _ASKS_AGAIN},
        "model_change": {"script": _ASKS_AGAIN},
        "cut": {"script": _ASKS_AGAIN},
    }
    cannot = {
        "basic": _NO_TOOLS,
        "tools": _NO_TOOLS,
        "edits": _NO_TOOLS,
        "tool_errors": _NO_TOOLS,
        "denied": _NO_TOOLS,
        "subagent": "aider has no subagents",
        "fork": "aider has no fork",
        "compact": "aider has no command that compacts, and its own summary was not driven",
    }

    def configure(self, place: AgentPlace) -> None:
        """Write nothing: aider gets all settings as options and variables."""

    def environment(self, place: AgentPlace) -> dict[str, str]:
        return {
            "OPENAI_API_BASE": f"{place.url}/v1",
            "OPENAI_API_KEY": KEY,
            "AIDER_ANALYTICS": "false",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }

    def arguments(self, launch: Launch, place: AgentPlace) -> list[str]:
        words = ["--model", f"openai/{launch.model}", "--yes-always", "--no-auto-commits"]
        words += [
            "--no-check-update",
            "--no-analytics",
            "--no-show-release-notes",
            "--no-gitignore",
        ]
        words += ["--no-show-model-warnings", "--no-pretty", "--map-tokens", "0"]
        words += ["--chat-history-file", str(place.home / _HISTORY)]
        words += [] if launch.start == NEW else ["--restore-chat-history"]
        return [*words, "--message", launch.prompt]

    def is_aside(self, sent: Sent) -> bool:
        return False

    def replies(self, step: Step, place: AgentPlace) -> Sequence[Reply]:
        if step.actions:
            return []
        return [Reply(step.text, thinking=step.thinking, error=step.error, fault=step.fault)]

    def shell(self, command: str) -> ModelCall:
        raise TypeError(_NO_TOOLS)

    def write(self, path: Path, text: str) -> ModelCall:
        raise TypeError(_NO_TOOLS)

    def edit(self, path: Path, old: str, new: str) -> ModelCall:
        raise TypeError(_NO_TOOLS)
