"""Mask the secrets in transcripts before they are exported.

The renderers of exports get only the output of `masked`, so an unmasked text cannot reach a file.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from session_memory.core.schema import Session, SessionEvent
from session_memory.core.text import one_line
from session_memory.core.validation import ValidatedRecord
from session_memory.redact import mask_cut
from session_memory.redact.nested_values import is_lines, mask_lines
from session_memory.views.transcript_items import TranscriptEvent, TranscriptItem

Mask = Callable[[str], str]
DEEPEST = 60
MOST_KNOWN, LONGEST_KNOWN = 20_000, 1_000
# The text fields of records. Ids and times stay, because links and order depend on them.
_TEXT_FIELDS: dict[type[ValidatedRecord], tuple[str, ...]] = {
    Session: (
        *("title", "cwd", "repo", "git_branch", "task_ref", "source_path", "domain"),
        *("model", "host", "agent_version"),
    ),
    SessionEvent: ("summary", "path", "tool", "native_kind", "model", "role", "kind"),
}


def masked(items: Iterable[TranscriptItem], mask: Mask | None) -> Iterator[TranscriptItem]:
    """The items with ``mask`` applied to every text. Unchanged if ``mask`` is None."""
    if mask is None:
        yield from items
        return
    mask = _once(mask)
    for item in items:
        hidden = _masked(item, mask, 0)
        yield _with_new_summary(item, hidden) if isinstance(item, TranscriptEvent) else hidden


def _once(mask: Mask) -> Mask:
    """The same mask, which looks once at each text without a secret: names of tools, of models and
    of kinds come again in every event."""
    clean: set[str] = set()

    def mask_once(text: str) -> str:
        if text in clean:
            return text
        hidden = mask(text)
        if hidden == text and len(text) <= LONGEST_KNOWN and len(clean) < MOST_KNOWN:
            clean.add(text)
        return hidden

    return mask_once


def _with_new_summary(piece: TranscriptEvent, hidden: TranscriptEvent) -> TranscriptEvent:
    """The masked piece with a new summary, if its text had a secret.

    A summary is shortened and may end in half a secret, which no rule matches.
    """
    if piece.text == hidden.text and piece.command == hidden.command:
        return hidden
    words = one_line(hidden.command or hidden.text)
    event = dataclasses.replace(hidden.event, summary=words)
    return msgspec.structs.replace(hidden, title=words, event=event)


def _masked(value: Any, mask: Mask, depth: int) -> Any:
    match value:
        case str():
            return mask_cut(value, mask)
        case _ if depth > DEEPEST:
            return "…"
        case Session() | SessionEvent():
            return _record(value, mask)
        case msgspec.Struct():
            fields = value.__struct_fields__
            changed = {name: _masked(getattr(value, name), mask, depth + 1) for name in fields}
            return type(value)(**changed)
        case dict():
            return {
                _masked(key, mask, depth + 1): _masked(item, mask, depth + 1)
                for key, item in value.items()
            }
        case list() | tuple() if is_lines(value):
            return type(value)(mask_lines(value, mask))
        case list() | tuple():
            return type(value)(_masked(item, mask, depth + 1) for item in value)
    return value


def _record(value: ValidatedRecord, mask: Mask) -> ValidatedRecord:
    texts = {name: getattr(value, name) for name in _TEXT_FIELDS[type(value)]}
    changed = {name: mask_cut(text, mask) for name, text in texts.items() if text}
    return dataclasses.replace(value, **changed)
