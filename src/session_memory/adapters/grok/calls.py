"""Translate calls in logs of Grok, their results, and the subagents and background commands that
they start."""

import re
from typing import Any
from zlib import crc32

from session_memory.adapters.base import CallOutcome, ChildLink, NativeEvent, Record
from session_memory.adapters.detectors import is_edit_tool
from session_memory.adapters.grok.lines import (
    BackgroundTask,
    ContentItem,
    RawOutput,
    Update,
    UpdateMeta,
    decode_output,
    decode_value,
    text_of_bytes,
)
from session_memory.adapters.grok.messages import lifecycle, text_of
from session_memory.adapters.grok.names import fit
from session_memory.adapters.grok.state import LogState
from session_memory.adapters.tool_calls import call_event
from session_memory.adapters.tool_results import result_event
from session_memory.core.text import one_line

# Only the beginning and the end of an output are kept: enough for a summary and a test result.
LONGEST_TEXT = 256 * 1024
LONGEST_ACCOUNT = 64 * 1024
ASKING_TOOLS = frozenset({"ask_user_question", "exit_plan_mode"})
# How the ids of calls begin that a person made by typing a command.
TYPED = "bash-mode-"
SPAWNING_TOOLS = frozenset({"spawn_subagent", "task"})
REFUSED = "User rejected the execution"
REFUSED_BY_A_PERSON = (
    REFUSED,
    "User cancelled the execution",
    "The user elected to avoid running",
    "Tool execution was halted by the harness (user_cancel)",
)
_EDITING = frozenset({"edit", "write"})
_PATHS = ("file_path", "target_file", "path", "filePath", "notebook_path", "target_directory")
_OUTPUTS = frozenset({"output", "content", "text", "message", "summary", "error"})
_STARTED = re.compile(r"Subagent started in background\.\s+subagent_id: (\S{1,200})\s")
_EXIT = re.compile(r"\Aexit: -?\d+\n?")


def call(update: Update, record: Record, state: LogState, saying: str) -> None:
    call_id = update.call_id
    given = crc32(update.raw_input)
    if call_id and state.inputs.get(call_id, given) == given and call_id in state.calls:
        record.bookkeeping = "tool_call"
        return
    if not call_id or call_id in state.calls or call_id in state.answered:
        # The call has no id, or the id of an earlier call. So it is shown, but not as a call.
        lifecycle(update, record, f"{update.title or ''} {_as_text(update)}".strip())
        return
    if call_id.startswith(TYPED):
        lifecycle(update, record, update.title)
        return
    meta = (update.meta or UpdateMeta()).tool
    tool = (meta and meta.name) or update.title or update.tool_kind or "unknown"
    arguments = decode_value(update.raw_input)
    event = _call_event(call_id, tool, meta.kind if meta else None, arguments)
    event.model = state.model
    about = arguments.get("description") if isinstance(arguments, dict) else None
    state.opens(call_id, tool, about if isinstance(about, str) else "", given)
    state.is_answering = True
    record.events.append(event)
    if update.status in ("completed", "failed"):
        # A call of the provider's own tools may be logged only after it has ended.
        record.events.append(_result_event(update, record, state, call_id))


def _as_text(update: Update) -> str:
    """Return the arguments of a call as the JSON text in its line."""
    return bytes(update.raw_input).decode("utf-8", "replace")[:LONGEST_TEXT]


def _call_event(call_id: str, tool: str, tool_kind: str | None, arguments: Any) -> NativeEvent:
    path = None
    if isinstance(arguments, dict):
        path = next((v for n in _PATHS if isinstance(v := arguments.get(n), str) and v), None)
    is_edit = is_edit_tool(tool, arguments) or tool_kind in _EDITING
    event = call_event(call_id, tool, arguments, "tool_call", path=path, is_edit=is_edit)
    event.tool = one_line(tool)
    return event


def call_update(update: Update, record: Record, state: LogState, saying: str) -> None:
    """Translate an update of a call. The result is in its last update, or in the one that says the
    command now runs in the background. Other updates only change how the call is shown, so they are
    bookkeeping."""
    call_id = update.call_id
    record.bookkeeping = "tool_call_update"
    is_over = update.status in ("completed", "failed")
    if not call_id:
        if is_over:
            record.bookkeeping = None
            lifecycle(update, record, _result_text(update, decode_output(update.raw_output)))
        return
    if not is_over and b'"backgrounded"' not in bytes(memoryview(update.raw_output)[-4096:]):
        return
    if call_id in state.answered:
        return
    output = decode_output(update.raw_output)
    if call_id.startswith(TYPED):
        if is_over:
            record.bookkeeping = None
            lifecycle(update, record, _result_text(update, output))
            record.events[0].exit_code = _exit_code(output.exit_code)
        return
    if is_over or output.signal == "backgrounded":
        record.bookkeeping = None
        record.events.append(_result_event(update, record, state, call_id, output))


def _result_event(
    update: Update,
    record: Record,
    state: LogState,
    call_id: str,
    output: RawOutput | None = None,
) -> NativeEvent:
    output = output or decode_output(update.raw_output)
    tool = state.calls.get(call_id, ("", ""))[0]
    state.answers(call_id)
    text = _result_text(update, output)
    in_background = output.signal == "backgrounded" or output.type == "BackgroundTaskStarted"
    # The exit status counts only for commands. A search that found nothing has an exit status, too,
    # but did not fail.
    exit_code = _exit_code(output.exit_code) if output.type in ("Bash", None) else None
    if in_background:
        exit_code = None
    failed = update.status == "failed" or bool(exit_code) or bool(output.timed_out)
    refused = failed and text.startswith(REFUSED_BY_A_PERSON)
    marks: list[str] = []
    state.is_refused |= failed and text.startswith(REFUSED)
    if refused:
        marks.append("human_intervention")
    if tool in ASKING_TOOLS and not failed:
        marks.append("decision")
    child = output.subagent_id
    if child is None and tool in SPAWNING_TOOLS and (started := _STARTED.match(text)):
        child = started[1]
    if child:
        record.link = ChildLink(fit(child), call_id)
    summary = one_line(text)
    event = result_event(call_id, summary, "tool_call_update", failed=failed, marks=tuple(marks))
    event.exit_code, event.text = exit_code, text
    event.is_shell, event.is_interrupt = not in_background, refused
    return event


def _exit_code(code: int | None) -> int | None:
    return code if code is not None and -(1 << 31) <= code < 1 << 31 else None


def _result_text(update: Update, output: RawOutput) -> str:
    """Return the text of a result.

    It is the text that the person saw, else the one that the model got, else the bytes that the
    tool printed, else the best text in the tool's report, else the title of the call.
    """
    shown = ""
    if isinstance(update.content, list):
        shown = "\n".join(filter(None, map(_item_text, update.content[:1000])))
    elif update.content is not None:
        shown = text_of(update.content)
    return (
        shown
        or _EXIT.sub("", output.for_prompt or "")
        or text_of_bytes(output.output, LONGEST_TEXT)
        or ("" if output.for_prompt else _account(update) or update.title or "")
    )


def _item_text(item: ContentItem) -> str:
    return text_of(item.content) if item.content is not None else item.path or ""


def _account(update: Update) -> str:
    """Return the best text in a tool's own report, for a result without any other text."""
    if len(memoryview(update.raw_output)) > LONGEST_ACCOUNT:
        return ""
    waiting, others = [("", decode_value(update.raw_output))], []
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, str) and value:
            if name in _OUTPUTS or name.endswith("Output"):
                return value
            others.append(value)
        elif isinstance(value, dict):
            waiting += [pair for pair in reversed(value.items()) if pair[0] != "type"]
        elif isinstance(value, list):
            waiting += [(name, item) for item in reversed(value[:20])]
    return others[0] if others else ""


# ---------------------------------------------------------------- subagents and tasks


def spawned(update: Update, record: Record, state: LogState, saying: str) -> None:
    if update.child:
        child = fit(update.child)
        state.starts_child(child, update.parent_prompt_id)
        calls = [
            call_id
            for call_id, (tool, about) in state.calls.items()
            if tool in SPAWNING_TOOLS and about == (update.description or "")[:200]
        ]
        if len(calls) == 1:
            record.link = ChildLink(child, calls[0])
    lifecycle(update, record, update.description)


def finished(update: Update, record: Record, state: LogState, saying: str) -> None:
    if update.child:
        state.ends_child(fit(update.child))
    lifecycle(update, record, f"{update.status or 'ended'}: {update.output or update.error or ''}")


def backgrounded(update: Update, record: Record, state: LogState, saying: str) -> None:
    if update.task_id and update.task_call_id:
        state.runs_on(update.task_id, update.task_call_id)
    lifecycle(update, record, update.command)


def task_completed(update: Update, record: Record, state: LogState, saying: str) -> None:
    """Translate the end of a background command. Its call usually has a result since it went to the
    background, so this record only adds the exit status."""
    task = update.task or BackgroundTask()
    lifecycle(update, record, task.display_command or task.command)
    code = record.events[0].exit_code = _exit_code(task.exit_code)
    call_id = state.tasks.pop(task.task_id or "", None)
    failed = bool(code) and not task.explicitly_killed
    if call_id in state.calls:
        # The turn was aborted before the agent logged that the call runs in the background.
        state.answers(call_id)
        record.events.append(_ended(call_id, code, failed))
    elif call_id and code is not None:
        record.outcomes = [CallOutcome(call_id, is_error=failed or None, exit_code=code)]


def _ended(call_id: str, code: int | None, failed: bool) -> NativeEvent:
    event = result_event(call_id, "ended in the background", "task_completed", failed=failed)
    event.exit_code = code
    return event
