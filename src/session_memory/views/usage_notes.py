"""Notes about what agents leave out of the tokens and costs that they log."""

from session_memory.derive.agents import about
from session_memory.store import Store
from session_memory.store.session_ids import SessionIds
from session_memory.views.matching import is_like


def usage_notes(store: Store, flavor: str | None = None) -> dict[str, str]:
    """Return notes about the agents with sessions in the store, by flavor.

    ``flavor`` selects agents by a name or a pattern.
    """
    stored = [one for one in SessionIds(store.db).flavors() if is_like(one, flavor)]
    noted = {one: about(one).usage_note for one in sorted(stored)}
    return {one: note for one, note in noted.items() if note}
