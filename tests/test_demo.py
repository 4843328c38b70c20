"""The bundled demo is what its generators make, small, and holds one of everything."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from session_memory.demo import demo_home, demo_homes
from session_memory.memory import Memory

CHECKOUT = Path(__file__).parent.parent
LIMIT = 300_000


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
    files = [path for home in demo_homes() for path in home.rglob("*") if path.is_file()]
    assert 0 < sum(path.stat().st_size for path in files) < LIMIT


def test_it_has_sessions_of_several_agents_and_each_tells_what_happened(tmp_path: Path) -> None:
    with Memory(tmp_path / "demo.db") as memory:
        memory.sync_demo()
        others = [one for one in memory.sessions() if one.flavor != "claude"]
        assert sorted(one.flavor for one in others) == ["codex", "gemini", "pi"]
        for one in others:
            assert one.title and one.repo and one.model and one.cost.microdollars


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
