"""``session-memory train``: a preview and an export."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from session_memory.cli import main
from session_memory.live.skill_log import SkillLog


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    failed = {"attempt": 1, "output_summary": "It cannot be done at all.", "runner_output": "no"}
    proved = {"attempt": 2, "output_summary": "A loop over the pages does it.", "verified": True}
    SkillLog(tmp_path / ".session-memory" / "skills").append(
        {
            "session_id": "nightly",
            "timestamp": "2026-07-01T10:00:00Z",
            "skill": "implement",
            "project_root": "/home/mira/webshop",
            "input": "Walk through all pages of the answer.",
            "attempts": [failed, proved],
            "final_status": "pass",
        }
    )
    assert CliRunner().invoke(main, ["sync"]).exit_code == 0
    return tmp_path


def test_stats_say_what_an_export_would_hold_and_write_nothing(home: Path) -> None:
    result = CliRunner().invoke(main, ["train", "stats"])
    assert result.exit_code == 0, result.output
    assert "sft" in result.output and "dpo" in result.output
    report = json.loads(CliRunner().invoke(main, ["train", "stats", "--json"]).output)
    assert report["total"] == 2 and report["files"] == []


def test_an_export_writes_the_kinds_that_were_asked_for(home: Path) -> None:
    out = home / "data"
    asked = ["train", "export", "--out", str(out), "--kind", "dpo", "--split", "1/0/0", "--json"]
    report = json.loads(CliRunner().invoke(main, asked).output)
    assert report["rows"] == {"dpo": {"train": 1}}
    assert report["files"] == ["README.md", "dpo/train.jsonl", "provenance.jsonl"]
    row = json.loads((out / "dpo" / "train.jsonl").read_text())
    assert row["chosen"] == [{"role": "assistant", "content": "A loop over the pages does it."}]
    again = CliRunner().invoke(main, asked)
    assert again.exit_code == 1 and "is not empty" in again.output


def test_shares_that_are_none_are_refused(home: Path) -> None:
    for shares in ("90", "a/b/c", "0/5/5"):
        result = CliRunner().invoke(main, ["train", "stats", "--split", shares])
        assert result.exit_code == 2 and "90/5/5" in result.output


def test_a_store_with_nothing_to_learn_from_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    run = CliRunner()
    assert run.invoke(main, ["sync"]).exit_code == 0
    assert "Nothing to learn from yet" in run.invoke(main, ["train", "stats"]).output
