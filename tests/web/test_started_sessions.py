"""The sessions that a session started are those of its outline, found without its events."""

from pathlib import Path

import pytest

from session_memory.store import open_store
from session_memory.views.outline import outline
from session_memory.views.started_sessions import started_sessions

pytestmark = pytest.mark.only("sqlite")


def test_they_are_those_of_the_outline(demo_store: Path) -> None:
    with open_store(demo_store) as store:
        found = 0
        for uid in store.sessions.uids():
            whole, started = outline(store, uid), started_sessions(store, store, uid)
            assert started.calls == whole.calls
            assert started.unplaced == whole.unplaced
            lanes = {one.uid: (one.sort, one.title, one.microdollars) for one in started.lanes}
            assert lanes == {
                one.uid: (one.sort, one.title, one.microdollars) for one in whole.lanes if one.uid
            }
            found += len(lanes)
        assert found
