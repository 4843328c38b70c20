"""Mask the secrets in transcripts before they are exported.

The renderers of exports get only the output of `masked`, so an unmasked text cannot reach a file.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

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
# The text fields of records. Ids and times stay, because links and order depend on them.
_TEXT_FIELDS: dict[type[ValidatedRecord], tuple[str, ...]] = {
    Session: (
        *("title", "cwd", "repo", "git_branch", "task_ref", "source_path", "domain"),
        *("model", "host", "agent_version"),
    ),
    SessionEvent: ("summary", "path", "tool", "native_kind", "model", "role", "kind"),
}


def masked(
    items: Iterable[TranscriptItem], mask: Mask | None, *, only_secrets: bool = False
) -> Iterator[TranscriptItem]:
    """The items with ``mask`` applied to every text. Unchanged if ``mask`` is None.

    ``only_secrets``: the mask changes nothing but secrets, so texts that cannot have one are left
    out.
    """
    if mask is None:
        yield from items
        return
    waiting: list[TranscriptItem] = []
    texts: dict[str, str] = {}
    size = 0
    for item in items:
        known = len(texts)
        _masked(item, lambda text: texts.setdefault(text, text), 0)
        size += sum(map(len, islice(texts, known, None)))
        waiting.append(item)
        if size > SEARCHED_AT_ONCE:
            yield from _each_masked(waiting, texts if only_secrets else (), mask)
            waiting, size = [], 0
            texts.clear()
    yield from _each_masked(waiting, texts if only_secrets else (), mask)


def _each_masked(
    items: Iterable[TranscriptItem], texts: Iterable[str], mask: Mask
) -> Iterator[TranscriptItem]:
    """Mask the items. One search over their ``texts`` says in which of them a secret may be."""
    every = list(texts)
    clean = set(every) - {every[number] for number in possible_secrets(every)}

    def mask_possible(text: str) -> str:
        # A text that was masked once is none of ``texts``, and may have another secret.
        if text in clean:
            return text
        hidden = mask(text)
        if hidden == text:
            clean.add(text)
        return hidden

    for item in items:
        hidden = _masked(item, mask_possible, 0)
        yield _with_new_summary(item, hidden) if isinstance(item, TranscriptEvent) else hidden


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
    if value is None or isinstance(value, int | float):
        return value
    match value:
        case str():
            return mask_cut(value, mask)
        case _ if depth > DEEPEST:
            return "…"
        case Session() | SessionEvent():
            return _record(value, mask)
        case msgspec.Struct():
            fields = value.__struct_fields__
            changed = {}
            for name in fields:
                item = getattr(value, name)
                hidden = _masked(item, mask, depth + 1)
                if hidden is not item:
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


def _record(value: ValidatedRecord, mask: Mask) -> ValidatedRecord:
    changed = {}
    for name in _TEXT_FIELDS[type(value)]:
        text = getattr(value, name)
        if text and (hidden := mask_cut(text, mask)) is not text:
            changed[name] = hidden
    # To make a record checks all of its fields.
    return dataclasses.replace(value, **changed) if changed else value
