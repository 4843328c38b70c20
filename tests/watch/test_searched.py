"""What a watch reads is found: the line is indexed with the event, in one transaction."""

import time
from collections.abc import Callable

from hostile.logs import append, log, rounds, user, uuid

from session_memory.core.time import now_ms
from session_memory.search import Filters
from session_memory.testing.collecting import check_index
from session_memory.views.search import search

from .conftest import Memory
from .watching import Watching, until

Watch = Callable[..., Watching]
S = uuid("session")


def test_a_line_is_found_as_soon_as_the_watch_has_read_it(memory: Memory, watch: Watch) -> None:
    path = log(memory.root, S, rounds(S, 2))
    following = watch()
    with memory.opened() as store:
        append(path, [user(S, 8, "an unmistakable quetzal")])
        appended = time.monotonic()

        def is_found() -> bool:
            return search(store, "quetzal", Filters(), now=now_ms()).total > 0

        until(is_found, "that the line is found")
        waited = time.monotonic() - appended
        session = following.has_events(f"claude:{S}", 9)
        # The event and its words are one transaction: whoever learns of one finds the other.
        assert session["new_events"] == 1
        assert is_found()
        check_index(store)
    # No timed test; a promise of a second is measured in benchmarks, and this is far from it.
    assert waited < 20
