"""Write a transcript as JSON lines: an object for each event, each turn, and each start and end of
a session."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from session_memory.render.json_text import to_json
from session_memory.views.transcript_items import (
    SessionEnd,
    SessionStart,
    TranscriptEvent,
    TranscriptItem,
    TurnTotals,
)


def jsonl(items: Iterable[TranscriptItem]) -> Iterator[str]:
    for item in items:
        yield f"{to_json(_as_dict(item))}\n"


def _as_dict(item: TranscriptItem) -> dict[str, Any]:
    match item:
        case SessionStart():
            return {
                "type": "session",
                "depth": item.depth,
                "session": item.session.to_dict(),
                "own": msgspec.to_builtins(item.own),
                "total": msgspec.to_builtins(item.total),
                "children": [child.session_uid for child in item.children],
                **({"missing": msgspec.to_builtins(item.missing)} if item.missing else {}),
            }
        case TranscriptEvent():
            return {
                "type": "event",
                "depth": item.depth,
                "sort": item.sort,
                "event": item.event.to_dict(),
                "text": item.text,
                "arguments": item.arguments,
                "images": msgspec.to_builtins(item.images),
                "duration_ms": item.duration_ms,
                "owner": item.owner,
            }
        case TurnTotals():
            return {
                "type": "turn",
                "depth": item.depth,
                "number": item.number,
                "cost": item.cost.to_dict(),
                "amount": msgspec.to_builtins(item.amount),
                "seconds": item.seconds,
            }
        case SessionEnd():
            return {"type": "end", "depth": item.depth, "session": item.session.session_uid}
