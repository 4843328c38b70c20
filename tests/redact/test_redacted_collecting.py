"""Masked while collecting: no secret reaches the store, and every promise of collecting holds."""

import json
from pathlib import Path

import pytest

from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.collect.sync_report import SyncOutcome
from session_memory.config import Config
from session_memory.core.errors import UnsafePath
from session_memory.core.roles import SPILL
from session_memory.redact import hide
from session_memory.retain.native_files import restore_native
from session_memory.retain.portable_file import export_store
from session_memory.retain.portable_import import import_store
from session_memory.store.migrations import all_tables
from session_memory.store.store import Store
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call, usage
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    contents,
    events_of,
    new_store,
    rebuilt,
)
from session_memory.testing.secrets import planted_secrets

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

PLANTED = planted_secrets(5)
KEY = next(planted.secret for planted in PLANTED if planted.kind == "private-key")


@pytest.fixture(autouse=True)
def everywhere(on_the_database: None) -> None:
    """Every test here runs twice."""


def collect_masked(store: Store, root: Path) -> SyncOutcome:
    config = Config(redact=True)
    return sync(store, config, roots(config, (root,)), host="here")


def talkative(home: ClaudeHome) -> ClaudeLog:
    log = home.session("alpha")
    for planted in PLANTED:
        log.prompt(f"use this: {planted.text}")
        log.answer("I try.", call("Bash", command=f"echo '{planted.text}'"), used=usage(7))
        log.result(f"{planted.text}\nfine")
    log.spill("big.txt", ("x" * 70 + "\n").encode() * 100 + KEY.encode() + b"\nthe end\n")
    home.write()
    return log


def everything_in(store: Store) -> bytes:
    """Every cell of every table, and every byte of raw."""
    parts = []
    for table in all_tables():
        columns = ", ".join(store.db.columns(table))
        for row in store.db.all(f"select {columns} from {table}"):
            parts += [cell if isinstance(cell, bytes) else str(cell).encode() for cell in row]
    for source in store.sources.every():
        parts += store.raw.pieces(source.id)
    return b"\n".join(parts)


def spelled(secret: str) -> list[bytes]:
    return [secret.encode(), json.dumps(secret)[1:-1].encode()]


def test_no_secret_reaches_the_store(tmp_path: Path) -> None:
    talkative(ClaudeHome(tmp_path))
    with new_store() as store:
        collect_masked(store, tmp_path)
        kept = everything_in(store)
        check_sound(store)
    for planted in PLANTED:
        assert not any(spelling in kept for spelling in spelled(planted.secret)), planted.kind
    assert KEY.splitlines()[3].encode() not in kept


def test_the_raw_is_the_log_with_masks_of_equal_length(tmp_path: Path) -> None:
    log = talkative(ClaudeHome(tmp_path))
    with new_store() as store:
        collect_masked(store, tmp_path)
        rows = {row.path: row for row in store.sources.every()}
        raw = b"".join(store.raw.pieces(rows[str(tmp_path / log.place)].id))
        assert raw == b"\n".join(hide(line) for line in log.data.split(b"\n"))
        assert len(raw) == len(log.data)
        assert {row.redacted_from for row in rows.values()} == {0}


def test_everything_but_the_secrets_is_as_without_masking(tmp_path: Path) -> None:
    talkative(ClaudeHome(tmp_path))
    with new_store() as plain, new_store() as masked:
        collect(plain, tmp_path)
        collect_masked(masked, tmp_path)
        ours, theirs = (events_of(store, "claude:alpha") for store in (masked, plain))
        assert [(e.event_uid, e.kind, e.payload_ref) for e in ours] == [
            (e.event_uid, e.kind, e.payload_ref) for e in theirs
        ]


@BOTH
def test_a_log_cut_anywhere_comes_to_the_same(tmp_path: Path) -> None:
    whole = ClaudeHome(tmp_path / "whole")
    data = talkative(whole).data
    place = tmp_path / "grows" / ".claude" / "projects" / "-home-mira-code-app" / "alpha.jsonl"
    place.parent.mkdir(parents=True)
    with new_store() as once, new_store() as often:
        collect_masked(once, tmp_path / "whole")
        steps = [len(data) * step // 13 for step in range(1, 14)]
        for end in steps:
            # Grown in place, as an agent writes.
            with place.open("ab") as file:
                file.write(data[place.stat().st_size : end])
            collect_masked(often, tmp_path / "grows")
        (row,) = [row for row in often.sources.every() if row.role != SPILL]
        (other,) = [row for row in once.sources.every() if row.role != SPILL]
        assert b"".join(often.raw.pieces(row.id)) == b"".join(once.raw.pieces(other.id))
        assert events_of(often, "claude:alpha") != []
        check_sound(often)


def test_a_rebuild_gives_what_was_collected(tmp_path: Path) -> None:
    talkative(ClaudeHome(tmp_path))
    with new_store() as store:
        collect_masked(store, tmp_path)
        before = contents(store)
        check_same(before, contents(rebuilt(store)))


@BOTH
def test_a_file_that_was_copied_over_itself_is_the_same(tmp_path: Path) -> None:
    log = talkative(ClaudeHome(tmp_path))
    with new_store() as store:
        collect_masked(store, tmp_path)
        before = contents(store)
        for row in store.sources.every():
            path = Path(row.path)
            data = path.read_bytes()
            path.unlink()
            path.write_bytes(data)
        report = collect_masked(store, tmp_path).report
        assert report.bytes == 0
        check_same(before, contents(store))
        assert {row.generation for row in store.sources.every()} == {0}
        log.prompt("another one")
        path = tmp_path / log.place
        path.write_bytes(log.data.replace(b"use this", b"use that"))
        collect_masked(store, tmp_path)
        assert {row.generation for row in store.sources.every()} == {0, 1}


def test_a_spilled_body_that_grows_is_masked_as_a_whole(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path)
    log = home.session("alpha")
    log.prompt("go")
    body = b"first\n" + KEY.encode() + b"\nlast\n"
    path = tmp_path / log.spill("out.txt", body[:90])
    home.write()
    with new_store() as store:
        collect_masked(store, tmp_path)
        with path.open("ab") as file:
            file.write(body[90:])
        collect_masked(store, tmp_path)
        (row,) = [row for row in store.sources.every() if row.role == SPILL]
        assert b"".join(store.raw.pieces(row.id)) == hide(body)
        assert b"first\n[redacted:private-key]***" in hide(body)


def test_masking_begins_where_it_was_asked_for_and_then_stays(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path)
    log = home.session("alpha")
    first, second, third = PLANTED[4], PLANTED[10], PLANTED[12]
    log.prompt(first.text)
    home.write()
    with new_store() as store:
        collect(store, tmp_path)
        begun = len(log.data)
        log.prompt(second.text)
        home.write()
        collect_masked(store, tmp_path)
        log.prompt(third.text)
        home.write()
        # Not asked for any more; but the source is a masked one.
        collect(store, tmp_path)
        (row,) = store.sources.every()
        assert row.redacted_from == begun
        raw = b"".join(store.raw.pieces(row.id)).decode()
        assert first.secret in raw
        assert second.secret not in raw and third.secret not in raw
        (tmp_path / log.place).write_bytes(log.data)
        assert collect(store, tmp_path).report.bytes == 0


def test_a_masked_log_is_not_put_back_as_if_it_were_the_agents(tmp_path: Path) -> None:
    log = talkative(ClaudeHome(tmp_path / "home"))
    with new_store() as store:
        collect_masked(store, tmp_path / "home")
        (tmp_path / "home" / log.place).unlink()
        with pytest.raises(UnsafePath, match="masked when it was collected"):
            restore_native(store, ["claude:alpha"], below=[tmp_path / "home" / ".claude"])
        written = restore_native(store, ["claude:alpha"], tmp_path / "copy")
        assert written and all(file.masked for file in written)


def test_a_portable_file_can_be_masked_too(tmp_path: Path) -> None:
    log = talkative(ClaudeHome(tmp_path / "home"))
    with new_store() as store, new_store() as other:
        collect(store, tmp_path / "home")
        export_store(store, tmp_path / "all.smx", redacted=True)
        import_store(other, tmp_path / "all.smx", Config())
        kept = everything_in(other)
        assert not any(spelling in kept for p in PLANTED for spelling in spelled(p.secret))
        ours, theirs = (events_of(one, "claude:alpha") for one in (other, store))
        assert [event.event_uid for event in ours] == [event.event_uid for event in theirs]
        check_sound(other)
        # Going on where the export left off, on the machine that wrote the log.
        log.prompt(f"and {PLANTED[4].text}")
        (tmp_path / "home" / log.place).write_bytes(log.data)
        assert collect(other, tmp_path / "home").report.events == 1
        assert PLANTED[4].secret.encode() not in everything_in(other)
