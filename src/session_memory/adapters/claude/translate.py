"""One line of a Claude Code log into one record. The ``match`` statements *are* the format."""

import re
from functools import lru_cache
from typing import Any
from zlib import crc32

import msgspec

from session_memory.adapters.base import ChildLink, NativeEvent, NativeUsage, Record, SourceRef
from session_memory.adapters.claude.kinds import BOOKKEEPING
from session_memory.adapters.claude.lines import (
    Attachment,
    Block,
    Failure,
    Item,
    Line,
    Message,
    TokenUsage,
    ToolUseResult,
    decode,
)
from session_memory.adapters.claude.prompts import (
    INTERRUPTED,
    PERSONS_WORDS,
    is_rejection,
    persons_words,
)
from session_memory.adapters.detectors import (
    is_edit_tool,
    is_test_run,
    most_telling,
    shell_edit,
    shell_text,
)
from session_memory.adapters.jsonl import decode_anything
from session_memory.adapters.token_counts import part_of, usable_count
from session_memory.adapters.words import strings_in
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped, one_line
from session_memory.core.time import parse_time

SYNTHETIC = "<synthetic>"
# What no response and no turn can come to: sums over such figures would fit no column.
MOST_MS = 1e12
# Every block becomes an event, all of a line at once; real messages have a few dozen.
MOST_BLOCKS = 10_000
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,9})\b")
_DETAIL = 120


def from_line(ref: SourceRef, offset: int, length: int, line: bytes | None) -> Record:
    """The record of one line; a line that cannot be read is a record with a problem."""
    if line is None:
        return Record(offset, length, session_of(ref, None), problem="line too long")
    try:
        native, lenient = decode(line)
        if length > MOST_BLOCKS and len(_blocks(native.message or Message())) > MOST_BLOCKS:
            raise ValueError(f"a message of more than {MOST_BLOCKS:,} blocks")
    except ValueError as error:
        detail = one_line(str(error), _DETAIL)
        return Record(
            offset, length, session_of(ref, None), problem="malformed line", problem_detail=detail
        )
    record = Record(
        offset,
        length,
        session_of(ref, native),
        native_id=_record_id(native.uuid),
        parent_id=native.parentUuid,
        ts=_time(native.timestamp),
        is_sidechain=bool(native.isSidechain),
        cwd=native.cwd,
        git_branch=native.gitBranch,
        agent_version=native.version,
        lenient=lenient,
    )
    if record.session.startswith("x-") and record.session != (native.sessionId or ref.session):
        record.unfit_name = native.sessionId or ref.session
    if ref.agent:
        parent = native.sessionId or ref.session
        record.parent_session = _fit(parent) if parent else None
    if record.native_id is None:
        record.check = crc32(line)
    _TRANSLATE.get(native.type, _unknown)(native, record)
    return record


def from_meta(ref: SourceRef, body: bytes) -> Record:
    """The facts in a subagent's ``.meta.json``."""
    record = Record(0, len(body), _agent_session(ref.session, ref.agent))
    record.parent_session = ref.session or None
    try:
        meta = decode_anything(body)
    except ValueError:
        meta = None
    if not isinstance(meta, dict):
        record.problem = "malformed document"
        return record
    depth = meta.get("spawnDepth")
    parent = meta.get("parentAgentId")
    record.facts = {
        "spawn_call_id": _text_or_none(meta.get("toolUseId")),
        "spawn_depth": depth if isinstance(depth, int) and 0 < depth < 1 << 31 else None,
        "parent": _agent_session(ref.session, parent) if isinstance(parent, str) else None,
        "agent_name": _text_or_none(meta.get("description")),
    }
    return record


def session_named_in(line: bytes | None) -> str | None:
    """The session that a line says it belongs to, if it is a line at all and says so."""
    try:
        return decode(line)[0].sessionId if line is not None else None
    except ValueError:
        return None


def session_of(ref: SourceRef, line: Line | None) -> str:
    """The native id of the session a line belongs to: its own word first, then its file's name."""
    session = (line.sessionId if line is not None else None) or ref.session
    return _agent_session(session, ref.agent) if ref.agent else _fit(session)


@lru_cache(maxsize=4096)
def _agent_session(session: str, agent: str) -> str:
    return _fit(f"{session}:{agent}" if session else f"agent-{agent}")


@lru_cache(maxsize=4096)
def _fit(native_id: str) -> str:
    # Escaped, as the store keeps the names of files: read again from there, it is the same id.
    return fit_native_id(escaped(native_id))[0]


def _record_id(uuid: str | None) -> str | None:
    if not uuid:
        return None
    return uuid if len(uuid) == 36 and uuid.replace("-", "").isalnum() else _fit(uuid)


def _time(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_time(text)
    except ValueError:
        return None


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


# ---------------------------------------------------------------- assistant


def _assistant(native: Line, record: Record) -> None:
    message = native.message or Message()
    model = message.model if message.model != SYNTHETIC else None
    response = message.id or native.requestId
    counts = model and not native.isApiErrorMessage and not native.isAbortedMidStream
    if counts and model and message.usage is not None:
        usage_id = response or native.uuid or f"{record.session}@{record.offset}-{record.check:x}"
        record.usage = to_usage(escaped(usage_id), model, message.usage)
    # Versions before 2.1.80 leave stop_reason empty: the last text of a turn ends it there.
    ends_turn = message.stop_reason in ("end_turn", None) and not native.isAbortedMidStream
    for block in _blocks(message):
        event = _assistant_block(native, block, model)
        event.model = model
        event.response_id = response if model else None
        event.ends_turn = ends_turn and event.kind == "assistant_msg"
        record.events.append(event)


def _assistant_block(native: Line, block: Block, model: str | None) -> NativeEvent:
    match block.type:
        case "text":
            return _answer(native, block.text or "", model)
        case "thinking" | "redacted_thinking":
            return NativeEvent(
                "thinking",
                "assistant",
                one_line(block.thinking or ""),
                "assistant/" + block.type,
                body=block.thinking or "",
            )
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            return _call(block)
        case kind if kind.endswith("_tool_result") and block.tool_use_id:
            return _server_result(block)
        case kind:
            text = block.text or ""
            return NativeEvent(
                "lifecycle", "assistant", one_line(text), f"assistant/{kind}", body=text
            )


def _answer(native: Line, text: str, model: str | None) -> NativeEvent:
    if native.isApiErrorMessage:
        kind, native_kind = "error", "assistant/api_error"
    elif model is None:
        kind, native_kind = "lifecycle", "assistant/synthetic"
    else:
        kind, native_kind = "assistant_msg", "assistant/text"
    return NativeEvent(kind, "assistant", one_line(text), native_kind, body=text)


def _call(block: Block) -> NativeEvent:
    tool = block.name or ""
    arguments = block.input
    command = shell_text(tool, arguments)
    kinds, path, summary = ["tool_call"], None, ""
    if isinstance(arguments, dict):
        path = _text_or_none(arguments.get("file_path") or arguments.get("notebook_path"))
        summary = "" if path else most_telling(arguments, _TELLING)
    if command is not None:
        summary = command
        edited = shell_edit(command)
        if edited is not None:
            kinds.insert(0, "edit")
            path = edited or None
        if is_test_run(command):
            kinds.insert(0, "test_run")
    elif is_edit_tool(tool):
        kinds.insert(0, "edit")
    return NativeEvent(
        kinds[0],
        "assistant",
        one_line(summary) if summary else "",
        "assistant/" + block.type,
        marks=tuple(kinds[1:]),
        tool=tool or None,
        call_id=block.id,
        path=path,
        arguments=arguments,
        is_shell=command is not None,
    )


_TELLING = ("description", "pattern", "query", "url", "prompt", "skill", "command", "name")


def _server_result(block: Block) -> NativeEvent:
    text = result_text(block.content)
    failed = isinstance(block.content, Failure) and block.content.error_code is not None
    return NativeEvent(
        "error" if failed else "tool_result",
        "tool",
        one_line(text),
        "assistant/" + block.type,
        marks=("tool_result",) if failed else (),
        call_id=block.tool_use_id,
        is_error=failed,
        body=text,
    )


def to_usage(usage_id: str, model: str, usage: TokenUsage) -> NativeUsage:
    """Disjoint buckets; ``iterations`` repeats the totals and is not added."""
    creation, written = usage.cache_creation, usage.cache_creation_input_tokens
    one_hour = (creation.ephemeral_1h_input_tokens or 0) if creation else 0
    if written is None:
        five_minutes = (creation.ephemeral_5m_input_tokens or 0) if creation else 0
        written = usable_count(one_hour) + five_minutes
    details, tools = usage.output_tokens_details, usage.server_tool_use
    buckets = (
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        usage.cache_read_input_tokens or 0,
        written,
        part_of(one_hour, written),
        (details.thinking_tokens or 0) if details else 0,
        (tools.web_search_requests or 0) if tools else 0,
    )
    return NativeUsage(usage_id, model, *buckets, usage.speed, usage.service_tier)


# ---------------------------------------------------------------- user


def _user(native: Line, record: Record) -> None:
    has_words = False
    for block in _blocks(native.message or Message()):
        match block.type:
            case "tool_result":
                event = _result(native, block, record)
            case "text":
                event = _user_text(native, block.text or "", has_words)
                has_words = has_words or event.is_prompt
            case kind:
                event = NativeEvent("lifecycle", "user", f"[{kind}]", f"user/{kind}")
        record.events.append(event)
    if (
        not has_words
        and record.events[-1].role == "user"
        and not native.isMeta
        and not native.isSidechain
    ):
        _count_a_wordless_prompt(record)


def _count_a_wordless_prompt(record: Record) -> None:
    """A pasted image without a word is a prompt too."""
    pasted = [e for e in record.events if e.native_kind in ("user/image", "user/document")]
    glued = [e for e in record.events if e.native_kind == "user/context"]
    if pasted and len(pasted) + len(glued) == len(record.events):
        pasted[0].kind, pasted[0].is_prompt = "user_msg", True


def _user_text(native: Line, text: str, has_words: bool) -> NativeEvent:
    if text.startswith(INTERRUPTED):
        return NativeEvent(
            "human_intervention",
            "user",
            one_line(text),
            "user/interrupt",
            is_interrupt=True,
            body=text,
        )
    instead = _injected_by(native)
    words: str | None = None
    if not instead:
        words, instead = persons_words(text)
    if words is None or has_words:
        kind = f"user/{instead or 'text'}"
        return NativeEvent("lifecycle", "user", one_line(text), kind, body=text)
    event = NativeEvent("user_msg", "user", one_line(words), "user/text", is_prompt=True)
    event.text, event.body = words, text
    return event


def _injected_by(native: Line) -> str:
    if native.isCompactSummary:
        return "compact_summary"
    if native.isMeta:
        return "meta"
    if native.isSidechain:
        return "subagent_prompt"
    if native.origin is not None and native.origin.kind not in (None, "human"):
        return (native.origin.kind or "").replace("-", "_")
    return "system" if native.promptSource == "system" else ""


def _result(native: Line, block: Block, record: Record) -> NativeEvent:
    text = result_text(block.content)
    told = native.toolUseResult if isinstance(native.toolUseResult, ToolUseResult) else None
    rejected = _rejected(native, text)
    failed = bool(block.is_error) or rejected or bool(told and told.interrupted)
    marks = ["tool_result"] if failed else []
    if rejected:
        marks.append("human_intervention")
    if _granted(native):
        marks.append("decision")
    if told is not None and told.agentId and block.tool_use_id:
        root = native.sessionId or record.session
        record.link = ChildLink(_agent_session(root, told.agentId), block.tool_use_id)
    exit_code = _EXIT_CODE.match(text) if failed else None
    return NativeEvent(
        "error" if failed else "tool_result",
        "tool",
        _answers(told) or one_line(text),
        "user/tool_result",
        marks=tuple(marks),
        call_id=block.tool_use_id,
        is_error=failed,
        duration_ms=_duration(told),
        exit_code=int(exit_code[1]) if exit_code else None,
        text=text,
        is_interrupt=rejected,
        has_words=rejected and (bool(native.holdsPersonsWords) or PERSONS_WORDS in text),
        is_shell=not (told is not None and told.backgroundTaskId),
    )


def _rejected(native: Line, text: str) -> bool:
    """A person said no: refused before it ran, or stopped it. Rules and hooks are no persons."""
    decision = native.permissionDecision
    if decision is not None and decision.decision == "reject":
        return (decision.source or "").startswith("user_")
    if native.toolDenialKind is not None:
        return native.toolDenialKind.startswith("user") or bool(native.holdsPersonsWords)
    return is_rejection(text) or native.toolUseResult == "User rejected tool use"


def _granted(native: Line) -> bool:
    decision = native.permissionDecision
    return (
        decision is not None
        and decision.decision == "accept"
        and (decision.source or "").startswith("user_")
    )


def _answers(told: ToolUseResult | None) -> str:
    """What a person chose when asked, question by question."""
    chosen = told.answers if told is not None else None
    if not isinstance(chosen, dict):
        return ""
    return one_line("; ".join(f"{question} → {answer}" for question, answer in chosen.items()))


def _duration(told: ToolUseResult | None) -> int | None:
    if told is None:
        return None
    spent = told.durationMs if told.durationMs is not None else told.totalDurationMs
    return int(spent) if spent is not None and 0 <= spent < MOST_MS else None


def result_text(content: str | list[Item] | Failure | None) -> str:
    """The text of a tool result: a string, or a list of blocks with images by name."""
    if isinstance(content, str):
        return content
    if isinstance(content, Failure):
        return content.error_code or content.stdout or content.url or content.type or ""
    return "\n".join(
        item.text if item.text is not None else f"[{item.type}]" for item in content or ()
    )


def _blocks(message: Message) -> list[Block]:
    if isinstance(message.content, str):
        return [Block("text", message.content)]
    return message.content or [Block("empty")]


# ---------------------------------------------------------------- everything else


def _system(native: Line, record: Record) -> None:
    native_kind = f"system/{native.subtype}"
    said = native.content if isinstance(native.content, str) else ""
    text = one_line(said)
    match native.subtype:
        case "api_error":
            error = native.error if isinstance(native.error, dict) else {}
            formatted = error.get("formatted") or error.get("status")
            event = NativeEvent(
                "error",
                "system",
                one_line(f"{formatted or 'API error'}, attempt {native.retryAttempt or 1:g}"),
                native_kind,
                marks=("retry",) if native.retryAttempt else (),
            )
        case "turn_duration":
            spent = native.durationMs
            valid = spent is not None and 0 <= spent < MOST_MS
            event = NativeEvent("completion", "system", "turn ended", native_kind)
            event.duration_ms = int(spent) if valid and spent is not None else None
        case "compact_boundary":
            record.parent_id = native.logicalParentUuid or native.parentUuid
            event = NativeEvent("lifecycle", "system", text or "compacted", native_kind)
        case _:
            event = NativeEvent("lifecycle", "system", text, native_kind)
    event.body = said
    record.events.append(event)


def _attachment(native: Line, record: Record) -> None:
    attachment = native.attachment or Attachment()
    native_kind = f"attachment/{attachment.type}"
    if attachment.type == "queued_command" and (words := _queued_words(attachment)):
        # Typed while the agent worked and taken up in the middle of a turn: this attachment is
        # the only record of the prompt.
        event = NativeEvent(
            "human_intervention",
            "user",
            one_line(words),
            native_kind,
            marks=("user_msg",),
            is_prompt=True,
            text=words,
        )
    elif attachment.type.startswith("plan_mode"):
        event = NativeEvent("decision", "user", attachment.type.replace("_", " "), native_kind)
    else:
        content = attachment.content
        summary = one_line(content) if isinstance(content, str) else ""
        event = NativeEvent("lifecycle", "system", summary, native_kind)
        event.body = _attached(attachment)
    record.events.append(event)


def _attached(attachment: Attachment) -> str:
    """What came with a prompt: a file, a hook's output, a reminder."""
    said = [*strings_in(attachment.content), attachment.snippet]
    return "\n".join(filter(None, (*said, attachment.stdout, attachment.stderr)))


def _queued_words(attachment: Attachment) -> str | None:
    origin = attachment.origin.kind if attachment.origin else None
    if attachment.isMeta or origin not in (None, "human"):
        return None
    if attachment.commandMode not in (None, "prompt", "bash"):
        return None
    return persons_words(result_text(attachment.prompt))[0]


def _progress(native: Line, record: Record) -> None:
    record.bookkeeping = native.type
    progress = native.data
    if progress is not None and progress.agentId and native.parentToolUseID:
        root = native.sessionId or record.session
        record.link = ChildLink(_agent_session(root, progress.agentId), native.parentToolUseID)


def _title(native: Line, record: Record) -> None:
    match native.type:
        case "custom-title":
            record.facts = {"custom_title": native.customTitle}
            said = native.customTitle
        case "ai-title":
            record.facts = {"ai_title": native.aiTitle}
            said = native.aiTitle
        case "agent-name":
            record.facts = {"agent_name": native.agentName}
            said = native.agentName
        case _:
            record.facts = {"summary": native.summary, "leaf": native.leafUuid}
            said = native.summary
    said = said or ""
    record.events.append(NativeEvent("lifecycle", "system", one_line(said), native.type, body=said))


def _mode(native: Line, record: Record) -> None:
    mode = native.permissionMode or native.mode or ""
    event = NativeEvent("lifecycle", "user", one_line(mode), native.type, mode=mode)
    record.events.append(event)


def _bookkeeping(native: Line, record: Record) -> None:
    record.bookkeeping = native.type


def _queue_operation(native: Line, record: Record) -> None:
    said = native.content if isinstance(native.content, str) else ""
    summary = one_line(f"{native.operation}: {one_line(said)}".rstrip(": "))
    record.events.append(NativeEvent("lifecycle", "system", summary, native.type, body=said))


def _unknown(native: Line, record: Record) -> None:
    # Claude Code gains line types faster than we learn them. Kept whole, an unknown one can be
    # read properly by a later release, when the file itself may be long gone.
    summary = one_line(native.summary or native.prUrl or "")
    kind = one_line(native.type) or "untyped"
    record.events.append(NativeEvent("lifecycle", "system", summary, kind))


_TRANSLATE = {
    "assistant": _assistant,
    "user": _user,
    "system": _system,
    "attachment": _attachment,
    "progress": _progress,
    "queue-operation": _queue_operation,
    "permission-mode": _mode,
    "mode": _mode,
    **dict.fromkeys(("custom-title", "ai-title", "agent-name", "summary"), _title),
    **dict.fromkeys(BOOKKEEPING - {"progress"}, _bookkeeping),
}


def payload(line: bytes) -> Any:
    """The whole record for ``show --full``; text when it is no JSON."""
    try:
        return msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return line.decode("utf-8", "backslashreplace")
