"""Needles in a corpus like real logs are found in exactly the sessions where they were planted."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from session_memory.testing.collecting import collected

from .asking import asked

CHECKOUT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("SESSION_MEMORY_SHARED") or CHECKOUT.parent / "shared")
GENERATOR = SHARED / "bench" / "gen_corpus.py"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its home, beside the truth about it."""
    if not GENERATOR.exists():
        pytest.skip("the corpus generator is only in shared/bench: set SESSION_MEMORY_SHARED")
    pytest.importorskip("orjson")
    home = tmp_path_factory.mktemp("corpus") / "home"
    size = ("--sessions", "60", "--mb", "6")
    subprocess.run(
        [sys.executable, str(GENERATOR), str(home), *size], check=True, capture_output=True
    )
    return home


def test_every_needle_is_found_where_it_was_planted_and_nowhere_else(corpus: Path) -> None:
    planted = json.loads((corpus.parent / "truth.json").read_text())["needle_sessions"]
    assert {item["where"] for item in planted.values()} == {
        *("prompt", "thinking", "tool_input", "bash_output", "read_output", "title")
    }
    with collected(corpus) as store:
        for needle, item in planted.items():
            results = asked(store, needle)
            expected = {f"claude:{session}" for session in item["sessions"]}
            assert expected, needle
            assert {hit.session_uid for hit in results.hits} == expected, needle
            assert results.total_exact
            best = results.hits[0].name
            assert best == {"title": "title", "prompt": "message"}.get(item["where"], best)
