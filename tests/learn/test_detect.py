"""Detectors find what was planted, and keep silent where nothing stands out."""

import json
import re
from pathlib import Path
from random import Random

import pytest

from session_memory.learn.analyze import analyze
from session_memory.learn.detect import detectors
from session_memory.learn.fleet import fleet_of
from session_memory.learn.patterns import patterns, signals_of
from session_memory.learn.signal import Signal
from session_memory.live.store import SessionStore
from session_memory.store import open_store
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.codex import CodexHome, ran
from session_memory.testing.collecting import collect, collected, events_of
from session_memory.testing.planted import (
    HARMLESS,
    TO_FIND,
    Part,
    Planting,
    plant,
    write_session,
)

from .sessions import NOW

# Others send a server the statements that these would send it.
pytestmark = pytest.mark.only("sqlite")

HERE = Path(__file__).parent


def signals(home: ClaudeHome) -> list[Signal]:
    with collected(home.write()) as store:
        analyze(store, now=NOW)
        return list(signals_of(store, fleet_of(store)))


def planted(home: ClaudeHome, part: Part | None, times: int = 1) -> dict[str, set[str]]:
    """Sessions with one thing in each, and a usual number of harmless ones beside them."""
    truth = {}
    for number in range(times):
        log = home.session(f"{part.__name__ if part else 'clean'}-{number}")
        truth[log.uid] = write_session(Planting(log, Random(number)), part)
    for number in range(6):
        beside = home.session(f"usual-{number}")
        truth[beside.uid] = write_session(Planting(beside, Random(100 + number)), None)
    return truth


@pytest.mark.parametrize("part", TO_FIND, ids=lambda part: part.__name__)
def test_what_was_planted_is_found_with_its_evidence(claude: ClaudeHome, part: Part) -> None:
    truth = planted(claude, part)
    with collected(claude.write()) as store:
        analyze(store, now=NOW)
        found = list(signals_of(store, fleet_of(store)))
        for uid, expected in truth.items():
            own = [signal for signal in found if signal.session_uid == uid]
            assert {signal.type for signal in own} == expected
            there = {event.event_uid for event in events_of(store, uid)}
            assert all(set(signal.evidence) <= there for signal in own)
            assert all(signal.basis in ("measured", "estimated") for signal in own)
            assert all(signal.magnitude > 0 and signal.detail for signal in own)


@pytest.mark.parametrize("part", HARMLESS, ids=lambda part: part.__name__)
def test_a_near_miss_is_none(claude: ClaudeHome, part: Part) -> None:
    planted(claude, part)
    assert signals(claude) == []


def test_every_detector_is_planted_or_has_a_test_of_its_own(claude: ClaudeHome) -> None:
    found = set().union(*plant(claude, sessions=300, seed=7).values())
    tested = {path.stem.removeprefix("test_") for path in HERE.glob("test_*.py")}
    assert found <= set(detectors())
    missing = [f"tests/learn/test_{name}.py" for name in set(detectors()) - found - tested]
    assert not missing, f"write {sorted(missing)} (docs/learning.md, Add a detector)"


def test_the_page_lists_every_type_of_signal() -> None:
    page = (HERE.parent.parent / "docs" / "learning.md").read_text("utf-8")
    rows = page.partition("\n| type | found when |\n")[2].partition("\n\n")[0]
    listed = [
        name for row in rows.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])
    ]
    assert len(listed) == len(set(listed))
    missing = sorted(set(detectors()) - set(listed))
    assert not missing, f"add rows to the table of types in docs/learning.md: {missing}"
    gone = sorted(set(listed) - set(detectors()))
    assert not gone, f"docs/learning.md lists types without a detector: {gone}"
    noise = re.search(r"^- types that only say how a session went: (.+);$", page, re.MULTILINE)
    assert noise is not None
    about = {name for name, detector in detectors().items() if detector.about_session}
    assert set(re.findall(r"`(\w+)`", noise[1])) == about, (
        "the list of types that only say how a session went, in docs/learning.md, differs from the"
        " detectors with about_session=True"
    )


@pytest.mark.usefixtures("everywhere")
def test_precision_and_recall_are_whole_on_generated_sessions(claude: ClaudeHome) -> None:
    truth = plant(claude, sessions=60, seed=3)
    found: dict[str, set[str]] = {uid: set() for uid in truth}
    for signal in signals(claude):
        found[signal.session_uid].add(signal.type)
    assert found == truth


def test_detectors_run_in_the_order_of_their_names() -> None:
    assert list(detectors()) == sorted(detectors())
    assert all(name == detector.type for name, detector in detectors().items())


@pytest.mark.parametrize("between", ("pip install torch", "git status", None))
def test_an_install_between_two_runs_of_a_test_is_no_flaky_test(
    tmp_path: Path, between: str | None
) -> None:
    # SWITCHING 0.85: found in live sessions, where it was the first suggestion of the retro.
    with open_store(tmp_path / "memory.db", durability="normal") as store:
        live = SessionStore(store.db)
        session = live.create_session(session_id="loom")
        live.append_message(session, role="user", content="weave")
        runs = [("pytest -q", "1 failed in 0.1s"), (between, "done"), ("pytest -q", "1 passed")]
        for number, (command, output) in enumerate(one for one in runs if one[0]):
            bash = {"name": "bash", "arguments": json.dumps({"command": command})}
            call = {"id": f"c{number}", "type": "function", "function": bash}
            live.append_message(session, role="assistant", tool_calls=[call])
            live.append_message(session, role="tool", content=output, tool_call_id=call["id"])
        collect(store, tmp_path)
        analyze(store, now=NOW)
        types = {signal.type for signal in signals_of(store, fleet_of(store))}
    assert ("flaky_test" in types) == (between != "pip install torch")


def test_what_comes_back_is_one_pattern_over_agents_and_repositories(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path)
    for number in range(2):
        log = home.session(f"one-{number}")
        log.prompt("run it")
        log.run("python app.py", "ModuleNotFoundError: No module named 'torch'", exit_code=1)
        log.run("pip install torch", "installed")
        log.run("python app.py", "fine")
    home.write()
    codex = CodexHome(tmp_path)
    rollout = codex.session("other")
    rollout.turn("run it")
    rollout.shell("python other.py")
    rollout.result(ran(1, "ModuleNotFoundError: No module named 'torch'"))
    codex.write()
    with collected(tmp_path) as store:
        analyze(store, now=NOW)
        (found,) = [p for p in patterns(store) if p.type == "recurring_error"]
    assert (found.sessions, found.cross_flavor) == (3, True)
    assert found.flavors == ("claude", "codex")
    assert found.resolutions[0].kind == "command"
    assert found.resolutions[0].text == "pip install torch"
    assert found.resolutions[0].sessions == 2
    assert found.tokens > 0 and found.microdollars > 0


def test_files_that_sessions_looked_for_in_vain_are_one_error_only_if_they_are_the_same(
    tmp_path: Path,
) -> None:
    codex = CodexHome(tmp_path)
    for name, path in (("one", "lib/a.ts"), ("two", "web/b.ts"), ("three", "web/b.ts")):
        rollout = codex.session(name)
        rollout.turn("look")
        rollout.shell(f"sed -n 1,9p {path}")
        rollout.result(ran(1, f"sed: {path}: No such file or directory"))
    codex.write()
    with collected(tmp_path) as store:
        analyze(store, now=NOW)
        (found,) = [p for p in patterns(store) if p.type == "recurring_error"]
    assert (found.sessions, found.detail) == (2, "sed: web/b.ts: No such file or directory")
