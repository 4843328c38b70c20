"""The bundled demo is what its generators make, small, and holds one of everything."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.registry import flavors
from session_memory.demo import demo_home, demo_roots
from session_memory.memory import Memory

CHECKOUT = Path(__file__).parent.parent
LIMIT = 360_000
# The agents without a session in the demo, with the reason.
# Live sessions, skills and power_loop belong to programs, not to an agent that a person starts.
# Kilo keeps what opencode and Roo Code keep. mycode has no demo yet.
WITHOUT_A_DEMO = {"live", "power_loop", "mycode", "skill", "kilo"}
# Their logs have no tokens or no model, or the model has no price.
WITHOUT_A_COST = {"crush", "cursor", "qwen", "roo", "vibe"}


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "demo.db") as memory:
        memory.sync_demo()
        yield memory


def lines() -> list[bytes]:
    return [line for path in transcripts() for line in path.read_bytes().splitlines(keepends=True)]


def transcripts() -> list[Path]:
    return sorted((demo_home() / ".claude" / "projects").rglob("*.jsonl"))


def decoded(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    assert isinstance(record, dict)
    return record


def records() -> list[dict[str, Any]]:
    return [record for line in lines() if (record := decoded(line))]


def test_the_data_is_what_the_generator_makes() -> None:
    made = subprocess.run(
        [sys.executable, "tools/make_demo.py", "--check"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert made.returncode == 0, "run: python tools/make_demo.py\n" + made.stdout + made.stderr


def test_it_stays_small() -> None:
    files = {path for root in demo_roots() for path in root.rglob("*") if path.is_file()}
    size = sum(path.stat().st_size for path in files)
    assert 0 < size < LIMIT, (
        f"the demo has {size:,} bytes, which every installation gets: shorten the invented logs, or"
        " raise LIMIT if a new agent needs it"
    )


def test_it_has_a_session_of_every_agent_and_each_tells_what_happened(demo: Memory) -> None:
    others = {one.flavor: one for one in demo.sessions() if one.flavor != "claude"}
    missing = set(flavors()) - set(others) - WITHOUT_A_DEMO - {"claude"}
    assert not missing, (
        f"the demo has no session of {sorted(missing)}: add one in tools/demo_*_agents.py and run"
        " tools/make_demo.py, or add the agent to WITHOUT_A_DEMO in this file, with the reason"
    )
    assert set(others) | WITHOUT_A_DEMO | {"claude"} == set(flavors())
    for flavor, one in others.items():
        assert one.title and one.started_at, flavor
        assert (one.repo in ("tidewatch", "seed-library")) == (flavor != "cursor"), flavor
        assert (one.model is None) == (flavor in ("cursor", "roo")), flavor
        has_cost = bool(one.cost.microdollars)
        assert has_cost == (flavor not in WITHOUT_A_COST), (
            f"{flavor} has {'a' if has_cost else 'no'} cost in the demo: give its model a price,"
            " or correct WITHOUT_A_COST in this file"
        )


def test_only_one_of_its_lines_is_a_problem(demo: Memory) -> None:
    assert demo.problems().reasons == {"malformed line": 1}


def test_its_sessions_end_in_different_ways(demo: Memory) -> None:
    demo.analyze()
    ends = {one.flavor: one.outcome for one in demo.sessions() if one.flavor != "claude"}
    assert [flavor for flavor, end in ends.items() if end != "success"] == ["vibe"]
    assert ends["vibe"] == "abandoned"


def test_its_own_history_of_aider_is_not_taken_for_a_real_one(demo: Memory) -> None:
    """A sync looks for such histories where sessions worked, and some worked in the demo."""
    assert demo.sync(flavors="aider").discovered == 0


@pytest.mark.parametrize("version", ["1.0.98", "2.0.76", "2.1.218", "2.1.325"])
def test_every_age_of_the_format_is_there(version: str) -> None:
    assert any(record.get("version") == version for record in records())


def test_one_line_is_broken_and_one_tail_is_torn() -> None:
    bad = [line for line in lines() if decoded(line) is None]
    assert [line.endswith(b"\n") for line in bad] == [True, False]


def test_a_fork_copies_history_and_rewrites_the_session_alone() -> None:
    by_uuid: dict[str, list[dict[str, Any]]] = {}
    for record in records():
        if "uuid" in record:
            by_uuid.setdefault(record["uuid"], []).append(record)
    copies = [same for same in by_uuid.values() if len(same) > 1]
    assert copies
    for one, other in copies:
        assert one["sessionId"] != other["sessionId"]
        assert one | {"sessionId": ""} == other | {"sessionId": ""}


def test_a_rewind_leaves_two_prompts_below_one_parent() -> None:
    parents = [
        (record["sessionId"], record["parentUuid"])
        for record in records()
        if record["type"] == "user" and isinstance(record["message"]["content"], str)
    ]
    twice = {parent for parent in parents if parent[1] and parents.count(parent) > 1}
    assert len(twice) == 1


def test_what_was_spilled_is_there_in_full() -> None:
    (spilled,) = (demo_home() / ".claude").rglob("tool-results/*")
    named = [
        record["toolUseResult"]
        for record in records()
        if isinstance(record.get("toolUseResult"), dict)
        and "persistedOutputPath" in record["toolUseResult"]
    ]
    assert [Path(result["persistedOutputPath"]).name for result in named] == [spilled.name]
    assert named[0]["persistedOutputSize"] == spilled.stat().st_size


def test_the_subagent_below_its_session_names_the_call_that_started_it() -> None:
    (meta,) = (demo_home() / ".claude").rglob("agent-*.meta.json")
    call = json.loads(meta.read_bytes())["toolUseId"]
    assert any(
        block.get("id") == call and block["name"] == "Agent"
        for record in records()
        if record["type"] == "assistant"
        for block in record["message"]["content"]
    )
