"""Turns that are logged including their subagents: each token counts for the session that used it.

Some agents log for a turn what it and its subagents used together. The turn's own part is the
logged figures minus those of its subagents, as far as their sessions are in the store. A subagent
whose log was deleted before anybody collected it stays counted in the turn. The result depends on
what is stored, and never on the order in which it came.

A turn that names its own session has the figures of the whole session since its beginning. Only the
part counts that the session's logged responses did not use: an agent may delete the log of
responses before anybody collected them.
"""

from collections.abc import Iterable

from session_memory.adapters.base import NativeUsage
from session_memory.core.ids import make_uid
from session_memory.core.text import escaped
from session_memory.store.sessions import CollectedSession
from session_memory.store.store import Store
from session_memory.store.usage import BUCKETS

Figures = tuple[int, ...]
OUTPUT = BUCKETS.index("output_tokens")


def store_turns(
    store: Store, row: CollectedSession, used: Iterable[tuple[int, NativeUsage]]
) -> bool:
    """Keep the tokens of turns as they were logged. ``used`` holds each usage with its key.

    Returns whether there was such a turn, so that subagents have to be subtracted.
    """
    has_turns = False
    for key, usage in used:
        if usage.includes_subagents:
            figures = tuple(getattr(usage, name) for name in BUCKETS)
            children = [make_uid(row.flavor, child) for child in usage.subagents]
            store.turns.note(row.id, key, escaped(usage.usage_id), figures, children)
            has_turns = True
    return has_turns


def subtract_subagents(store: Store, session_ids: Iterable[int]) -> set[int]:
    """Compute the own part of every turn of these sessions, and of turns that include them.

    Returns the sessions whose sums changed; they are saved.
    """
    affected = set(session_ids)
    for session_id in sorted(affected):
        affected.update(store.turns.containing(session_id))
    changed: set[int] = set()
    for session_id in sorted(affected):
        changed |= _subtract_in_session(store, session_id)
    for session_id in sorted(changed):
        row = store.sessions.row_by_id(session_id)
        set_sums(store, row)
        store.sessions.save(row)
    return changed


def _subtract_in_session(store: Store, session_id: int) -> set[int]:
    """Compute every turn of a session again. Returns the owners of the turns that changed."""
    changed = set()
    width, uid = len(BUCKETS), store.sessions.row_by_id(session_id).uid
    for usage_row, owner, model, seq, key, usage_id, *figures in store.turns.of(session_id):
        logged, stored = tuple(figures[:width]), tuple(figures[width:])
        children = store.turns.children(session_id, key, usage_id)
        if uid in children:
            own = rest_of(logged, store.turns.spent_otherwise(session_id))
        else:
            spent = [store.turns.spent(child).get(model) for child in children]
            own = own_part(logged, [figures for figures in spent if figures is not None])
        if own != stored:
            store.turns.set_own(usage_row, own)
            store.turns.set_tokens(session_id, seq, usage_id, own[OUTPUT])
            if owner is not None:
                changed.add(owner)
    return changed


def own_part(logged: Figures, spent: Iterable[Figures]) -> Figures:
    """The tokens of a turn without those of its subagents.

    A subagent that used more than is left cannot be included in the turn: its report was lost, or
    came too late. It is not subtracted.
    """
    own = logged
    for figures in spent:
        rest = tuple(have - less for have, less in zip(own, figures, strict=True))
        if min(rest) >= 0:
            own = rest
    return own


def rest_of(total: Figures, spent: Figures) -> Figures:
    """``total`` minus ``spent``, at least 0 for each figure."""
    return tuple(max(have - less, 0) for have, less in zip(total, spent, strict=True))


def set_sums(store: Store, row: CollectedSession) -> None:
    """Set the buckets of a session's row to the sums of its usage."""
    for name, figure in zip(BUCKETS, store.usage.sums(row.id), strict=True):
        setattr(row, name, figure)
