"""The tools ``why`` and ``handoff``, asked as an agent asks them."""

import subprocess
from pathlib import Path

import pytest

from session_memory import Memory
from session_memory.mcp.asking import AskedMemory
from session_memory.mcp.catalog import ToolError
from session_memory.testing.claude import ClaudeHome, call

pytestmark = pytest.mark.only("sqlite")


@pytest.fixture
def asked(tmp_path: Path) -> AskedMemory:
    root = tmp_path / "code" / "demo"
    root.mkdir(parents=True)
    home = ClaudeHome(tmp_path / "home", cwd=str(root))
    log = home.session("work")
    log.prompt("compute the area")
    text = "def area(width, height):\n    return width * height\n"
    log.answer("Width times height.", call("Write", file_path=str(root / "area.py"), content=text))
    log.result("written")
    log.prompt("thanks, and now sums")
    log.answer("Here they are.")
    (root / "area.py").write_text(text)
    for words in (("init", "-q"), ("add", "-N", "area.py")):
        subprocess.run(["git", *words], cwd=root, check=True)
    with Memory(tmp_path / "memory.db") as memory:
        memory.sync(roots=[home.write()])
    return AskedMemory(str(tmp_path / "memory.db"), None, root)


def test_why_says_what_was_asked(asked: AskedMemory) -> None:
    answer = asked.answer("why", {"path": "area.py", "line": 2})
    assert "line 2 of area.py:" in answer
    assert "compute the area" in answer
    assert "Width times height." in answer
    assert "[work#" in answer


@pytest.mark.parametrize("path", ["../../../etc/passwd", "/etc/passwd", "no-such.py", "."])
def test_why_reads_no_other_file(asked: AskedMemory, path: str) -> None:
    with pytest.raises(ToolError, match="the path of a file of this repository"):
        asked.answer("why", {"path": path})


def test_handoff_has_the_last_turns_word_for_word(asked: AskedMemory) -> None:
    answer = asked.answer("handoff", {"ref": "work", "last": 1, "tokens": 2000})
    assert "Earlier in this session, 1 turn in short:" in answer
    assert "thanks, and now sums" in answer
    assert "Here they are." in answer
