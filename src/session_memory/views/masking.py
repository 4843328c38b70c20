"""Mask the secrets in transcripts before they are exported.

The renderers of exports get only the output of `masked`, so an unmasked text cannot reach a file.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, cast

import msgspec

from session_memory.core.schema import Session, SessionEvent
from session_memory.core.text import one_line
from session_memory.core.validation import ValidatedRecord
from session_memory.redact import mask_cut
from session_memory.redact.nested_values import is_lines, mask_lines
from session_memory.redact.possible_secrets import possible_secrets
from session_memory.views.transcript_items import TranscriptEvent, TranscriptItem

Mask = Callable[[str], str]
DEEPEST = 60
SEARCHED_AT_ONCE = 256 * 1024
_NUMBERS = (int, float, bool, int | None, float | None)
# Fields that stay, because links and order depend on them, or because we choose their words. All
# other texts of a record are masked, also in fields that are added later.
_KEPT = frozenset(
    [
        *("session_uid", "flavor", "native_session_id", "parent_uid", "relation", "outcome"),
        *("spawn_call_id", "started_at", "ended_at", "discovered_at", "ingested_at"),
        *("analyzed_at", "evicted_at", "ts", "payload_ref", "event_uid", "call_id"),
        *("response_id", "native_id", "branch"),
    ]
)


def masked(
    items: Iterable[TranscriptItem], mask: Mask | None, *, only_secrets: bool = False
) -> Iterator[TranscriptItem]:
    """Yield the items with ``mask`` applied to every text, or unchanged if ``mask`` is None.

    ``only_secrets``: the mask changes nothing but secrets, so it is not called for texts that
    cannot have one.
    """
    if mask is None:
        yield from items
        return
    if not only_secrets:
        yield from (_one_masked(item, mask) for item in items)
        return
    waiting = _Waiting()
    for item in items:
        waiting.add(item)
        if waiting.size > SEARCHED_AT_ONCE:
            yield from waiting.masked(mask)
            waiting = _Waiting()
    yield from waiting.masked(mask)


class _Waiting:
    """Items to mask together: one search over all their texts finds those with a secret.

    ``size`` is the number of characters to search.
    """

    def __init__(self) -> None:
        self.size = 0
        # Pairs: an item, and what to show if none of its texts has a secret. That differs from the
        # item if a text was shortened: its last word is removed, because it may be half a secret.
        self._items: list[tuple[TranscriptItem, TranscriptItem]] = []
        # Each text, with the numbers of the items that contain it.
        self._texts: dict[str, list[int]] = {}

    def add(self, item: TranscriptItem) -> None:
        self._items.append((item, _one_masked(item, self._note)))

    def _note(self, text: str) -> str:
        known = self._texts.get(text)
        if known is None:
            self._texts[text] = [len(self._items)]
            self.size += len(text)
        else:
            known.append(len(self._items))
        return text

    def masked(self, mask: Mask) -> Iterator[TranscriptItem]:
        """Yield the items in order, with their secrets masked."""
        texts = list(self._texts)
        unsafe = {texts[number] for number in possible_secrets(texts)}
        known = {text: text for text in texts if text not in unsafe}

        def mask_possible(text: str) -> str:
            # Masking a text of several lines makes new texts, which were not searched.
            hidden = known.get(text)
            if hidden is None:
                hidden = known[text] = mask(text)
            return hidden

        again = {number for text in unsafe for number in self._texts[text]}
        for number, (item, shortened) in enumerate(self._items):
            yield _one_masked(item, mask_possible) if number in again else shortened


def _one_masked(item: TranscriptItem, mask: Mask) -> TranscriptItem:
    hidden = _masked(item, mask, 0)
    if isinstance(item, TranscriptEvent):
        return _with_new_summary(item, hidden)
    return cast(TranscriptItem, hidden)


def _with_new_summary(piece: TranscriptEvent, hidden: TranscriptEvent) -> TranscriptEvent:
    """Return the masked item ``hidden``; with a new summary if its text had a secret.

    The old summary is shortened and may end in half a secret, which no rule matches.
    """
    if piece.text == hidden.text and piece.command == hidden.command:
        return hidden
    words = one_line(hidden.command or hidden.text)
    event = dataclasses.replace(hidden.event, summary=words)
    return msgspec.structs.replace(hidden, title=words, event=event)


def _masked(value: Any, mask: Mask, depth: int) -> Any:
    if type(value) is str:
        return mask_cut(value, mask) if value else value
    if value is None or isinstance(value, int | float):
        return value
    match value:
        case _ if depth > DEEPEST:
            return "…"
        case Session() | SessionEvent():
            return _record(value, mask)
        case msgspec.Struct():
            changed = {}
            for name in _fields_with_texts(type(value)):
                item = getattr(value, name)
                if item and (hidden := _masked(item, mask, depth + 1)) is not item:
                    changed[name] = hidden
            return msgspec.structs.replace(value, **changed) if changed else value
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


@cache
def _fields_with_texts(of: type[msgspec.Struct]) -> tuple[str, ...]:
    """The fields that may have texts: not those that are declared as numbers."""
    fields = msgspec.structs.fields(of)
    return tuple(field.name for field in fields if field.type not in _NUMBERS)


_MASKED: dict[type[ValidatedRecord], tuple[str, ...]] = {
    of: tuple(field.name for field in dataclasses.fields(of) if field.name not in _KEPT)
    for of in (Session, SessionEvent)
}


def _record(value: ValidatedRecord, mask: Mask) -> ValidatedRecord:
    changed = {}
    for name in _MASKED[type(value)]:
        text = getattr(value, name)
        if text and isinstance(text, str) and (hidden := mask_cut(text, mask)) is not text:
            changed[name] = hidden
    # A record without changes is not made again, because that would check all of its fields.
    return dataclasses.replace(value, **changed) if changed else value
