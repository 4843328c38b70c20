"""Read a stored session as prompts and answers, each call with its result."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from session_memory.core.changes import Change
from session_memory.store import Store
from session_memory.views.masking import masked
from session_memory.views.session import is_compaction
from session_memory.views.transcript import Transcript
from session_memory.views.transcript_items import (
    SessionStart,
    TranscriptEvent,
    TranscriptItem,
    TranscriptOptions,
)

NO_RESULT = "(no result: the session ended here)"
# A text with fewer words is neither a summary nor a task: it is a notice, such as of a compaction.
_FEWEST_WORDS = 6
DEEPEST = 20
# Markup, a notice in brackets, or instructions that every session gets.
_FRAMES = ("<", "[", "#", "Caveat:")


class StoredCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call as its own agent made it, with its result."""

    call_id: str
    tool: str
    arguments: Any
    text: str
    changes: tuple[Change, ...]
    result: str
    failed: bool


class StoredPrompt(msgspec.Struct, frozen=True):
    """What a person asked. ``is_summary``: it is a summary that replaces everything before it."""

    text: str
    is_summary: bool = False


class StoredAnswer(msgspec.Struct):
    """One response of a model: its texts, the calls that it made at once, and its id."""

    texts: list[str] = []
    calls: list[StoredCall] = []
    response: str | None = None

    def includes(self, response: str | None) -> bool:
        return response is not None and response == self.response


StoredStep = StoredPrompt | StoredAnswer


class StoredConversation(msgspec.Struct):
    """What the model of a session would see in its next request, without thinking and without what
    its agent adds. ``images`` counts the pictures that are left out."""

    steps: list[StoredStep] = []
    images: int = 0
    is_evicted: bool = False


def conversation_of(store: Store, uid: str, mask: Any, depth: int = 0) -> StoredConversation:
    """Return the conversation of a session, without abandoned branches, masked by ``mask``.

    If the session came from a handoff, the conversation begins with that of its origin.
    """
    options = TranscriptOptions(level="full", inherited=True, children=False)
    found = _before(store, uid, mask, depth)
    events = list(
        _events(masked(Transcript(store, options).items(uid), mask, only_secrets=True), found)
    )
    results = {one.event.call_id: one for one in events if one.sort == "result"}
    answered = False
    for one in events:
        if one.sort == "note" and not is_compaction(one.event):
            # An agent may begin with a task by itself, such as a plan that was accepted before.
            if not found.steps and _is_task(one.text):
                found.steps.append(StoredPrompt(one.text))
            continue
        found.images += len(one.images)
        if one.sort == "result":
            answered = True
            continue
        if is_compaction(one.event):
            if len(one.text.split()) >= _FEWEST_WORDS:
                found.steps = [StoredPrompt(one.text, is_summary=True)]
            continue
        if one.sort == "prompt":
            if one.text.strip():
                found.steps.append(StoredPrompt(one.text))
            continue
        last = found.steps[-1] if found.steps else None
        response = one.event.response_id
        if not isinstance(last, StoredAnswer) or (answered and not last.includes(response)):
            last, answered = StoredAnswer(response=response), False
            found.steps.append(last)
        if one.sort == "call":
            last.calls.append(_call(one, results.get(one.event.call_id)))
        elif one.text.strip():
            last.texts.append(one.text)
    found.steps = [one for one in found.steps if not _is_empty(one)]
    return found


def _before(store: Store, uid: str, mask: Any, depth: int) -> StoredConversation:
    """Return what a handoff copied into the session.

    ``depth`` is limited: logs may claim that two sessions were handed over to each other.
    """
    row = store.sessions.row(uid)
    origin = row.parent_uid if row is not None and row.relation == "handoff" else None
    if origin is None or depth > DEEPEST or store.sessions.row(origin) is None:
        return StoredConversation()
    return conversation_of(store, origin, mask, depth + 1)


def _events(
    items: Iterable[TranscriptItem], found: StoredConversation
) -> Iterator[TranscriptEvent]:
    for item in items:
        if isinstance(item, SessionStart) and item.missing is not None:
            found.is_evicted = True
        if not isinstance(item, TranscriptEvent) or item.depth:
            continue
        event = item.event
        if event.branch is not None or event.is_sidechain:
            continue
        is_said = item.sort in ("prompt", "answer", "call", "result")
        is_given = item.sort == "note" and event.role == "user"
        if is_said or is_given or is_compaction(event):
            yield item


def _is_task(text: str) -> bool:
    """Whether an injected text is a task for the model, and not markup or general instructions."""
    return len(text.split()) >= _FEWEST_WORDS and not text.lstrip().startswith(_FRAMES)


def _call(call: TranscriptEvent, result: TranscriptEvent | None) -> StoredCall:
    return StoredCall(
        call_id=call.event.call_id or "",
        tool=call.event.tool or "tool",
        arguments=call.arguments,
        text=call.text,
        changes=call.changes,
        result=NO_RESULT if result is None else result.text,
        failed=result is None or bool(result.event.is_error),
    )


def _is_empty(step: StoredStep) -> bool:
    return isinstance(step, StoredAnswer) and not step.texts and not step.calls
