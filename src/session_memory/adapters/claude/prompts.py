"""Distinguish what a person typed from injected text, in lines with the role of the user.

Evidence: docs/formats/claude.md, "Prompts".
"""

import re

from session_memory.core.injected import has_injected, without_injected
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
    "Unknown slash command: ": "command",
    "Unknown skill: ": "command",
}
_INJECTED_START = re.compile("|".join(map(re.escape, _INJECTED)))
# Messages of other agents, of hooks and of the program, each in a tag of its own.
_TAGGED = re.compile(r"<((?:[a-z]+-)+(?:message|reminder|notification|hook|boilerplate))[\s>]")
_HOOK = re.compile(
    r"(?:SessionStart|SessionEnd|UserPromptSubmit|PreToolUse|PostToolUse|PostToolUseFailure|Stop|"
    r"SubagentStart|SubagentStop|PreCompact|PostCompact|Notification|TeammateIdle|TaskCompleted|"
    r"PermissionRequest)(?::\S+)? (?:hook\b[^\n:]{0,40}|operation (?:blocked|stopped) by hook):"
)
# An accepted plan becomes the first prompt of a new session.
PLAN = re.compile(r"Implement the following plan:\s*")
_PLAN_BEGINS = "Implement the following plan:\n\n"
# A command to the program, not a path.
_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?:\s|\Z)")
# Versions before 2.1.50 put reports of background tasks into the queue of prompts in this form.
_TASK = '{"task_id":'
# Context that the agent adds in front of or behind the typed text.
_GLUED = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics)>.*?(?:</\1>|\Z)\s*",
    re.DOTALL,
)
_SHELL = re.compile(r"<bash-input>\s*(.*?)\s*</bash-input>", re.DOTALL)


def persons_words(text: str) -> tuple[str | None, str]:
    """Return ``(text, "")`` for a text that a person typed, or ``(None, kind)`` for an injected
    one. Context that was added to the typed text is removed."""
    text = text.strip()
    if has_injected(text):
        text = without_injected(text).strip()
        if not text:
            return None, "session_memory"
    if "<system-reminder>" in text or "<ide_" in text:
        text = _GLUED.sub("", text).strip()
        if not text:
            return None, "context"
    if text.startswith("<"):
        if text.startswith("<command-message>"):
            return slash_command(text), ""
        if shell := _SHELL.match(text):
            return f"! {shell[1]}", ""
        if tagged := _TAGGED.match(text):
            return None, tagged[1].replace("-", "_")
    if text.startswith(_PLAN_BEGINS):
        return None, "plan"
    if _HOOK.match(text):
        return None, "hook"
    if start := _INJECTED_START.match(text):
        return None, _INJECTED[start[0]]
    return text, ""


def typed(text: str) -> str | None:
    """Return what a person typed in an entry of the queue of prompts; None for a command, a report
    of a task or an empty entry."""
    words = persons_words(text)[0]
    if not words or words.startswith(_TASK) or _COMMAND.match(words):
        return None
    return words


def slash_command(text: str) -> str:
    """Return ``/name arguments`` from the tags in which Claude Code logs a slash command."""
    name = between(text, "<command-name>", "</command-name>")
    if name and not name.startswith("/"):
        # Version 1.0.17 writes the name without the slash.
        name = f"/{name}"
    arguments = between(text, "<command-args>", "</command-args>")
    return " ".join(filter(None, (name, arguments))) or text


def is_rejection(text: str) -> bool:
    """Whether a tool result says that a person refused the call or stopped it."""
    return text.startswith(REJECTED)
