"""Read the usage of a session of Droid from ``<session>.settings.json``.

The document has the sums of the session so far, and Droid rewrites it as a whole. Droid logs tokens
nowhere else, so each version of the document counts for the difference to the version before.
Droid's figure for input does not include cached tokens; its figure for output includes thinking.
"""

from typing import Any

import msgspec

from session_memory.adapters.base import NativeUsage, Record, SourceRef
from session_memory.adapters.documents import DocumentReader
from session_memory.adapters.droid.translate import model_named
from session_memory.adapters.json_records import mapping
from session_memory.adapters.token_counts import count_of, usable_count
from session_memory.core.text import escaped

_FIGURES = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens")


class DroidSums(msgspec.Struct):
    """The state from line to line: the present model, and the sums that were counted so far."""

    model: str = ""
    counted: tuple[int, ...] = (0,) * len(_FIGURES)


def _session(ref: SourceRef, state: DroidSums) -> str:
    return escaped(ref.session)


def _tag(ref: SourceRef, state: DroidSums, record: Record, tag: dict[str, Any]) -> None:
    """A tag becomes bookkeeping. Tags are the only list in the document."""
    record.bookkeeping = "tag"


def _around(ref: SourceRef, state: DroidSums, record: Record, members: dict[str, Any]) -> None:
    state.model = model_named(members.get("model")) or state.model
    usage = mapping(members.get("tokenUsage"))
    totals = tuple(usable_count(count_of(usage.get(name))) for name in _FIGURES)
    added = tuple(max(new - old, 0) for new, old in zip(totals, state.counted, strict=True))
    if not any(added):
        return
    state.counted = tuple(map(max, totals, state.counted))
    sent, given, read, written = added
    record.usage = NativeUsage(
        f"droid@{record.session}@{'.'.join(map(str, state.counted))}",
        state.model or "unknown",
        input_tokens=sent,
        output_tokens=given,
        cache_read_tokens=read,
        cache_write_tokens=written,
        is_of_session=True,
    )


def _back(ref: SourceRef, state: DroidSums, record: Record, tag: dict[str, Any] | None) -> None:
    """A removed tag becomes bookkeeping, because nobody needs to see it."""
    record.events, record.bookkeeping = [], "tag"


READER = DocumentReader(session=_session, message=_tag, around=_around, back=_back)
