"""Distinguish what a person typed from injected text, in messages with the role of the user.

Evidence: docs/formats/codex.md, "Prompts".
"""

import re
from typing import Any

import msgspec

from session_memory.core.injected import is_injected, without_injected

DELEGATION = "codex_delegation"
_TAGS = (
    *("environment_context", "user_instructions", "turn_aborted", "subagent_notification"),
    *("skill", "user_action", "user_shell_command", "recommended_plugins", "hook_prompt"),
    *("codex_internal_context", "goal_context", DELEGATION, "image_resize_notice"),
)
_TAGGED = re.compile(rf"<({'|'.join(_TAGS)}|external_\w+)[\s>]")
# Any other text in a tag whose name has an underscore. A person does not type that.
_WRAPPED = re.compile(r"<([a-z]\w*_\w+)(?: [^>]*)?>")
_OPENINGS = {
    "# AGENTS.md instructions": "agents_md",
    "Another language model started to solve this problem": "compact_summary",
    "Warning: apply_patch was requested via ": "warning",
    "Warning: The maximum number of unified exec processes": "warning",
    "Warning: Your account was flagged": "warning",
}
_OPENING = re.compile("|".join(map(re.escape, _OPENINGS)))
# Editors put the open file or the selection in front of the typed text.
_EDITOR = (
    *("# Context from my IDE setup:", "# Files mentioned by the user:", "# Review findings:"),
    *("## Code review guidelines:",),
)
_REQUEST_BEGINS = "## My request for Codex:"
_REQUEST = re.compile(rf"^{_REQUEST_BEGINS}\s*", re.MULTILINE)
_INJECTED_KINDS = ("user_instructions", "environment_context")


# When a person accepts a plan, Codex sends a prompt in the person's name: a reminder of the plan,
# or the whole plan to a fresh context.
_PLAN_BEGINS = "PLEASE IMPLEMENT THIS PLAN:"
_FRESH_PLAN = "A previous agent produced the plan below to accomplish the user's task."
_PLAN_ACCEPTED = "Implement the plan."


def accepted_plan(text: str) -> str | None:
    """Return the plan in a message that Codex sent when a person accepted it; "" if the message
    only reminds of it. None for any other text."""
    text = text.strip()
    if text.startswith(_PLAN_BEGINS):
        return text.removeprefix(_PLAN_BEGINS).strip()
    if text.startswith(_FRESH_PLAN):
        return text.partition("\n\n")[2].strip()
    return "" if text == _PLAN_ACCEPTED else None


# A request to a guardian (a subagent that reviews an action) has the history, then the action.
_ACTION_BEGINS, _ACTION_ENDS = "\nPlanned action JSON:", ">>> APPROVAL REQUEST END"
_ACTION_NAMES = ("justification", "reason", "command", "files", "url", "host", "tool_name", "tool")
_GUARDIAN = "The following is the Codex agent history"


def assessed_action(text: str) -> str | None:
    """Return a description of the action that a guardian has to assess; None if the text is no
    request to a guardian."""
    if not text.startswith(_GUARDIAN):
        return None
    body = text.rpartition(_ACTION_BEGINS)[2].partition(_ACTION_ENDS)[0]
    try:
        action = msgspec.json.decode(body.encode("utf-8", "replace"), type=dict[str, Any])
    except msgspec.MsgspecError:
        return None
    for name in _ACTION_NAMES:
        match action.get(name):
            case str(words) if words.strip():
                return words.strip()
            case [*_, str(words)] if words.strip():
                return words.strip()
    return None


def injected_as(text: str) -> str:
    """Return the kind of an injected text; "" if a person may have written the text."""
    text = text.strip()
    if text.startswith("<"):
        if tagged := _TAGGED.match(text):
            return tagged[1]
        if is_injected(text):
            return "session_memory"
        wrapped = _WRAPPED.match(text)
        return wrapped[1] if wrapped and text.endswith(f"</{wrapped[1]}>") else ""
    if opening := _OPENING.match(text):
        return _OPENINGS[opening[0]]
    if text.startswith(_EDITOR) and not _REQUEST.search(text):
        return "editor_context"
    return ""


def is_delegated(text: str) -> bool:
    """Whether another thread (session) wrote the text. Codex shows such a text like a prompt."""
    return text.lstrip().startswith(f"<{DELEGATION}>")


def is_injected_kind(kind: str | None) -> bool:
    """Whether ``kind`` is one with which early versions of Codex mark an injected user message."""
    return kind in _INJECTED_KINDS


def persons_words(text: str) -> str:
    """Return the text that a person typed, without the context that an editor or a hook added."""
    text = without_injected(text)
    return _request(text) or text


def persons_request(text: str) -> str:
    """Return the request behind the context that an editor put in front of it; "" for any other
    text."""
    return _request(text) if text.startswith(_EDITOR) else ""


def _request(text: str) -> str:
    if _REQUEST_BEGINS in text and (request := _REQUEST.search(text)):
        return text[request.end() :].strip()
    return ""
