"""Tells what a person typed from what was injected, in lines with the role of the user.

Evidence: docs/formats/claude.md, "Prompts".
"""

import re

from session_memory.core.text import between

INTERRUPTED = "[Request interrupted by user"
REJECTED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
)
PERSONS_WORDS = "the user said:\n"

_INJECTED = {
    "<local-command-": "local_command",
    "<bash-stdout>": "bash_output",
    "<bash-stderr>": "bash_output",
    "<task-notification>": "task_notification",
    "<command-name>": "command",
    "<user-prompt-submit-hook>": "hook",
    "Caveat:": "caveat",
    "Base directory for this skill:": "skill",
    "Stop hook feedback:": "hook",
    "This session is being continued from a previous conversation": "compact_summary",
}
_INJECTED_START = re.compile("|".join(map(re.escape, _INJECTED)))
# Context that the agent adds in front of or behind the typed text.
_GLUED = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics)>.*?(?:</\1>|\Z)\s*",
    re.DOTALL,
)
_SHELL = re.compile(r"<bash-input>\s*(.*?)\s*</bash-input>", re.DOTALL)


def persons_words(text: str) -> tuple[str | None, str]:
    """``(text, "")`` for a text that a person typed, or ``(None, kind)`` for an injected one."""
    text = text.strip()
    if "<system-reminder>" in text or "<ide_" in text:
        text = _GLUED.sub("", text).strip()
        if not text:
            return None, "context"
    if text.startswith("<"):
        if text.startswith("<command-message>"):
            return slash_command(text), ""
        if shell := _SHELL.match(text):
            return f"! {shell[1]}", ""
    if start := _INJECTED_START.match(text):
        return None, _INJECTED[start[0]]
    return text, ""


def slash_command(text: str) -> str:
    """``/name arguments`` out of the tags in which the agent logs a slash command."""
    name = between(text, "<command-name>", "</command-name>")
    arguments = between(text, "<command-args>", "</command-args>")
    return " ".join(filter(None, (name, arguments))) or text


def is_rejection(text: str) -> bool:
    """Whether a tool result says that a person refused the call or stopped it."""
    return text.startswith(REJECTED)
