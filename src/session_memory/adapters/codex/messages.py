"""Translate messages of people and models in logs of Codex.

Codex logs each message twice: as an item for the model and as an event for people. The first copy
becomes an event of the session, and the second is bookkeeping. So nothing is lost if one copy is
missing.
"""

from session_memory.adapters.base import NativeEvent, Record
from session_memory.adapters.codex.kinds import TWIN
from session_memory.adapters.codex.lines import CodexMessage, Completed, EventText, Reasoning
from session_memory.adapters.codex.prompts import (
    DELEGATION,
    accepted_plan,
    assessed_action,
    injected_as,
    is_delegated,
    is_injected_kind,
    persons_words,
)
from session_memory.adapters.codex.reading import (
    ANSWER,
    PROMPT,
    THOUGHT,
    LogReading,
    text_of,
    texts,
)
from session_memory.adapters.codex.state import EVENT, ITEM, digest
from session_memory.core.text import SUMMARY, between, one_line

LONGEST_CONTEXT = 20_000


def message(reading: LogReading, native: CodexMessage, record: Record) -> None:
    match native.role:
        case "user":
            _user_item(reading, native, record)
        case "assistant":
            _answer(reading, record, text_of(native.content), ITEM, native.id)
        case _:
            text = text_of(native.content)
            record.events.append(NativeEvent("lifecycle", "system", one_line(text), body=text))


def between_agents(reading: LogReading, native: CodexMessage, record: Record) -> None:
    """Translate a message of another agent: the task of a subagent, or its answer."""
    text = text_of(native.content)
    record.events.append(NativeEvent("lifecycle", "user", one_line(text), body=text))


# ---------------------------------------------------------------- prompts


def _user_item(reading: LogReading, native: CodexMessage, record: Record) -> None:
    parts = texts(native.content)
    if instead := _injected(native, parts):
        _inject(reading, record, "\n".join(parts), instead)
    elif reading.is_second_copy(ITEM, PROMPT, "".join(parts)):
        record.bookkeeping = TWIN
    else:
        _prompt(reading, record, "\n".join(part for part in parts if not injected_as(part)))


def text_of_user_item(native: CodexMessage) -> str:
    """Return the text of the event that `_user_item` makes from this item."""
    parts = texts(native.content)
    if _injected(native, parts):
        return "\n".join(parts)
    return "\n".join(part for part in parts if not injected_as(part))


def _injected(native: CodexMessage, parts: list[str]) -> str:
    """Return the kind of a message that no person wrote; "" if a person wrote it.

    Newer versions of Codex log the kind. In older logs, the beginning of the text shows the kind.
    """
    kinds = native.provenance.content_item_kinds if native.provenance else None
    known = [kind for kind in kinds or () if kind != "unknown"]
    if known and not any(kind.startswith("user.") for kind in known):
        return known[0]
    found = [injected_as(part) for part in parts] or ["empty"]
    return found[0] if all(found) else ""


def _inject(reading: LogReading, record: Record, text: str, instead: str) -> None:
    event = NativeEvent("lifecycle", "user", one_line(text), f"user/{one_line(instead)}", body=text)
    record.events.append(event)
    if not reading.state.origin and instead.endswith("environment_context"):
        # The first versions of Codex log the working directory only in this text.
        record.cwd = between(text[:LONGEST_CONTEXT], "<cwd>", "</cwd>") or None
    reading.named(record, PROMPT, text)
    reading.state.see_user(text)
    reading.state.injected = digest("".join(text.split()))


def user_message(reading: LogReading, native: EventText, record: Record) -> None:
    text = native.message if isinstance(native.message, str) else ""
    if native.kind and is_injected_kind(native.kind):
        _inject(reading, record, text, native.kind)
        return
    has_images = bool(native.images or native.local_images)
    _shown(reading, record, text, text or ("[image]" if has_images else ""))


def user_message_item(reading: LogReading, native: Completed, record: Record) -> None:
    parts = texts(native.item.content)
    _shown(reading, record, "".join(parts), "\n".join(parts))


def _shown(reading: LogReading, record: Record, words: str, text: str) -> None:
    if is_delegated(text):
        # The item before this event has the same text. If the item is missing, the event is kept.
        if reading.state.injected == digest("".join(text.split())):
            record.bookkeeping = TWIN
        else:
            _inject(reading, record, text, DELEGATION)
        return
    # In a review, Codex repeats the request for the person. Version 0.128.0 repeats it twice.
    again = reading.state.in_review and reading.has_logged(EVENT, PROMPT, words)
    if again or reading.is_second_copy(EVENT, PROMPT, words):
        record.bookkeeping = TWIN
    else:
        _prompt(reading, record, text)


def _prompt(reading: LogReading, record: Record, text: str) -> None:
    state, words = reading.state, persons_words(text)
    event = NativeEvent("user_msg", "user", one_line(words), is_prompt=True, text=words)
    event.body = text
    if not state.is_person:
        event.kind, event.is_prompt = "lifecycle", False
        event.native_kind = "user/subagent_prompt"
        if action := assessed_action(text):
            # The text begins with the parent's history, so the summary is the action alone. "…"
            # shows that it is not the whole text.
            event.summary, event.text = one_line(f"{one_line(action, SUMMARY - 2)} …"), action
    elif (plan := accepted_plan(text)) is not None:
        event.kind, event.native_kind, event.text = "lifecycle", "user/plan", plan
    elif state.in_turn and state.answered_in_turn:
        event.kind, event.marks = "human_intervention", ("user_msg",)
    reading.named(record, PROMPT, text)
    record.events.append(event)
    state.see_user(text)


# ---------------------------------------------------------------- answers


def agent_message(reading: LogReading, native: EventText, record: Record) -> None:
    text = native.message if isinstance(native.message, str) else ""
    _answer(reading, record, text, EVENT, None)


def agent_message_item(reading: LogReading, native: Completed, record: Record) -> None:
    _answer(reading, record, text_of(native.item.content), EVENT, native.item.id)


def _answer(reading: LogReading, record: Record, text: str, side: int, item_id: str | None) -> None:
    if reading.is_second_copy(side, ANSWER, text, item_id):
        reading.answered()
        record.bookkeeping = TWIN
        return
    reading.named(record, ANSWER, text)
    event = NativeEvent("assistant_msg", "assistant", one_line(text), body=text)
    event.ends_turn = not reading.state.has_turns
    reading.by_model(record, event)


# ---------------------------------------------------------------- thoughts


def reasoning(reading: LogReading, native: Reasoning, record: Record) -> None:
    parts = [*texts(native.summary), *texts(native.content)]
    sealed = native.id or bytes(native.encrypted_content)
    _thought(reading, record, parts, ITEM, native.id, sealed)


def agent_reasoning(reading: LogReading, native: EventText, record: Record) -> None:
    text = native.text if isinstance(native.text, str) else ""
    _thought(reading, record, [text], EVENT, None, b"")


def reasoning_item(reading: LogReading, native: Completed, record: Record) -> None:
    item = native.item
    parts = [*(item.summary_text or ()), *(item.raw_content or ())]
    _thought(reading, record, parts, EVENT, item.id, item.id or b"")


def _thought(
    reading: LogReading,
    record: Record,
    parts: list[str],
    side: int,
    item_id: str | None,
    sealed: str | bytes,
) -> None:
    """Add the event of a thought, unless it is a second copy.

    ``parts`` are its texts: an event of Codex has one part, an item has all parts. Many thoughts
    are encrypted and have no text. Then ``sealed`` identifies the thought.
    """
    parts = [part for part in parts if part]
    if item_id and reading.state.is_paginated:
        is_second_copy = reading.is_second_copy(side, THOUGHT, "\n".join(parts), item_id)
    else:
        fresh = [part for part in parts if not reading.is_second_copy(side, THOUGHT, part)]
        is_second_copy, parts = bool(parts) and not fresh, fresh
    if is_second_copy:
        reading.answered()
        record.bookkeeping = TWIN
        return
    text = "\n".join(parts)
    reading.named(record, THOUGHT, text or sealed)
    reading.by_model(record, NativeEvent("thinking", "assistant", one_line(text), body=text))
