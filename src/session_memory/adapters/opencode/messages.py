"""Translate a message of opencode with its parts into events and usage."""

import re
from collections.abc import Iterator
from typing import Any

from session_memory.adapters.base import ChildLink, NativeEvent, NativeUsage
from session_memory.adapters.conversation import word
from session_memory.adapters.detectors import is_edit_tool, is_shell_tool
from session_memory.adapters.json_records import integer, mapping, name_in, string
from session_memory.adapters.providers import model_sold_by
from session_memory.adapters.reported_costs import microdollars
from session_memory.adapters.row_messages import Block
from session_memory.adapters.token_counts import count_of, together
from session_memory.adapters.tool_calls import call_event
from session_memory.adapters.tool_results import result_event
from session_memory.core.ids import fit_native_id
from session_memory.core.text import one_line

ABORTED = "MessageAbortedError"
# Parts of these types only repeat what other parts of the message say.
_SILENT = frozenset({"step-start", "step-finish", "snapshot", "patch"})
_REFUSED = re.compile(
    r"The user rejected permission to use this specific tool call"
    r"|The user dismissed this question|QuestionRejectedError"
)
_TIMED_OUT = re.compile(r"terminated command after exceeding timeout")
_OWN_COMMAND = "The following tool was executed by the user"
# `opencode run` puts quotes around an argument with spaces, and writes quotes in it like this.
_QUOTE = '\\"'
_SESSION_ID = re.compile(r"\bses_\w+")
_MOST_IDS = 100
_LONGEST_CALL = 24 * 60 * 60 * 1000
_ENDING = 400


def message_blocks(
    info: dict[str, Any], parts: list[dict[str, Any]], *, is_open: bool
) -> list[Block]:
    """Return the events of a message, each with a name. If opencode is still writing the message
    (``is_open``), leave out the events that may still change."""
    is_prompt = info.get("role") == "user"
    blocks = list(_prompt(info, parts)) if is_prompt else _answer(info, parts, is_open=is_open)
    for _, event in blocks:
        event.session_ids = _session_ids(event)
    return blocks


def _session_ids(event: NativeEvent) -> tuple[str, ...]:
    """Return the ids of sessions in an event. A fork of Kilo writes the ids of its own session and
    of its copies of subagents into prompts, answers and calls of subagents."""
    text = event.body or event.text
    named = _SESSION_ID.findall(text) if "ses_" in text else []
    if event.tool == "task":
        named += _SESSION_ID.findall(string(mapping(event.arguments).get("task_id")))
    return tuple(dict.fromkeys(named[:_MOST_IDS]))


def _answer(info: dict[str, Any], parts: list[dict[str, Any]], *, is_open: bool) -> list[Block]:
    blocks = [block for part in parts for block in _answer_part(info, part, is_open=is_open)]
    if error := mapping(info.get("error")):
        blocks.append(("error", _broken_off(error)))
    model = string(info.get("modelID")) or None
    for _, event in blocks:
        if event.role == "assistant":
            event.model = model
    spoken = [event for _, event in blocks if event.kind in ("assistant_msg", "tool_call")]
    if info.get("finish") == "stop" and spoken and spoken[-1].kind == "assistant_msg":
        spoken[-1].ends_turn = True
    return blocks


# ---------------------------------------------------------------- prompts


def _prompt(info: dict[str, Any], parts: list[dict[str, Any]]) -> Iterator[Block]:
    typed = [part for part in parts if _is_typed(part)]
    asked = False
    for part in parts:
        kind, text = word(part.get("type")), string(part.get("text"))
        is_typed = _is_typed(part) or (not typed and kind == "file")
        label = f"user/{kind}"
        if is_typed:
            words = _typed(text) or f"[file] {string(part.get('filename'))}".strip()
            event = NativeEvent("user_msg", "user", one_line(words), label, text=words)
            event.is_prompt, asked = not asked, True
        elif kind in _SILENT:
            continue
        else:
            event = NativeEvent("lifecycle", "user", one_line(text) or _about(kind, part), label)
            event.body = text
        yield string(part.get("id")), event
    if agent := one_line(string(info.get("agent"))):
        event = NativeEvent("lifecycle", "user", agent, "user/agent", mode=agent)
        if parts and not _is_injected(parts):
            yield "agent", event


def _typed(text: str) -> str:
    """Return a prompt as the person typed it."""
    inner = text[1:-1]
    is_quoted = text == f'"{inner}"' and " " in inner and '"' not in inner.replace(_QUOTE, "")
    return inner.replace(_QUOTE, '"') if is_quoted else text


def _is_typed(part: dict[str, Any]) -> bool:
    return part.get("type") == "text" and part.get("synthetic") is not True


def _is_injected(parts: list[dict[str, Any]]) -> bool:
    return not any(_is_typed(part) or part.get("type") == "file" for part in parts)


def _about(kind: str, part: dict[str, Any]) -> str:
    named = (string(part.get(name)) for name in ("filename", "name", "description", "prompt"))
    return one_line(f"[{kind}] {next(filter(None, named), '')}".strip())


def tells_own_command(parts: list[dict[str, Any]]) -> bool:
    """Whether a message to the model says that the person ran a command with ``!``. The command is
    in the answer to this message."""
    return any(part.get("text") == _OWN_COMMAND and not _is_typed(part) for part in parts)


def own_command(event: NativeEvent) -> NativeEvent:
    """Return the event of a command that the person ran, or of its output, in place of the event of
    a call or of its result."""
    if event.arguments is None:
        label = "user/shell_output"
        made = NativeEvent("lifecycle", "user", event.summary, label, body=event.text)
        made.exit_code = event.exit_code
        return made
    ran = f"! {string(mapping(event.arguments).get('command'))}"
    return NativeEvent("lifecycle", "user", one_line(ran), "user/shell", body=ran)


# ---------------------------------------------------------------- answers


def _answer_part(info: dict[str, Any], part: dict[str, Any], *, is_open: bool) -> Iterator[Block]:
    kind, text, own = word(part.get("type")), string(part.get("text")), string(part.get("id"))
    label = f"assistant/{kind}"
    # opencode writes a text again and again while it grows. The last version has a time of its end.
    is_ended = not is_open or "end" in mapping(part.get("time"))
    match kind:
        case "text" | "reasoning":
            if text and is_ended:
                yield own, _words(info, kind, text, label)
        case "tool":
            yield from _tool(own, part, label)
        case "retry":
            detail = string(mapping(mapping(part.get("error")).get("data")).get("message"))
            event = NativeEvent("error", "system", one_line(detail) or "retried", label)
            event.marks, event.is_error, event.body = ("retry",), True, detail
            yield own, event
        case _ if kind not in _SILENT:
            summary = one_line(text) or _about(kind, part)
            yield own, NativeEvent("lifecycle", "assistant", summary, label, body=text)


def _words(info: dict[str, Any], kind: str, text: str, label: str) -> NativeEvent:
    if info.get("summary") is True:
        return NativeEvent("lifecycle", "assistant", one_line(text), "summary", body=text)
    meaning = "thinking" if kind == "reasoning" else "assistant_msg"
    return NativeEvent(meaning, "assistant", one_line(text), label, body=text)


def _tool(own: str, part: dict[str, Any], label: str) -> Iterator[Block]:
    state = mapping(part.get("state"))
    status = state.get("status")
    if status == "pending":
        return
    arguments, call_id = state.get("input"), name_in(part.get("callID")) or own or "unnamed"
    tool = one_line(string(part.get("tool"))) or "unknown"
    given = mapping(arguments)
    if _is_half(state):
        summary = f"{tool}: the call did not arrive in full"
        yield own, NativeEvent("lifecycle", "assistant", summary, label)
        return
    if tool == "invalid":
        tool = one_line(string(given.get("tool"))) or tool
    path = string(given.get("filePath")) or string(given.get("path")) or None
    edits = is_edit_tool(tool, arguments)
    yield f"{own}/call", call_event(call_id, tool, arguments, label, path=path, is_edit=edits)
    if status in ("completed", "error"):
        yield f"{own}/result", _result(call_id, tool, part, state)


def _is_half(state: dict[str, Any]) -> bool:
    """Whether opencode received only a part of the call, because the connection broke.

    Such a call did not run. A call that was stopped while it ran has all its input and no ``raw``.
    """
    stopped = mapping(state.get("metadata")).get("interrupted") is True
    return stopped and state.get("status") == "error" and "raw" in state


def _result(call_id: str, tool: str, part: dict[str, Any], state: dict[str, Any]) -> NativeEvent:
    # opencode gives the status "completed" to a command that failed and to a call of an unknown
    # tool.
    output = string(state.get("output")) or string(state.get("error"))
    code = integer(mapping(state.get("metadata")).get("exit")) if is_shell_tool(tool) else None
    timed_out = is_shell_tool(tool) and _TIMED_OUT.search(output[-_ENDING:]) is not None
    failed = state.get("status") == "error" or part.get("tool") == "invalid" or timed_out
    refused = state.get("status") == "error" and _REFUSED.search(output[:_ENDING]) is not None
    event = result_event(
        call_id,
        one_line(output),
        "assistant/tool_result",
        failed=failed or bool(code),
        marks=("human_intervention",) if refused else (),
    )
    event.exit_code, event.text, event.is_shell = code, output, True
    event.is_interrupt = refused
    event.duration_ms = _took(mapping(state.get("time")))
    return event


def _took(times: dict[str, Any]) -> int | None:
    began, ended = times.get("start"), times.get("end")
    if type(began) is not int or type(ended) is not int:
        return None
    return ended - began if 0 <= ended - began <= _LONGEST_CALL else None


def _broken_off(error: dict[str, Any]) -> NativeEvent:
    name, text = (
        one_line(string(error.get("name"))),
        string(mapping(error.get("data")).get("message")),
    )
    summary = one_line(f"{name}: {text}" if text else name) or "error"
    if name == ABORTED:
        return NativeEvent(
            "human_intervention", "user", summary, "assistant/aborted", is_interrupt=True, body=text
        )
    return NativeEvent("error", "system", summary, "assistant/error", is_error=True, body=text)


def children(parts: list[dict[str, Any]]) -> list[ChildLink]:
    """Return the links to the subagents that the calls of a message started."""
    found = []
    for part in parts:
        metadata = mapping(mapping(part.get("state")).get("metadata"))
        child, call_id = string(metadata.get("sessionId")), name_in(part.get("callID"))
        if part.get("tool") == "task" and child and call_id:
            found.append(ChildLink(fit_native_id(child)[0], call_id))
    return found


# ---------------------------------------------------------------- usage


def usages(info: dict[str, Any], parts: list[dict[str, Any]], name: str) -> list[NativeUsage]:
    """Return the usage of the responses in a message. ``name`` is the id of the first usage, the
    same in every copy of the message.

    In old releases a message holds several responses, and the token counts of the message are those
    of its last response. So the counts of the message's steps are used.
    """
    if info.get("role") != "assistant":
        return []
    steps = [part for part in parts if part.get("type") == "step-finish"]
    used = steps if len(steps) > 1 else [info]
    found = [
        _usage(one, info, name if number == 0 else f"{name}/{number}")
        for number, one in enumerate(used)
    ]
    return [one for one in found if one is not None]


def _usage(used: dict[str, Any], info: dict[str, Any], name: str) -> NativeUsage | None:
    tokens = mapping(used.get("tokens"))
    cache = mapping(tokens.get("cache"))
    sent, given = count_of(tokens.get("input")), count_of(tokens.get("output"))
    thought = count_of(tokens.get("reasoning"))
    read, written = count_of(cache.get("read")), count_of(cache.get("write"))
    if not (sent or given or thought or read or written):
        return None
    model = name_in(info.get("modelID")) or "unknown"
    return NativeUsage(
        name,
        model_sold_by(string(info.get("providerID")), model),
        input_tokens=sent,
        output_tokens=together(given, thought),
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=thought,
        reported_cost=microdollars(used.get("cost")) or None,
    )
