"""Translate lines of type ``user``: prompts, injected context, and results of calls."""

import re

from session_memory.adapters.base import ChildLink, NativeEvent, Record
from session_memory.adapters.claude.blocks import blocks, milliseconds, result_text
from session_memory.adapters.claude.ids import agent_session
from session_memory.adapters.claude.lines import Block, ClaudeLine, ClaudeMessage, ToolUseResult
from session_memory.adapters.claude.prompts import (
    INTERRUPTED,
    PERSONS_WORDS,
    PLAN,
    is_rejection,
    persons_words,
    slash_command,
)
from session_memory.adapters.tool_results import result_event
from session_memory.core.text import one_line

_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,9})\b")


def user_line(native: ClaudeLine, record: Record) -> None:
    """Add one event for each block: what a person wrote, what was injected, results of calls."""
    has_words = False
    for block in blocks(native.message or ClaudeMessage()):
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
    """Count a pasted image without a text as a prompt."""
    pasted = [e for e in record.events if e.native_kind in ("user/image", "user/document")]
    glued = [e for e in record.events if e.native_kind == "user/context"]
    if pasted and len(pasted) + len(glued) == len(record.events):
        pasted[0].kind, pasted[0].is_prompt = "user_msg", True


def _user_text(native: ClaudeLine, text: str, has_words: bool) -> NativeEvent:
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
        event = NativeEvent("lifecycle", "user", one_line(text), kind, body=text)
        event.queued, event.text = "repeated", text
        if instead == "command":
            event.summary = one_line(slash_command(text))
        elif instead == "plan" and not has_words:
            # The person accepted the plan and did not type it, but the agent's turn begins here.
            event.is_prompt, event.text = True, PLAN.sub("", text.lstrip(), count=1)
        return event
    event = NativeEvent("user_msg", "user", one_line(words), "user/text", is_prompt=True)
    event.text, event.body = words, text
    return event


def _injected_by(native: ClaudeLine) -> str:
    if native.isCompactSummary:
        return "compact_summary"
    if native.isMeta:
        return "meta"
    if native.isSidechain:
        return "subagent_prompt"
    if native.planContent:
        return "plan"
    if native.origin is not None and native.origin.kind not in (None, "human"):
        return (native.origin.kind or "").replace("-", "_")
    return "system" if native.promptSource == "system" else ""


def _result(native: ClaudeLine, block: Block, record: Record) -> NativeEvent:
    text = result_text(block.content)
    details = native.toolUseResult if isinstance(native.toolUseResult, ToolUseResult) else None
    rejected = _rejected(native, text)
    failed = bool(block.is_error) or rejected or bool(details and details.interrupted)
    marks = ("human_intervention",) if rejected else ()
    if _granted(native):
        marks = (*marks, "decision")
    if details is not None and details.agentId and block.tool_use_id:
        root = native.sessionId or record.session
        record.link = ChildLink(agent_session(root, details.agentId), block.tool_use_id)
    summary = _answers(details) or one_line(text)
    event = result_event(block.tool_use_id, summary, "user/tool_result", failed=failed, marks=marks)
    exit_code = _EXIT_CODE.match(text) if failed else None
    event.exit_code = int(exit_code[1]) if exit_code else None
    event.duration_ms, event.text = _duration(details), text
    event.is_interrupt = rejected
    event.has_words = rejected and (bool(native.holdsPersonsWords) or PERSONS_WORDS in text)
    event.is_shell = not (details is not None and details.backgroundTaskId)
    return event


def _rejected(native: ClaudeLine, text: str) -> bool:
    """Whether a person refused the call or stopped it. A refusal by a rule or a hook does not
    count."""
    decision = native.permissionDecision
    if decision is not None and decision.decision == "reject":
        return (decision.source or "").startswith("user_")
    if native.toolDenialKind is not None:
        return native.toolDenialKind.startswith("user") or bool(native.holdsPersonsWords)
    return is_rejection(text) or native.toolUseResult == "User rejected tool use"


def _granted(native: ClaudeLine) -> bool:
    decision = native.permissionDecision
    return (
        decision is not None
        and decision.decision == "accept"
        and (decision.source or "").startswith("user_")
    )


def _answers(details: ToolUseResult | None) -> str:
    """Return the questions that the agent asked a person, each with the answer; "" without any."""
    answers = details.answers if details is not None else None
    if not isinstance(answers, dict):
        return ""
    return one_line("; ".join(f"{question} → {answer}" for question, answer in answers.items()))


def _duration(details: ToolUseResult | None) -> int | None:
    if details is None:
        return None
    spent = details.durationMs
    return milliseconds(details.totalDurationMs if spent is None else spent)
