"""Translate the lines of Claude Code that are neither of type ``user`` nor ``assistant``: system
messages, attachments, titles, modes, and unknown types."""

from collections.abc import Iterator

import msgspec
from msgspec import Raw

from session_memory.adapters.base import ChildLink, NativeEvent, NativeUsage, Record
from session_memory.adapters.claude.assistant import usage_of
from session_memory.adapters.claude.blocks import milliseconds, result_text
from session_memory.adapters.claude.ids import agent_session
from session_memory.adapters.claude.lines import Attachment, ClaudeLine, Progress, decode
from session_memory.adapters.claude.prompts import persons_words, typed
from session_memory.adapters.event_text import strings_in
from session_memory.adapters.reported_costs import TREE_COSTS, costs_by_model
from session_memory.core.text import one_line

USAGE = b'"usage"'


def system_line(native: ClaudeLine, record: Record) -> None:
    native_kind = f"system/{native.subtype}"
    words = native.content if isinstance(native.content, str) else ""
    text = one_line(words)
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
            event = NativeEvent("completion", "system", "turn ended", native_kind)
            event.duration_ms = milliseconds(native.durationMs)
        case "compact_boundary":
            record.parent_id = native.logicalParentUuid or native.parentUuid
            event = NativeEvent("lifecycle", "system", text or "compacted", native_kind)
        case _:
            event = NativeEvent("lifecycle", "system", text, native_kind)
    event.body = words
    record.events.append(event)


def attachment_line(native: ClaudeLine, record: Record) -> None:
    attachment = native.attachment or Attachment()
    native_kind = f"attachment/{attachment.type}"
    if attachment.type == "queued_command" and (words := _queued_words(attachment)):
        # A prompt that a person typed while the agent worked. The agent took it into the running
        # turn, and this attachment is the only record of the prompt.
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
        if attachment.type == "queued_command":
            event.queued, event.text = "repeated", result_text(attachment.prompt)
    record.events.append(event)


def _attached(attachment: Attachment) -> str:
    """Return the text of an attachment to a prompt: a file, a hook's output, a reminder."""
    texts = [*strings_in(attachment.content), attachment.snippet]
    return "\n".join(filter(None, (*texts, attachment.stdout, attachment.stderr)))


def _queued_words(attachment: Attachment) -> str | None:
    origin = attachment.origin.kind if attachment.origin else None
    if attachment.isMeta or origin not in (None, "human"):
        return None
    if attachment.commandMode not in (None, "prompt", "bash"):
        return None
    return persons_words(result_text(attachment.prompt))[0]


def progress_line(native: ClaudeLine, record: Record) -> None:
    record.bookkeeping = native.type
    progress = native.data
    if progress is None:
        return
    if progress.agentId and native.parentToolUseID:
        root = native.sessionId or record.session
        record.link = ChildLink(agent_session(root, progress.agentId), native.parentToolUseID)
    for usage in _reported(progress, record):
        if record.usage is None:
            record.usage = usage
        else:
            record.more_usage = [*record.more_usage, usage]


def _reported(progress: Progress, record: Record) -> Iterator[NativeUsage]:
    """Yield the usage of the subagent's responses that a progress line holds. Often no other log
    has them."""
    for raw in (progress.message, *_listed(progress.normalizedMessages)):
        line = bytes(raw)
        if USAGE not in line:
            continue
        try:
            native, is_lenient = decode(line)
        except ValueError:
            # A progress line without a line of a subagent has no usage.
            continue
        usage = usage_of(native) if native.type == "assistant" else None
        if usage is not None:
            usage.is_reported = True
            record.lenient |= is_lenient
            yield usage


def _listed(lines: Raw) -> list[Raw]:
    try:
        return msgspec.json.decode(lines, type=list[Raw]) if lines else []
    except msgspec.MsgspecError:
        return []


def title_line(native: ClaudeLine, record: Record) -> None:
    match native.type:
        case "custom-title":
            record.facts = {"custom_title": native.customTitle}
            text = native.customTitle
        case "ai-title":
            record.facts = {"ai_title": native.aiTitle}
            text = native.aiTitle
        case "agent-name":
            record.facts = {"agent_name": native.agentName}
            text = native.agentName
        case _:
            record.facts = {"summary": native.summary, "leaf": native.leafUuid}
            text = native.summary
    text = text or ""
    record.events.append(NativeEvent("lifecycle", "system", one_line(text), native.type, body=text))


def mode_line(native: ClaudeLine, record: Record) -> None:
    mode = native.permissionMode or native.mode or ""
    event = NativeEvent("lifecycle", "user", one_line(mode), native.type, mode=mode)
    record.events.append(event)


def bookkeeping_line(native: ClaudeLine, record: Record) -> None:
    record.bookkeeping = native.type


def queue_line(native: ClaudeLine, record: Record) -> None:
    text = native.content if isinstance(native.content, str) else ""
    summary = one_line(f"{native.operation}: {one_line(text)}".rstrip(": "))
    event = NativeEvent("lifecycle", "system", summary, native.type, body=text)
    if native.operation == "popAll":
        event.queued = "taken_back"
    elif native.operation == "enqueue" and not native.isSidechain and (words := typed(text)):
        event.role, event.summary, event.text = "user", one_line(words), words
        event.queued = "typed"
    record.events.append(event)


def worktree_line(native: ClaudeLine, record: Record) -> None:
    """Translate the line of a session that moved to a git worktree. The repository of the session
    is the directory where it was before."""
    if native.worktreeSession is not None:
        record.facts = {"repository_root": native.worktreeSession.originalCwd}
    unknown_line(native, record)


def cost_line(native: ClaudeLine, record: Record) -> None:
    """Translate the line in which Claude Code logs the cost of the session so far, with its
    subagents."""
    if isinstance(native.modelUsage, dict):
        dollars = {
            model: used.get("costUSD")
            for model, used in native.modelUsage.items()
            if isinstance(used, dict)
        }
        record.facts = {TREE_COSTS: costs_by_model(dollars)}
    unknown_line(native, record)


def unknown_line(native: ClaudeLine, record: Record) -> None:
    # New types of lines appear often. An unknown one is kept whole, so that a later release can
    # read it even after the file is deleted.
    if native.prUrl:
        record.facts = {**(record.facts or {}), "pull_request": native.prUrl}
    summary = one_line(native.summary or native.prUrl or "")
    kind = one_line(native.type) or "untyped"
    record.events.append(NativeEvent("lifecycle", "system", summary, kind))
