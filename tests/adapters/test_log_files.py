"""Finding the logs of an agent whose directory has another name."""

import shutil
from pathlib import Path

import pytest

from session_memory.adapters.base import SourceRef
from session_memory.adapters.registry import agent

DATA = Path(__file__).parent.parent / "data"
OWN = {"copilot": ".copilot", "gemini": ".gemini", "pi": ".pi/agent", "qwen": ".qwen"}


def found(flavor: str, root: Path) -> dict[str, str]:
    refs = [ref for ref in agent(flavor).discover(root) if isinstance(ref, SourceRef)]
    return {ref.home_path: ref.session for ref in refs}


@pytest.mark.parametrize("flavor", OWN)
def test_a_directory_with_another_name_holds_the_same_logs(flavor: str, tmp_path: Path) -> None:
    home = DATA / flavor / "basic" / "home"
    shutil.copytree(home / OWN[flavor], tmp_path / "elsewhere")
    expected = found(flavor, home)
    assert expected
    assert found(flavor, home / OWN[flavor]) == expected
    assert found(flavor, tmp_path / "elsewhere") == expected


@pytest.mark.parametrize("flavor", OWN)
def test_logs_of_others_in_such_a_directory_are_not_claimed(flavor: str, tmp_path: Path) -> None:
    for below in ("session-state/s", "tmp/p/chats", "sessions/--p--", "projects/p/chats"):
        (tmp_path / below).mkdir(parents=True)
        for name in ("events.jsonl", "session-1.jsonl"):
            (tmp_path / below / name).write_text('{"type":"something","of":"others"}\n')
    assert found(flavor, tmp_path) == {}


def test_subagents_in_a_directory_with_another_name_keep_their_parent(tmp_path: Path) -> None:
    log = DATA / "qwen" / "basic" / "home" / ".qwen" / "projects"
    shutil.copytree(log, tmp_path / "qwen-data" / "projects")
    [project] = (tmp_path / "qwen-data" / "projects").iterdir()
    below = project / "subagents" / "s1"
    below.mkdir(parents=True)
    (below / "agent-a1.jsonl").write_text('{"uuid":"u1","parentUuid":null,"sessionId":"s1"}\n')
    refs = [r for r in agent("qwen").discover(tmp_path / "qwen-data") if isinstance(r, SourceRef)]
    assert [(ref.session, ref.agent) for ref in refs if ref.agent] == [("s1", "a1")]
