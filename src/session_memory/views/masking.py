"""Everything an export says passes through here, and nowhere else: one place to leave things out.

The renderers of exports see only what comes out of `masked`; a text that was not masked cannot
reach a file.
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
from session_memory.views.transcript import TranscriptEvent, TranscriptItem

Mask = Callable[[str], str]
DEEPEST = 60
# Ids and times stay: links and order hang on them, and no agent writes a secret there.
_SAID: dict[type[ValidatedRecord], tuple[str, ...]] = {
    Session: ("title", "cwd", "repo", "git_branch", "task_ref", "source_path", "domain"),
    SessionEvent: ("summary", "path", "tool", "native_kind"),
}


def masked(items: Iterable[TranscriptItem], mask: Mask | None) -> Iterator[TranscriptItem]:
    """The same items with ``mask`` over every text in them; unchanged without one."""
    for item in items:
        if mask is None:
            yield item
        else:
            hidden = _masked(item, mask, 0)
            yield _retold(item, hidden) if isinstance(item, TranscriptEvent) else hidden


def _retold(piece: TranscriptEvent, hidden: TranscriptEvent) -> TranscriptEvent:
    """A summary is cut, and half a secret is not known for one: where the whole text had one, the
    summary is made anew from what is left of it."""
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
    said = {name: getattr(value, name) for name in _SAID[type(value)]}
    changed = {name: mask_cut(text, mask) for name, text in said.items() if text}
    return dataclasses.replace(value, **changed)
