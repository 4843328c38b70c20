"""Short ways to what a page shows give what the long ways give."""

from pathlib import Path

import pytest

from session_memory.core.time import parse_time
from session_memory.store import open_store
from session_memory.views.cost import CostFilter, cost_report
from session_memory.views.dearest import dearest_sessions
from session_memory.views.outline import outline
from session_memory.views.started_sessions import started_sessions

pytestmark = pytest.mark.only("sqlite")


def test_started_sessions_are_those_of_the_outline(demo_store: Path) -> None:
    with open_store(demo_store) as store:
        found = 0
        for uid in store.sessions.uids():
            whole, started = outline(store, uid), started_sessions(store, store, uid)
            assert started.calls == whole.calls
            assert started.unplaced == whole.unplaced
            lanes = {one.uid: (one.sort, one.title, one.microdollars) for one in started.lanes}
            assert lanes == {
                one.uid: (one.sort, one.title, one.microdollars)
                for one in whole.lanes
                if one.uid and one.sort != "deeper"
            }
            found += len(lanes)
        assert found


def test_the_dearest_sessions_are_those_of_the_report(demo_store: Path) -> None:
    with open_store(demo_store) as store:
        times = [one.ended_at or "" for one in store.sessions.every()]
        middle = parse_time(sorted(times)[len(times) // 2])
        for since, until in ((None, None), (middle, None), (None, middle)):
            rows = cost_report(store, CostFilter(by="session", since=since, until=until)).rows
            roots = [row for row in rows if row.about["relation"] != "subagent"]
            for limit in (3, 1000):
                found = dearest_sessions(store, since=since, until=until, limit=limit)
                assert [(one.session.session_uid, one.own, one.total) for one in found] == [
                    (row.key, row.tally.microdollars, row.about["with_subagents"]["microdollars"])
                    for row in roots[:limit]
                ]
