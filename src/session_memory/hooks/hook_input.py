"""The JSON that an agent gives a hook. Each part may be missing, of another type, or hostile."""

import re
import time

from session_memory.hooks.agents import (
    CALL,
    COMMAND,
    CWD,
    NATIVE_EVENT,
    PROMPT,
    SESSION,
    TRANSCRIPT,
    HookedAgent,
    exit_in,
)

TYPE_CHECKING = False  # As in `agents`.
if TYPE_CHECKING:
    from typing import Any

LONGEST_NAME = 4_000
# The end of a long output has the error.
LONGEST_OUTPUT = 200_000
LONGEST_COMMAND = 20_000


class HookInput:
    """The JSON of standard input, asked by paths such as ``tool_input.command``."""

    def __init__(self, agent: HookedAgent, values: "dict[str, Any]") -> None:
        self.agent = agent
        self._values = values

    def find(self, paths: "tuple[str, ...]") -> "Any":
        for path in paths:
            value: Any = self._values
            for key in path.split("."):
                if isinstance(value, str) and value[:1] == "{" and len(value) < LONGEST_OUTPUT:
                    value = _decoded(value)
                value = value.get(key) if isinstance(value, dict) else None
            if value is not None:
                return value
        return None

    def text(self, paths: "tuple[str, ...]", longest: int = LONGEST_NAME) -> str:
        """Return the first text at one of the paths; only its end if it is too long."""
        for path in paths:
            value = self.find((path,))
            if isinstance(value, list):
                value = _joined(value)
            if isinstance(value, str) and value:
                return value[-longest:]
        return ""

    @property
    def session(self) -> str:
        return self.text(SESSION)

    @property
    def session_key(self) -> str:
        """The session, or its directory and day if the agent does not tell its session."""
        return self.session or f"{self.cwd} {time.strftime('%Y-%m-%d')}"

    @property
    def cwd(self) -> str:
        return self.text(CWD)

    @property
    def transcript(self) -> str:
        return self.text(TRANSCRIPT)

    @property
    def native_event(self) -> str | None:
        """The agent's own name of the event, if it looks like one."""
        name = self.text(NATIVE_EVENT)
        return name if name.isalnum() and len(name) < 40 else None

    @property
    def command(self) -> str:
        return self.text(COMMAND, LONGEST_COMMAND)

    @property
    def prompt(self) -> str:
        """What a person said, without the texts of hooks that the agent wrote before it."""
        text = self.text(PROMPT)
        return re.sub(self.agent.context, "", text) if self.agent.context else text

    @property
    def output(self) -> str:
        """What the command printed, without the lines of the agent around it."""
        text = self._framed_output
        return re.sub(self.agent.frame, "", text) if self.agent.frame else text

    @property
    def _framed_output(self) -> str:
        return self.text(self.agent.output, LONGEST_OUTPUT)

    @property
    def was_interrupted(self) -> bool:
        return self.find(("is_interrupt", "isInterrupt", "tool_response.interrupted")) is True

    @property
    def has_failed(self) -> bool | None:
        """Whether the command failed. None if only the text of the output can tell."""
        status = self.exit_status
        if status is not None:
            return status != 0
        return True if self.agent.fires_for_failures else None

    @property
    def exit_status(self) -> int | None:
        status = self.find(self.agent.exit)
        if isinstance(status, int) and not isinstance(status, bool):
            return status
        if isinstance(status, str) and status.lstrip("-").isdecimal() and len(status) < 12:
            return int(status)
        if self.agent.is_in_log:
            from session_memory.hooks.transcript_status import status_in_log

            written = status_in_log(self.transcript, self.text(CALL))
            if written is not None:
                return written
        return exit_in(self._framed_output, self.agent.exit_text)


def _decoded(text: str) -> "Any":
    """Some agents give the arguments of a call as JSON in a text."""
    from json import loads

    try:
        return loads(text)
    except (ValueError, RecursionError):
        return None


def _joined(parts: "list[Any]") -> str:
    """The text of a list of parts: ``[{"type": "text", "text": …}]``."""
    some = parts[:1_000]
    texts = [one.get("text") if isinstance(one, dict) else one for one in some]
    return "\n".join(one for one in texts if isinstance(one, str))
