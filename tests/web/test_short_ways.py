"""Short ways to what a page shows give what the long ways give."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from session_memory.core.time import parse_time
from session_memory.store import open_store
from session_memory.testing.claude import MODEL, ClaudeHome, text, usage
from session_memory.testing.collecting import collected
from session_memory.views.cost import CostFilter, cost_report
from session_memory.views.dearest import dearest_sessions
from session_memory.views.outline import outline
from session_memory.views.session_pages import facets, session_page
from session_memory.views.sessions import Filter, list_sessions
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


def test_the_dearest_of_a_list_come_first_with_their_subagents(demo_store: Path) -> None:
    with open_store(demo_store) as store:
        models = [one.model for one in store.sessions.every() if one.model]
        for filters in (Filter(folded=True), Filter(folded=True, model=models[0])):
            listed = list_sessions(store, filters, limit=0).sessions
            seen: list[tuple[int, str]] = []
            after: str | None = None
            while True:
                page = session_page(store, filters, sort="cost", after=after, size=4)
                seen += [(row.amount.microdollars, row.session.session_uid) for row in page.rows]
                after = page.next
                if after is None:
                    break
            assert sorted(uid for _, uid in seen) == sorted(one.session_uid for one in listed)
            costs = [cost for cost, _ in seen]
            assert costs == sorted(costs, reverse=True)


def test_subagents_decide_which_session_is_dearest(claude: ClaudeHome, tmp_path: Path) -> None:
    """Two subagents of an unknown parent stand in the list as one, with the cost of both."""
    for name, output in (("cheap", 10), ("middle", 1000)):
        claude.session(name).answer(text("done"), used=usage(output))
    parent = claude.session("parent")
    parent.answer(text("done"), used=usage(20))
    gone = claude.session("gone")
    for log, agents in ((parent, ("a1", "a2")), (gone, ("b1", "b2"))):
        for agent in agents:
            claude.subagent(log, agent).answer(text("done"), used=usage(800))
    home = claude.write()
    for file in list(home.rglob("gone.jsonl")):
        file.unlink()
    with collected(home, tmp_path / "memory.db") as store:
        rows = session_page(store, Filter(folded=True), sort="cost").rows
        parents = [row.session.parent_uid or row.session.session_uid for row in rows]
        assert parents == ["claude:parent", "claude:gone", "claude:middle", "claude:cheap"]
        costs = [row.amount.microdollars for row in rows]
        assert costs == sorted(costs, reverse=True)


def test_facets_count_subagents_that_their_own_value_lists(
    claude: ClaudeHome, tmp_path: Path
) -> None:
    """A subagent is folded below its parent, but the list of its own model has it."""
    for name in ("one", "two", "gone"):
        log = claude.session(name)
        log.answer(text("done"))
        for agent in ("a", "b"):
            model = "claude-haiku-4-5" if agent == "a" or name == "gone" else MODEL
            claude.subagent(log, f"{agent}{name}").answer(text("done"), model=model)
    home = claude.write()
    for file in list(home.rglob("gone.jsonl")):
        file.unlink()
    with collected(home, tmp_path / "memory.db") as store:
        for filters in (Filter(folded=True), Filter(folded=True, outcome="unknown")):
            counted = facets(store, filters)
            assert dict(counted["model"]) == {MODEL: 2, "claude-haiku-4-5": 3}
            for field, values in counted.items():
                for value, number in values:
                    one = replace(filters, **{field: value})
                    assert list_sessions(store, one, limit=0).total == number, (field, value)
