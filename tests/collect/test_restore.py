"""Native logs come back byte for byte, and nothing else is touched on the way."""

import stat
from collections.abc import Iterable
from pathlib import Path

import pytest

from session_memory.core.errors import UnknownSession, UnsafePath
from session_memory.retain.native_files import restore_native
from session_memory.store import Store
from session_memory.testing.claude import ClaudeHome, call, usage
from session_memory.testing.collecting import check_restores, collect, collected

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.


@pytest.fixture
def logs(claude: ClaudeHome) -> ClaudeHome:
    log = claude.session()
    log.prompt("make it work")
    log.answer(call("Agent", "spawn", prompt="look"), used=usage(5))
    log.raw(b"\n  \n{broken\n\xff\xfe\n")
    log.spill("out.txt", bytes(range(256)))
    claude.subagent(log, "a1", meta={"toolUseId": "spawn"}).prompt("look")
    claude.fork(log, "beta").prompt("go on")
    log.raw(b'{"torn": "\xc3')
    claude.write()
    return claude


def files_below(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def test_everything_comes_back_byte_for_byte(logs: ClaudeHome, tmp_path: Path) -> None:
    with collected(logs.path) as store:
        check_restores(store, logs.path, tmp_path / "again")
    assert files_below(tmp_path / "again") == files_below(logs.path)


def test_everything_comes_back_after_the_originals_are_gone(
    logs: ClaudeHome, tmp_path: Path
) -> None:
    before = files_below(logs.path)
    with collected(logs.path) as store:
        for path in logs.path.rglob("*"):
            if path.is_file():
                path.unlink()
        collect(store, logs.path)
        restore_native(store, None, tmp_path / "again")
        assert files_below(tmp_path / "again") == before
        restore_native(store, None, below=[logs.path])
    assert files_below(logs.path) == before


def test_a_log_collected_in_many_steps_comes_back_whole(
    claude: ClaudeHome, tmp_path: Path, database: str
) -> None:
    log = claude.session()
    with collected(claude.write()) as store:
        for number in range(60 if database == "sqlite" else 10):
            log.prompt(f"step {number}")
            log.raw(b'{"torn')
            collect(store, claude.write())
            log.lines.pop()
            collect(store, claude.write())
        log.prompt("the end")
        collect(store, claude.write())
        check_restores(store, claude.path, tmp_path / "again")


def test_a_session_comes_back_with_its_own_files_alone(logs: ClaudeHome, tmp_path: Path) -> None:
    with collected(logs.path) as store:
        restored = restore_native(store, ["claude:beta"], tmp_path / "again")
    assert [item.path.name for item in restored] == ["beta.jsonl"]


@pytest.mark.only("sqlite")
def test_an_unknown_session_is_said_to_be_unknown(logs: ClaudeHome, tmp_path: Path) -> None:
    with collected(logs.path) as store, pytest.raises(UnknownSession):
        restore_native(store, ["claude:nobody"], tmp_path / "again")
    assert not (tmp_path / "again").exists()


@pytest.mark.only("sqlite")
def test_restored_files_are_their_owners_alone(logs: ClaudeHome, tmp_path: Path) -> None:
    with collected(logs.path) as store:
        restore_native(store, None, tmp_path / "again")
    modes = {
        (path.is_dir(), stat.S_IMODE(path.stat().st_mode))
        for path in (tmp_path / "again", *(tmp_path / "again").rglob("*"))
    }
    assert modes == {(True, 0o700), (False, 0o600)}


@pytest.mark.only("sqlite")
def test_restoring_keeps_the_time_of_the_last_change(logs: ClaudeHome, tmp_path: Path) -> None:
    """An agent lists its sessions by it."""
    with collected(logs.path) as store:
        restored = restore_native(store, ["claude:beta"], tmp_path / "again")
    original = logs.path / restored[0].path.relative_to(tmp_path / "again")
    assert restored[0].path.stat().st_mtime_ns == original.stat().st_mtime_ns


# ------------------------------------------------------------ refusals


def refused(store: Store, target: Path | None, match: str, below: Iterable[Path] = ()) -> None:
    with pytest.raises(UnsafePath, match=match) as error:
        restore_native(store, None, target, below=below)
    assert error.value.hint


@pytest.mark.only("sqlite")
def test_nothing_is_overwritten_and_nothing_written_before_that_is_clear(
    logs: ClaudeHome, tmp_path: Path
) -> None:
    target = tmp_path / "again"
    taken = target / logs.logs[-1].place
    taken.parent.mkdir(parents=True)
    taken.write_text("precious")
    with collected(logs.path) as store:
        refused(store, target, "exists already")
        refused(store, None, "exists already", below=[logs.path])
    assert files_below(target) == {logs.logs[-1].place.as_posix(): b"precious"}


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_no_link_is_followed_and_nothing_made_behind_it(
    logs: ClaudeHome, tmp_path: Path, depth: int
) -> None:
    target, outside = tmp_path / "again", tmp_path / "outside"
    outside.mkdir()
    link = target.joinpath(*logs.logs[0].place.parts[: depth + 1])
    link.parent.mkdir(parents=True)
    link.symlink_to(outside, target_is_directory=True)
    with collected(logs.path) as store:
        refused(store, target, "link")
    assert list(outside.iterdir()) == []


@pytest.mark.only("sqlite")
def test_a_file_that_is_a_link_is_not_written_through(logs: ClaudeHome, tmp_path: Path) -> None:
    target, outside = tmp_path / "again", tmp_path / "outside"
    taken = target / logs.logs[0].place
    taken.parent.mkdir(parents=True)
    taken.symlink_to(outside)
    with collected(logs.path) as store:
        refused(store, target, "exists already")
    assert not outside.exists()


def test_only_missing_leaves_a_link_that_leads_nowhere(logs: ClaudeHome, tmp_path: Path) -> None:
    target = tmp_path / "again"
    with collected(logs.path) as store:
        first, *rest = restore_native(store, None, target)
        first.path.unlink()
        first.path.symlink_to(tmp_path / "nowhere")
        rest[0].path.unlink()
        found = restore_native(store, None, target, only_missing=True)
    assert [one.path for one in found] == [rest[0].path]
    assert not (tmp_path / "nowhere").exists()


def test_where_the_agent_looks_is_below_its_root_or_nowhere(
    logs: ClaudeHome, tmp_path: Path
) -> None:
    """A path may have come from somebody else's export."""
    with collected(logs.path) as store:
        for path in logs.path.rglob("*.json*"):
            path.unlink()
        refused(store, None, "not below", below=[tmp_path / "elsewhere"])
        evil = str(logs.path / ".claude" / ".." / ".." / "evil")
        store.db.execute("update sources set path = :path where id = 1", {"path": evil})
        refused(store, None, "not below", below=[logs.path / ".claude"])
    assert not (tmp_path / "evil").exists()


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("place", ["../evil", "/etc/evil", "a/../../evil", "", "a\\u0000b/../.."])
def test_a_place_outside_the_target_is_refused(
    logs: ClaudeHome, tmp_path: Path, place: str
) -> None:
    with collected(logs.path) as store:
        store.db.execute("update sources set home_path = :place where id = 1", {"place": place})
        refused(store, tmp_path / "a" / "b", "would be written outside")
    assert not (tmp_path / "a").exists()


def test_two_files_for_one_place_are_refused(logs: ClaudeHome, tmp_path: Path) -> None:
    with collected(logs.path) as store:
        logs.logs[0].prompt("only there")
        collect(store, logs.write(), host="another machine")
        refused(store, tmp_path / "again", "both belong")
        restore_native(store, None, tmp_path / "again", host="another machine")
    assert files_below(tmp_path / "again") == files_below(logs.path)


def test_the_same_file_of_two_machines_is_written_once(logs: ClaudeHome, tmp_path: Path) -> None:
    with collected(logs.path) as store:
        collect(store, logs.path, host="another machine")
        restore_native(store, None, tmp_path / "again")
    assert files_below(tmp_path / "again") == files_below(logs.path)


def test_a_log_that_lies_in_the_agents_archive_is_not_missing(
    logs: ClaudeHome, tmp_path: Path
) -> None:
    with collected(logs.path) as store:
        paths = {Path(row.path) for row in store.sources.every()}
        for path in paths:
            path.rename(path.with_suffix(".moved"))
        below = [logs.path / ".claude"]
        found = restore_native(store, None, only_missing=True, below=below, present=paths)
        assert found == []
        with pytest.raises(UnsafePath, match="archive"):
            restore_native(store, None, below=below, present=paths)


def test_a_path_from_elsewhere_is_never_written_to(logs: ClaudeHome, tmp_path: Path) -> None:
    with collected(logs.path) as store, pytest.raises(UnsafePath, match="not below"):
        restore_native(store, None, below=[tmp_path / "the-agents-own-directory"])
