"""Turns whose figures contain their subagents': each token counts for the session that used it.

A parent's turn is logged with everything below it. Its own part is the rest after the logged
turns of the subagents it contains, as far as their sessions are here; a subagent that was deleted
before anybody collected it leaves the turn whole. What comes out depends on what is stored and
never on the order in which it came.
"""

from collections.abc import Iterable

from session_memory.adapters.base import NativeUsage
from session_memory.core.ids import make_uid
from session_memory.core.text import escaped
from session_memory.store.sessions import SessionRow
from session_memory.store.store import Store
from session_memory.store.usage import BUCKETS

Figures = tuple[int, ...]
OUTPUT = BUCKETS.index("output_tokens")


def note(store: Store, row: SessionRow, used: Iterable[tuple[int, NativeUsage]]) -> bool:
    """Keep what turns were logged with, for sessions whose agent counts subagents in.

    ``used`` is what was stored as usage just now, each with its key; says whether there is
    anything to balance.
    """
    noted = False
    for key, usage in used:
        if usage.includes_subagents:
            figures = tuple(getattr(usage, name) for name in BUCKETS)
            children = [make_uid(row.flavor, child) for child in usage.subagents]
            store.turns.note(row.id, key, escaped(usage.usage_id), figures, children)
            noted = True
    return noted


def balance(store: Store, session_ids: Iterable[int]) -> set[int]:
    """Work out the own part of every turn of these sessions and of those that contain them.

    Gives back the sessions whose roll-ups changed; they are saved.
    """
    affected = set(session_ids)
    for session_id in sorted(affected):
        affected.update(store.turns.containing(session_id))
    changed: set[int] = set()
    for session_id in sorted(affected):
        changed |= _balance_turns(store, session_id)
    for session_id in sorted(changed):
        _sum_up(store, session_id)
    return changed


def _balance_turns(store: Store, session_id: int) -> set[int]:
    """Each turn of a session anew; the owners of those that came out differently."""
    changed = set()
    width = len(BUCKETS)
    for usage_row, owner, model, seq, key, usage_id, *figures in store.turns.of(session_id):
        logged, stored = tuple(figures[:width]), tuple(figures[width:])
        children = store.turns.children(session_id, key, usage_id)
        spent = [store.turns.spent(child).get(model) for child in children]
        own = own_part(logged, [figures for figures in spent if figures is not None])
        if own != stored:
            store.turns.set_own(usage_row, own)
            store.turns.set_tokens(session_id, seq, usage_id, own[OUTPUT])
            if owner is not None:
                changed.add(owner)
    return changed


def own_part(logged: Figures, spent: Iterable[Figures]) -> Figures:
    """What is left of a turn without its subagents.

    One that used more than there is cannot be in it (its report got lost on the way, or came too
    late): it is left out rather than taken from what the turn used itself.
    """
    own = logged
    for figures in spent:
        rest = tuple(have - less for have, less in zip(own, figures, strict=True))
        if min(rest) >= 0:
            own = rest
    return own


def _sum_up(store: Store, session_id: int) -> None:
    row = store.sessions.row_by_id(session_id)
    for name, figure in zip(BUCKETS, store.usage.sums(session_id), strict=True):
        setattr(row, name, figure)
    store.sessions.save(row)
