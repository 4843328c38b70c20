"""Test modules are rewritten by one worker and taken from the cache by the others."""

import sys
from pathlib import Path

import pytest
from rewriting import share_the_rewriting

HAS_REWRITING = any(hasattr(finder, "mark_rewrite") for finder in sys.meta_path)


@pytest.mark.skipif(not HAS_REWRITING, reason="the asserts are not rewritten")
def test_a_module_is_rewritten_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("raise RuntimeError('it runs')\n")
    (tmp_path / "test_torn.py").write_text("def test_")
    below = tmp_path / "below"
    below.mkdir()
    (below / "test_two.py").write_text("def test_it():\n    assert 1 == 1\n")
    share_the_rewriting(tmp_path, "gw1", 2)
    written = {path.name.partition(".")[0] for path in tmp_path.rglob("*.pyc")}
    assert written == {"test_one", "test_two"}
