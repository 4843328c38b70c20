"""Agents side by side: in one home, in one store, and none taken for another."""

import os
import shutil
from pathlib import Path

import pytest

from session_memory.adapters.registry import agent as adapter_of
from session_memory.adapters.registry import flavors
from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.config import Config, Exclusions
from session_memory.retain.verification import verify
from session_memory.testing.collecting import (
    check_sound,
    collect,
    collected,
    contents,
    new_store,
)

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.

DATA = Path(__file__).parent.parent / "data"
AGENTS = ("claude", "codex", "grok")
SHARED = Path(os.environ.get("SESSION_MEMORY_SHARED") or Path(__file__).parents[3] / "shared")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """One home in which all three have worked."""
    for agent in AGENTS:
        shutil.copytree(DATA / agent / "subagent" / "home", tmp_path / "home", dirs_exist_ok=True)
    return tmp_path / "home"


@pytest.mark.only("sqlite")
def test_all_three_come_with_the_package() -> None:
    assert set(AGENTS) <= set(flavors())


def test_every_agent_in_a_home_is_collected_with_its_subagents(home: Path) -> None:
    with collected(home) as store:
        check_sound(store)
        sessions = {session.session_uid: session for session in store.sessions.every()}
    for agent in AGENTS:
        own = [session for session in sessions.values() if session.flavor == agent]
        parents = {session.parent_uid for session in own if session.relation == "subagent"}
        assert len(own) == 3, agent
        assert parents == {s.session_uid for s in own if s.relation is None}, agent


def test_one_store_of_all_is_what_a_store_of_each_would_be(home: Path) -> None:
    with collected(home) as store:
        together = set(contents(store))
    apart: set[str] = set()
    for agent in AGENTS:
        with collected(home, flavor=agent) as store:
            apart |= set(contents(store))
    assert together == apart


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("flavor", AGENTS)
def test_no_agent_takes_the_logs_of_another_for_its_own(flavor: str, tmp_path: Path) -> None:
    for number, other in enumerate(other for other in AGENTS if other != flavor):
        theirs = DATA / other / "basic" / "home"
        assert list(adapter_of(flavor).discover(theirs)) == []
        for place, path in enumerate(sorted(theirs.rglob("*.jsonl"))):
            target = tmp_path / f"{number}-{place}" / path.name
            target.parent.mkdir()
            shutil.copy2(path, target)
    assert list(adapter_of(flavor).discover(tmp_path)) == []


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("flavor", AGENTS)
def test_no_agent_takes_what_others_wrote_for_its_own(flavor: str) -> None:
    """Of agents that have no adapter yet: their logs must wait for one."""
    others = [p for p in SHARED.glob("samples/agents/*/*/home") if not _is_of(AGENTS, p)]
    others += [p for p in SHARED.glob("samples/public/*") if p.name not in AGENTS and p.is_dir()]
    for home in others:
        assert list(adapter_of(flavor).discover(home)) == [], home


def _is_of(agents: tuple[str, ...], home: Path) -> bool:
    return home.parent.parent.name.partition("-")[0] in agents


def test_gathered_logs_of_all_agents_are_told_apart(home: Path, tmp_path: Path) -> None:
    names = {"claude": "*.jsonl", "codex": "rollout-*.jsonl", "grok": "updates.jsonl"}
    with collected(home) as store:
        expected = set(store.sessions.uids())
    gathered = tmp_path / "gathered"
    for agent, pattern in names.items():
        for place, path in enumerate(sorted((home / f".{agent}").rglob(pattern))):
            folder = path.parent.name if agent == "grok" else str(place)
            (gathered / agent / folder).mkdir(parents=True)
            shutil.copy2(path, gathered / agent / folder / path.name)
    with collected(gathered) as store:
        found = set(store.sessions.uids())
    assert {uid.partition(":")[0] for uid in found} == set(AGENTS)
    assert {uid for uid in found if not uid.startswith("claude:")} <= expected


def test_an_agent_that_is_left_out_is_left_alone(home: Path) -> None:
    with collected(home, flavor="codex") as store:
        assert {session.flavor for session in store.sessions.every()} == {"codex"}
        collect(store, home)
        assert {session.flavor for session in store.sessions.every()} == set(AGENTS)


@pytest.mark.only("sqlite")
def test_a_sample_of_any_size_proves_a_sound_store_sound(home: Path) -> None:
    """A turn that was logged with its subagents can be derived only with them beside it."""
    with collected(home) as store:
        for size in range(1, 10):
            assert verify(store, sample=size).findings == []


def test_a_sync_reports_its_own_events_and_not_those_of_others(home: Path) -> None:
    with new_store() as store:
        first = collect(store, home, flavor="codex").report
        second = collect(store, home, flavor="grok").report
        assert first.events + second.events == store.events.count()
        assert collect(store, home, flavor="grok").report.events == 0


@pytest.mark.parametrize("flavor", AGENTS)
def test_an_excluded_repository_is_left_out_whichever_agent_worked_there(
    flavor: str, tmp_path: Path
) -> None:
    """Codex says only inside its log where it worked; the others in the name of a directory."""
    home = DATA / flavor / "basic" / "home"
    with new_store() as store:
        for repos in (["basic"], ["ba*"]):
            config = Config(exclude=Exclusions(repos=repos))
            report = sync(store, config, roots(config, (home,)), host="here").report
            assert (report.sessions, report.events, report.bytes) == (0, 0, 0)
            assert report.discovered == report.unchanged
        assert store.sources.every() == []
        config = Config(exclude=Exclusions(repos=["another"]))
        assert sync(store, config, roots(config, (home,)), host="here").report.sessions == 1


def test_the_name_of_the_machine_can_be_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESSION_MEMORY_HOST", "told")
    with new_store() as store:
        sync(store, Config(), roots(Config(), (home,)))
        assert {row.host for row in store.sources.every()} == {"told"}
