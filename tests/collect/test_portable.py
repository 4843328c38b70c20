"""Export and import: a store in one file, whole, and nothing taken in from one that is not."""

import io
import stat
import tarfile
from pathlib import Path

import msgspec
import pytest

from session_memory.config import Config
from session_memory.core.errors import SessionMemoryError, UnknownSession, UnsafePath
from session_memory.retain.portable_file import FORMAT_VERSION, export_store
from session_memory.retain.portable_import import import_store
from session_memory.store import Store
from session_memory.store.zstandard import zstd
from session_memory.testing.claude import ClaudeHome, call, usage
from session_memory.testing.collecting import (
    check_restores,
    check_same,
    check_sound,
    collect,
    collected,
    contents,
    new_store,
)

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.


@pytest.fixture
def logs(claude: ClaudeHome) -> ClaudeHome:
    log = claude.session("main")
    log.prompt("make it work")
    log.answer(call("Agent", "spawn", prompt="look"), used=usage(5))
    log.raw(b"{broken\n")
    log.spill("out.txt", b"spilled")
    agent = claude.subagent(log, "a1", meta={"toolUseId": "spawn", "description": "Look"})
    agent.raw(log.lines[1])
    agent.answer("looked", used=usage(7))
    claude.fork(log, "beta").answer("done", used=usage(9))
    log.raw(b'{"torn')
    claude.write()
    return claude


@pytest.fixture
def exported(logs: ClaudeHome, tmp_path: Path) -> Path:
    target = tmp_path / "sessions.smx"
    with collected(logs.path) as store:
        export_store(store, target)
    return target


def imported(path: Path) -> Store:
    store = new_store()
    import_store(store, path, Config())
    return store


def test_an_export_taken_in_elsewhere_is_the_same_store(
    logs: ClaudeHome, exported: Path, tmp_path: Path
) -> None:
    with collected(logs.path) as store, imported(exported) as other:
        check_sound(other)
        check_same(contents(store), contents(other))
        assert other.fingerprint() == store.fingerprint()
        check_restores(other, logs.path, tmp_path / "again")


def test_an_export_is_its_owners_alone_and_leaves_nothing_beside_it(exported: Path) -> None:
    assert stat.S_IMODE(exported.stat().st_mode) == 0o600
    assert [p.name for p in exported.parent.iterdir() if "sessions" in p.name] == ["sessions.smx"]


def test_taking_in_an_export_twice_adds_nothing(exported: Path) -> None:
    with imported(exported) as store:
        before = store.fingerprint()
        again = import_store(store, exported, Config())
        assert (again.known, again.bytes, again.sessions) == (again.sources, 0, 0)
        assert store.fingerprint() == before


def test_exports_of_parts_come_together_in_any_order(logs: ClaudeHome, tmp_path: Path) -> None:
    with collected(logs.path) as whole:
        uids = whole.sessions.uids()
        for uid in uids:
            export_store(whole, tmp_path / uid, [uid])
        for order in (uids, uids[::-1]):
            with new_store() as store:
                for uid in order:
                    import_store(store, tmp_path / uid, Config())
                check_sound(store)
                check_same(contents(whole), contents(store))


def test_a_log_goes_on_growing_after_it_was_taken_in(logs: ClaudeHome, exported: Path) -> None:
    """Its torn tail came along; the rest of the line must find it where it was."""
    log = logs.logs[0]
    log.raw(b'": 1}\n')
    log.prompt("go on")
    with imported(exported) as store:
        collect(store, logs.write())
        check_sound(store)
        with collected(logs.path) as fresh:
            check_same(contents(fresh), contents(store))


def test_a_log_longer_than_a_piece_goes_on_growing_after_it_was_taken_in(
    claude: ClaudeHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("session_memory.collect.file_pieces.SEGMENT", 100)
    log = claude.session()
    log.prompt("one")
    log.answer("two")
    log.raw(b'{"torn')
    with collected(claude.write()) as store:
        export_store(store, tmp_path / "out")
    with imported(tmp_path / "out") as store:
        log.lines.pop()
        log.prompt("three")
        collect(store, claude.write())
        check_sound(store)
        check_restores(store, claude.path, tmp_path / "again")


@pytest.mark.parametrize("kind", ["file", "dangling link"])
def test_an_export_never_replaces_anything(logs: ClaudeHome, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "taken"
    if kind == "file":
        target.write_text("precious")
    else:
        target.symlink_to(tmp_path / "elsewhere")
    with collected(logs.path) as store, pytest.raises(UnsafePath, match="exists already"):
        export_store(store, target)
    assert target.is_symlink() or target.read_text() == "precious"
    assert not (tmp_path / "elsewhere").exists()


def test_an_export_of_an_unknown_session_writes_nothing(logs: ClaudeHome, tmp_path: Path) -> None:
    with collected(logs.path) as store, pytest.raises(UnknownSession):
        export_store(store, tmp_path / "out", ["claude:nobody"])
    assert not (tmp_path / "out").exists()


# ------------------------------------------------------------ what is refused


def refused(path: Path, match: str = ".") -> None:
    """Nothing is taken in, and what was there before stays as it was."""
    with new_store() as store:
        before = store.fingerprint()
        with pytest.raises(SessionMemoryError, match=match) as error:
            import_store(store, path, Config())
        assert error.value.hint
        assert store.fingerprint() == before
        check_sound(store)


def unpacked(path: Path) -> list[tuple[str, bytes]]:
    with zstd.open(path) as packed, tarfile.open(fileobj=packed, mode="r|") as archive:
        return [(entry.name, archive.extractfile(entry).read()) for entry in archive]  # type: ignore[union-attr]


def packed(entries: list[tuple[str, bytes]], target: Path) -> Path:
    with zstd.open(target, "wb") as file, tarfile.open(fileobj=file, mode="w|") as archive:
        for name, body in entries:
            entry = tarfile.TarInfo(name)
            entry.size = len(body)
            archive.addfile(entry, io.BytesIO(body))
    return target


def test_an_export_packed_again_is_taken_in(exported: Path, tmp_path: Path) -> None:
    """The tools that make the bad ones below make good ones too."""
    with imported(packed(unpacked(exported), tmp_path / "again")) as store:
        assert store.sessions.count() == 3


def test_a_truncated_export_is_refused_wherever_it_ends(exported: Path, tmp_path: Path) -> None:
    data = exported.read_bytes()
    cut = tmp_path / "cut"
    for size in {0, 1, 10, len(data) // 4, len(data) // 2, len(data) - 30, len(data) - 1}:
        cut.write_bytes(data[:size])
        refused(cut)


@pytest.mark.parametrize("dropped", range(1, 4))
def test_an_export_that_lacks_entries_is_refused(
    exported: Path, tmp_path: Path, dropped: int
) -> None:
    entries = unpacked(exported)
    refused(packed(entries[:-dropped], tmp_path / "lacking"))
    refused(packed(entries[dropped:], tmp_path / "headless"))


@pytest.mark.parametrize("data", [b"", b"hello", b"\x28\xb5\x2f\xfd", bytes(1000)])
def test_what_is_no_export_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "foreign").write_bytes(data)
    refused(tmp_path / "foreign")
    with zstd.open(tmp_path / "packed", "wb") as file:
        file.write(data)
    refused(tmp_path / "packed")


def test_an_archive_of_something_else_is_refused(tmp_path: Path) -> None:
    refused(packed([("README.md", b"hello")], tmp_path / "a"))
    refused(packed([("manifest.json", b'{"format":"zip","version":1}')], tmp_path / "b"))
    refused(packed([("manifest.json", b"{}")], tmp_path / "c"))


def test_a_newer_export_is_refused_with_the_way_out(exported: Path, tmp_path: Path) -> None:
    (name, body), *rest = unpacked(exported)
    manifest = {**msgspec.json.decode(body), "version": FORMAT_VERSION + 1}
    newer = packed([(name, msgspec.json.encode(manifest)), *rest], tmp_path / "newer")
    refused(newer, "version")
    with new_store() as store, pytest.raises(SessionMemoryError) as error:
        import_store(store, newer, Config())
    assert "upgrade" in str(error.value.hint).lower()


def test_an_export_that_disagrees_with_itself_is_refused(exported: Path, tmp_path: Path) -> None:
    entries = unpacked(exported)
    source, raw = next(place for place in enumerate(entries) if place[1][0].startswith("sources/"))
    row = msgspec.json.decode(raw[1])
    for name, value in (
        ("path", "/another/path"),
        ("uid", "0" * 16),
        ("kept", row["kept"] + 1),
        ("read_to", row["kept"] + 1),
        ("mtime_ns", 1 << 63),
    ):
        forged = (raw[0], msgspec.json.encode({**row, name: value}))
        others = [*entries[:source], forged, *entries[source + 1 :]]
        refused(packed(others, tmp_path / name))


def test_an_import_into_a_store_that_has_more_keeps_it(
    claude: ClaudeHome, exported: Path, tmp_path: Path
) -> None:
    other = ClaudeHome(tmp_path / "other home")
    other.session("elsewhere").prompt("hello")
    with collected(other.write()) as store:
        import_store(store, exported, Config())
        check_sound(store)
        assert store.sessions.count() == 4


def test_an_import_of_a_log_that_has_grown_adds_what_is_new(
    claude: ClaudeHome, tmp_path: Path
) -> None:
    log = claude.session("alpha")
    log.prompt("one")
    log.answer("done", used=usage(7))
    answer = log.lines[-1]
    log.lines[-1] = answer[: len(answer) // 2]
    with collected(claude.write()) as origin:
        export_store(origin, tmp_path / "short")
        size = origin.sources.every()[0].kept
        log.lines[-1] = answer
        log.raw(b"{broken}\n")
        collect(origin, claude.write())
        export_store(origin, tmp_path / "long")
        with imported(tmp_path / "short") as store:
            done = import_store(store, tmp_path / "long", Config())
            assert (done.sources, done.known, done.sessions) == (1, 0, 0)
            assert done.bytes == origin.sources.every()[0].kept - size > 0
            check_same(contents(origin), contents(store))
            check_sound(store)
            # What is here already stays when the shorter log is imported again.
            assert import_store(store, tmp_path / "short", Config()).known == 1
            check_same(contents(origin), contents(store))


def test_what_follows_a_known_log_in_an_export_is_imported(
    claude: ClaudeHome, tmp_path: Path
) -> None:
    for name in ("alpha", "beta", "gamma"):
        claude.session(name).prompt(name)
    with collected(claude.write()) as origin:
        export_store(origin, tmp_path / "all")
        for known in ("claude:alpha", "claude:beta"):
            export_store(origin, tmp_path / known, [known])
            with imported(tmp_path / known) as store:
                done = import_store(store, tmp_path / "all", Config())
                assert (done.sources, done.known, done.sessions) == (3, 1, 2)
                check_same(contents(origin), contents(store))


def test_an_import_of_a_log_that_was_rewritten_is_refused(
    claude: ClaudeHome, tmp_path: Path
) -> None:
    log = claude.session("alpha")
    log.prompt("one")
    with collected(claude.write()) as store, new_store() as other:
        log.lines[0] = log.lines[0].replace(b"one", b"two")
        log.answer("done")
        collect(other, claude.write())
        export_store(other, tmp_path / "other")
        before = contents(store)
        done = import_store(store, tmp_path / "other", Config())
        assert (done.refused, done.known, done.bytes) == (1, 0, 0)
        assert "was rewritten since" in done.problems[0]
        check_same(before, contents(store))
