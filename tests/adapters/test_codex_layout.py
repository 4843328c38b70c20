"""Where Codex logs are found, and that nobody else's are taken for them."""

from pathlib import Path

import pytest

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.claude import AGENT as claude
from session_memory.adapters.codex import AGENT as codex
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.codex import BARE, LEGACY, PAGINATED, CodexHome, Rollout


@pytest.fixture
def home(tmp_path: Path) -> CodexHome:
    return CodexHome(tmp_path / "home")


def found(root: Path) -> list[SourceRef]:
    refs = list(codex.discover(root))
    assert not [ref for ref in refs if isinstance(ref, Unlisted)]
    return [ref for ref in refs if isinstance(ref, SourceRef)]


def put_away(root: Path, log: Rollout) -> Path:
    archive = root / ".codex" / "archived_sessions"
    archive.mkdir(exist_ok=True)
    return (root / log.place).rename(archive / log.file_name)


def test_sessions_are_looked_for_where_the_agent_is_told_to_keep_them(tmp_path: Path) -> None:
    assert codex.roots({}, tmp_path) == [tmp_path / ".codex"]
    assert codex.roots({"CODEX_HOME": "/opt/codex"}, tmp_path) == [Path("/opt/codex")]


@pytest.mark.parametrize("root", ["", ".codex", ".codex/sessions"])
def test_a_home_the_agents_directory_and_its_sessions_give_the_same(
    home: CodexHome, root: str
) -> None:
    log = home.session("main")
    [ref] = found(home.write() / root)
    assert (ref.path, ref.session) == (home.root / log.place, log.thread)
    assert ref.home_path == log.place.as_posix()
    assert ref.at is None


def test_a_session_that_was_put_away_is_the_source_it_was(home: CodexHome) -> None:
    log = home.session("main")
    [before] = found(home.write())
    place = put_away(home.root, log)
    [after] = found(home.root)
    assert (after.path, after.home_path, after.session) == (
        before.path,
        before.home_path,
        before.session,
    )
    assert after.place == place


def test_a_session_that_was_compressed_is_the_source_it_was(home: CodexHome) -> None:
    log = home.session("main")
    [before] = found(home.write())
    plain = home.root / log.place
    place = plain.rename(plain.with_name(f"{plain.name}.zst"))
    [after] = found(home.root)
    assert (after.path, after.place) == (before.path, place)


def test_of_two_copies_the_plain_one_among_the_sessions_counts(home: CodexHome) -> None:
    log = home.session("main")
    home.write()
    archived = put_away(home.root, log)
    archived.with_name(f"{archived.name}.zst").write_bytes(b"compressed")
    assert [ref.place for ref in found(home.root)] == [archived]
    home.write()
    assert [ref.place for ref in found(home.root)] == [home.root / log.place]


def test_what_else_the_agent_keeps_is_left_alone(home: CodexHome) -> None:
    home.session("main")
    base = home.write() / ".codex"
    for name in ("auth.json", "config.toml", "history.jsonl", "session_index.jsonl"):
        (base / name).write_text('{"session_id":"x","ts":1,"text":"hello"}\n')
    assert len(found(home.root)) == 1


@pytest.mark.parametrize("generation", [BARE, LEGACY, PAGINATED])
def test_a_loose_log_is_told_by_its_first_line_whatever_its_name(
    tmp_path: Path, generation: str
) -> None:
    log = CodexHome(tmp_path).session("main", generation)
    (tmp_path / f"{log.thread}.jsonl").write_bytes(log.data)
    (tmp_path / "notes.jsonl").write_bytes(log.data)
    assert [ref.session for ref in found(tmp_path)] == [log.thread, "notes"]


def test_a_log_whose_first_line_is_longer_than_what_is_looked_at_is_still_told(
    tmp_path: Path,
) -> None:
    log = CodexHome(tmp_path).session("main", base_instructions={"text": "x" * 100_000})
    assert codex.recognizes(log.data[:65536])


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"session","version":3,"id":"a","timestamp":"2026-01-01T00:00:00Z","cwd":"/a"}\n',
        b'{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00Z"}\n',
        b'{"sessionId":"a","projectHash":"b","startTime":"2026-01-01T00:00:00Z"}\n',
        b'{"id":"a","timestamp":"2026-01-01T00:00:00Z","role":"user"}\n',
        b'{"timestamp":1,"method":"session/update","params":{"update":{}}}\n',
        b'{"type":"user","message":{"content":"\\"type\\":\\"session_meta\\""}}\n',
        b"no json\n",
        b"",
    ],
)
def test_logs_of_others_are_not_ours(line: bytes) -> None:
    assert not codex.recognizes(line)


def test_neither_of_two_agents_takes_the_others_logs(tmp_path: Path) -> None:
    theirs = ClaudeHome(tmp_path / "theirs")
    theirs.session("main").prompt("hello")
    theirs.write()
    ours = CodexHome(tmp_path / "ours")
    for generation in (BARE, LEGACY, PAGINATED):
        ours.session(generation, generation).prompt("hello")
    ours.write()
    assert found(tmp_path / "theirs") == []
    assert list(claude.discover(tmp_path / "ours")) == []
    assert len(found(tmp_path)) == 3
