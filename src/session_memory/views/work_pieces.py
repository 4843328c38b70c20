"""Find out who worked when in a session: the person, the model or its tools."""

from collections.abc import Iterable, Sequence

import msgspec

from session_memory.store.outlines import OutlineEvent

LONG_GAP_MS = 5 * 60 * 1000
MOST_PIECES = 400


class OutlinePiece(msgspec.Struct, frozen=True):
    """A stretch of time in which ``who`` worked: ``person``, ``model`` or ``tools``."""

    who: str
    start: int
    end: int
    seq: int


def who_acted(kinds: Sequence[str], role: str | None) -> str | None:
    """Return who made an event: ``person``, ``tools`` or ``model``, by the rule of ``stats time``.

    None for any other event, such as a notice.
    """
    if {"user_msg", "human_intervention", "decision"}.intersection(kinds):
        return "person"
    if "tool_result" in kinds:
        return "tools"
    if role == "assistant" and "lifecycle" not in kinds:
        return "model"
    return "model" if "error" in kinds or "retry" in kinds else None


def work_pieces(events: Iterable[OutlineEvent]) -> list[OutlinePiece]:
    """Return who worked when, in at most 400 pieces."""
    return _merged(_pieces(events))


def _pieces(events: Iterable[OutlineEvent]) -> Iterable[OutlinePiece]:
    latest: int | None = None
    for event in events:
        who = who_acted(event.kinds, event.role)
        if who is None or event.ts is None or event.is_inherited:
            continue
        if latest is not None and 0 < event.ts - latest < LONG_GAP_MS:
            yield OutlinePiece(who, latest, event.ts, event.seq)
        latest = event.ts if latest is None else max(latest, event.ts)


def _merged(pieces: Iterable[OutlinePiece]) -> list[OutlinePiece]:
    """Join neighbouring pieces of the same worker. If too many are left, join them in pairs."""
    joined: list[OutlinePiece] = []
    for piece in pieces:
        before = joined[-1] if joined else None
        if before and before.who == piece.who and before.end == piece.start:
            joined[-1] = OutlinePiece(piece.who, before.start, piece.end, before.seq)
        else:
            joined.append(piece)
    while len(joined) > MOST_PIECES:
        joined = _halved(joined)
    return joined


def _halved(pieces: list[OutlinePiece]) -> list[OutlinePiece]:
    """Join pieces in pairs, unless a gap is between them. The longer piece names the worker."""
    halved: list[OutlinePiece] = []
    for first, second in zip(pieces[::2], [*pieces[1::2], None][: len(pieces[::2])], strict=True):
        if second is None or second.start != first.end:
            halved.extend(one for one in (first, second) if one is not None)
            continue
        longer = max(first, second, key=lambda one: one.end - one.start)
        halved.append(OutlinePiece(longer.who, first.start, second.end, first.seq))
    if len(halved) == len(pieces):
        # No two pieces could be joined, because of gaps between them. Leave out every second piece.
        return pieces[::2]
    return halved
