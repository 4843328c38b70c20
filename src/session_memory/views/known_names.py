"""Check the names in a filter: agents, outcomes and kinds of events.

A filter with a name that does not exist would silently give an empty answer. So these functions
raise an error that lists the existing names. A pattern such as ``cl*`` must match one of them.
"""

from collections.abc import Iterable

from session_memory.core.choices import no_such
from session_memory.core.schema import KINDS, OUTCOMES
from session_memory.derive.agents import flavors
from session_memory.store import Store
from session_memory.store.session_ids import SessionIds
from session_memory.views.matching import is_like


def check_flavors(store: Store, *patterns: str | None) -> None:
    """Raise if a pattern matches no installed agent and no agent with sessions in the store."""
    installed = flavors()
    for pattern in patterns:
        # The store is read only for a name that no installed adapter has.
        if pattern is None or _matches(installed, pattern):
            continue
        stored = {*SessionIds(store.db).flavors(), *(row.flavor for row in store.sources.every())}
        known = sorted({*installed, *stored})
        if not _matches(known, pattern):
            raise no_such("flavor", pattern, known)


def check_outcomes(*patterns: str | None) -> None:
    for pattern in patterns:
        if pattern is not None and not _matches(OUTCOMES, pattern):
            raise no_such("outcome", pattern, sorted(OUTCOMES))


def check_kinds(store: Store, *kinds: str) -> None:
    """Raise for a kind that is neither in the schema nor among the names in the store."""
    for kind in kinds:
        # An adapter may give its events kinds of its own. The store has a list of their names.
        if kind not in KINDS and kind not in store.names.all():
            raise no_such("kind", kind, sorted(KINDS))


def _matches(known: Iterable[str], pattern: str) -> bool:
    return any(is_like(name, pattern) for name in known)
