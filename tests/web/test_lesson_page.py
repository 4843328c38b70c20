"""The page of a lesson shows the figures of `lessons measure`, and the sessions it compared."""

import re
from pathlib import Path

import pytest
from learn.fleets import AFTER, APPLIED, BEFORE, ERROR, REPO, SyntheticFleet, at, recurring

from session_memory import Memory
from session_memory.config import LessonsConfig
from session_memory.learn.curate import accept
from session_memory.learn.measure import measure
from session_memory.learn.proposals import propose
from session_memory.learn.targets import Target
from session_memory.store import open_store
from session_memory.views.lessons import applied_of, lesson_effect, lessons_of

from .conftest import Client

pytestmark = pytest.mark.only("sqlite")


def test_two_rates_with_their_intervals_and_a_dot_for_each_session(
    client_of: Client, tmp_path: Path
) -> None:
    fleet, place = SyntheticFleet(tmp_path / "home"), tmp_path / "memory.db"
    fleet.go_to(BEFORE)
    fleet.sessions(6, problem=ERROR)
    fleet.sessions(2)
    project = tmp_path / REPO
    project.mkdir()
    with open_store(place) as store:
        fleet.learned(store)
    client = client_of(place)
    with Memory(str(place), create=False) as memory:
        store, config = memory.store, LessonsConfig()
        folder, applied = lessons_of(store, memory.config), applied_of(store)
        lesson = accept(folder, store, recurring(store, "zonal"), config, at(APPLIED))
        page = client.get(f"/lessons/{lesson.id}", headers={"X-Part": "effect"}).text
        assert "Not applied" in page and "<svg" not in page
        file = Target(project / "CLAUDE.md", REPO, ("CLAUDE.md",))
        proposal = propose(file, [lesson], config, around=applied.around(file.path))
        applied.apply(proposal, at(APPLIED))
        fleet.go_to(AFTER)
        fleet.sessions(1, problem=ERROR)
        fleet.sessions(6)
        fleet.learned(store)
        effect = lesson_effect(folder, applied, store, memory.config, lesson.id)
        (measured,) = measure(
            store,
            [lesson],
            applied.periods(),
            least=memory.config.lessons.measure_sessions,
            days=90,
        )
        assert effect.measured == measured
        for name, side in (("before", measured.before), ("after", measured.after)):
            compared = effect.sessions[name]
            assert len(compared) == side.sessions > 0
            assert sum(one.shows for one in compared) == side.showing
        page = client.get(f"/lessons/{lesson.id}", headers={"X-Part": "effect"}).text
    assert "6 of 8 sessions had the problem, 75% (95 % interval" in page
    assert "1 of 7 sessions had the problem, 14% (95 % interval" in page
    dots = re.findall(r'href="/s/([^"]+)"><g><title>[^<]*: (had|did not)', page)
    assert len(dots) == 15 and sum(word == "had" for _, word in dots) == 7
    assert client.get(f"/lessons/{lesson.id}").text.count("<h1") == 1
