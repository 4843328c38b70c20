"""Translate the calls that a model made into events, in all forms that Codex has logged."""

import re
from typing import Any

import msgspec

from session_memory.adapters.base import NativeEvent
from session_memory.adapters.codex.lines import Call
from session_memory.adapters.detectors import is_edit_tool, is_test_run, shell_edit, shell_text
from session_memory.adapters.tool_results import result_event
from session_memory.core.text import one_line

# How the result of a tool begins when the call worked: with a header about the command, or as
# JSON. Any other text is the reason why the call failed.
COMMAND, JSON = "command", "json"
_ANSWERS = {
    **dict.fromkeys(("shell", "shell_command", "exec_command", "local_shell"), COMMAND),
    **dict.fromkeys(("container.exec", "write_stdin", "apply_patch"), COMMAND),
    **dict.fromkeys(("spawn_agent", "wait_agent", "wait", "close_agent", "list_agents"), JSON),
    **dict.fromkeys(("send_input", "resume_agent", "request_user_input"), JSON),
}
CODE_MODE = "exec"
# The provider runs these calls itself. The item of the call is also its result.
_ANSWERED = frozenset({"web_search_call", "image_generation_call"})
_TOOLS = {
    "local_shell_call": "local_shell",
    "web_search_call": "web_search",
    "tool_search_call": "tool_search",
    "image_generation_call": "image_generation",
}
_DESCRIPTIVE = (
    "query",
    "path",
    "pattern",
    "url",
    "message",
    "prompt",
    "explanation",
    "name",
    "chars",
)
# In code mode a patch is a string in a script, with \n for its line ends.
_PATCHED_FILE = re.compile(r"\*\*\* (?:Update|Add|Delete) File: ([^\n\\\"'`]{1,500})")


def to_call(native: Call, kind: str, call_id: str) -> NativeEvent:
    """Return the event of a call. ``kind`` is the type of the logged item."""
    tool = _TOOLS.get(kind) or _tool_name(native)
    arguments = arguments_of(native)
    command = shell_text(tool, arguments)
    kinds, path, summary = ["tool_call"], None, command or _best_argument(arguments)
    edited = _edited(tool, arguments, command)
    if edited is not None:
        kinds.insert(0, "edit")
        path = edited or None
        summary = command or edited
    if command is not None and is_test_run(command):
        kinds.insert(0, "test_run")
    return NativeEvent(
        kinds[0],
        "assistant",
        one_line(summary),
        marks=tuple(kinds[1:]),
        tool=tool,
        call_id=call_id,
        path=path,
        arguments=arguments,
        is_shell=command is not None and tool != CODE_MODE,
    )


def answers_of(event: NativeEvent) -> str:
    """Return how the result of this call begins if the call worked: ``COMMAND``, ``JSON``, or ""
    for a tool whose results have no fixed beginning."""
    return _ANSWERS.get(event.tool or "", "")


def is_answered(kind: str) -> bool:
    """Whether a logged item of this type is a call together with its result."""
    return kind in _ANSWERED


def to_answer(call: NativeEvent, status: str | None) -> NativeEvent:
    """Return the result of a call that the provider ran itself."""
    failed = status in ("failed", "incomplete")
    return result_event(call.call_id, call.summary, failed=failed)


def _tool_name(native: Call) -> str:
    name, namespace = native.name or "unnamed", native.namespace or ""
    if namespace.startswith("mcp__") and not name.startswith("mcp__"):
        return f"{namespace.rstrip('_')}__{name}"
    return name


def arguments_of(native: Call) -> Any:
    """Return the arguments of a call, decoded if they are JSON."""
    for given in (native.arguments, native.input, native.action):
        if given is not None:
            break
    else:
        return native.query or native.revised_prompt
    if not isinstance(given, str) or not given.startswith(("{", "[")):
        return {"action": given} if given is native.action else given
    try:
        return msgspec.json.decode(given)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return given


def _edited(tool: str, arguments: Any, command: str | None) -> str | None:
    """Return the file that a call edits: "" if it is unknown, None if the call edits nothing."""
    if is_edit_tool(tool):
        match arguments:
            case str(patch) | {"input": str(patch)} | {"patch": str(patch)}:
                return _patched(patch)
            case {"path": str(path)} | {"file_path": str(path)}:
                return path
        return ""
    if tool == CODE_MODE and isinstance(arguments, str) and "*** Begin Patch" in arguments:
        return _patched(arguments)
    return shell_edit(command) if command is not None else None


def _patched(patch: str) -> str:
    found = _PATCHED_FILE.search(patch)
    return found[1].strip() if found else ""


def _best_argument(arguments: Any) -> str:
    """Return the text among the arguments that describes the call best, for its summary."""
    match arguments:
        case str(text):
            return text
        case {"action": dict(action)}:
            return _best_argument(action)
        case {"plan": [*_]}:
            return str(arguments.get("explanation") or "plan")
        case dict():
            for name in _DESCRIPTIVE:
                if isinstance(value := arguments.get(name), str) and value:
                    return value
            return next((v for v in arguments.values() if isinstance(v, str) and v), "")
    return ""
