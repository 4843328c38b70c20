"""Translate messages of people and models in logs of Grok. A message may be in several lines, each
with a chunk of its text."""

import re

from session_memory.adapters.base import NativeEvent, Record
from session_memory.adapters.grok.lines import Text, Update, UpdateMeta
from session_memory.adapters.grok.state import LogState
from session_memory.core.injected import is_injected, without_injected
from session_memory.core.text import one_line

_FRAMED = re.compile(r"The user [^\n]{1,80}:\n<user_query>\n(.*)\n</user_query>\n[^\n]*", re.DOTALL)


def user_chunk(update: Update, record: Record, state: LogState, saying: str) -> None:
    meta = update.meta or UpdateMeta()
    turn = meta.prompt_index if meta.prompt_index is None or meta.prompt_index >= 0 else None
    text = said_in(update)
    state.model = meta.model or state.model
    state.is_marked = state.is_marked or turn is not None
    kind = f"user/{turn}" if turn is not None else "user"
    if meta.is_host_turn:
        kind = "user/host"
    if saying == kind:
        state.saying = kind
        _continue(update, record, text)
        return
    state.saying = kind
    command = _typed_command(update)
    native_kind = "command" if command else _prompt_kind(meta, turn, state)
    if native_kind in ("prompt", "interjection") and _is_reminder(text):
        native_kind = "hidden"
    is_prompt = native_kind in ("prompt", "interjection", "command")
    working = state.is_running
    if native_kind in ("prompt", "hidden"):
        state.begins(turn, is_prompt=is_prompt)
    elif is_prompt:
        state.asked += 1
    words = f"! {command}" if command else _words(update, text)
    event = NativeEvent("lifecycle", "user", one_line(words), f"user_message_chunk/{native_kind}")
    event.body = words if command else text
    if is_prompt:
        event.kind, event.is_prompt, event.text = "user_msg", True, words or text
        if native_kind == "interjection" and working:
            event.kind, event.marks = "human_intervention", ("user_msg",)
    record.events.append(event)


def _prompt_kind(meta: UpdateMeta, turn: int | None, state: LogState) -> str:
    """Return the kind of a message with the role of the user: ``prompt`` or ``interjection`` if a
    person wrote it, else the kind of an injected one.

    If prompts have an index (``turn``), only the first message of a turn has one. Grok hides the
    prompts with which it wakes itself, and marks its local commands.
    """
    if meta.is_host_turn:
        return "local_command"
    if meta.is_interjection:
        return "interjection"
    if turn is not None and turn == state.turn and not state.is_answering:
        return "more"
    if meta.is_hidden:
        return "hidden"
    return "prompt" if turn is not None or not state.is_marked else "interjection"


def _is_reminder(text: str) -> bool:
    """Whether a text is only a reminder of Grok to its model, which not every version marks as
    hidden, or only text that this program injected."""
    text = text.strip()
    return (
        is_injected(text)
        or text.startswith("<system-reminder>")
        and text.endswith("</system-reminder>")
    )


def _typed_command(update: Update) -> str | None:
    """Return the shell command that a person typed and the model did not see; None for any other
    message."""
    meta = update.content.meta if isinstance(update.content, Text) else None
    return meta.bash_command if meta else None


def _words(update: Update, text: str) -> str:
    """Return what a person typed, without the text that Grok writes around it when the model is
    working."""
    meta = update.content.meta if isinstance(update.content, Text) else None
    if meta and meta.display_text:
        return meta.display_text
    framed = _FRAMED.match(text) if text.startswith("The user ") else None
    return without_injected(framed[1] if framed else text)


def agent_chunk(update: Update, record: Record, state: LogState, saying: str) -> None:
    kind = update.kind
    text = said_in(update)
    state.saying, state.is_answering = kind, True
    if saying == kind:
        _continue(update, record, text)
        return
    spoken = "assistant_msg" if kind == "agent_message_chunk" else "thinking"
    event = NativeEvent(spoken, "assistant", one_line(text), kind, model=state.model, body=text)
    if (update.meta or UpdateMeta()).is_host_turn:
        event.kind, event.model = "lifecycle", None
    record.events.append(event)


def _continue(update: Update, record: Record, text: str) -> None:
    record.bookkeeping, record.continues, record.text = update.kind, True, text


def said_in(update: Update) -> str:
    return text_of(update.content) if isinstance(update.content, Text | str) else ""


def text_of(content: Text | str | None) -> str:
    if isinstance(content, Text):
        return content.text if content.text is not None else f"[{content.type or 'content'}]"
    return content or ""


def lifecycle(update: Update, record: Record, text: str | None) -> None:
    kind = one_line(update.kind) or "untyped"
    text = text or ""
    record.events.append(NativeEvent("lifecycle", "system", one_line(text), kind, body=text))
