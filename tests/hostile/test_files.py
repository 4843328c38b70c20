"""Files that are not what a log should be, or that change under our hands.

In every case: a clear problem or error, everything else collected, nothing damaged, every byte
given back, and no token counted twice.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from session_memory.collect import sync as syncing
from session_memory.collect.batch_writing import BatchWriting
from session_memory.collect.discover import Root, roots
from session_memory.collect.file_pieces import FilePiece, pieces
from session_memory.collect.native import Stat
from session_memory.collect.reading import SourceReading
from session_memory.config import Config
from session_memory.retain.native_files import restore_native

from .conftest import Memory, assert_sound, collect, fresh_fingerprint, run_child
from .logs import (
    PROJECT,
    append,
    assistant,
    encoded,
    fork,
    log,
    rounds,
    subagent,
    user,
    uuid,
    written,
)

# About the files of agents; what comes of them in a store is tested on both.
pytestmark = pytest.mark.only("sqlite")

S, T = uuid("session"), uuid("other session")


@pytest.fixture
def path(memory: Memory) -> Path:
    """A session of two rounds, collected, beside another one that stays as it is."""
    log(memory.root, T, rounds(T, 1))
    path = log(memory.root, S, rounds(S, 2))
    memory.sync()
    return path


def uid(session: str) -> str:
    return f"claude:{session}"


# ---------------------------------------------------------------- rewritten and truncated


def test_a_log_rewritten_in_place_with_the_same_size_is_read_again(
    memory: Memory, path: Path
) -> None:
    _swap(path, b"look at", b"LOOK AT")
    memory.sync()
    assert _raw_of(memory, path) == path.read_bytes()
    memory.assert_sound()


def test_a_log_rewritten_with_its_old_size_and_mtime_is_noticed_at_its_next_line(
    memory: Memory, path: Path
) -> None:
    """Only its ctime has changed, which a backup or a chmod changes too."""
    before, kept = path.stat(), path.read_bytes()
    _swap(path, b"look at", b"LOOK AT")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert memory.sync().report.ingested == 0
    assert _raw_of(memory, path) == kept
    append(path, rounds(S, 1, start=200))
    memory.sync()
    assert _raw_of(memory, path) == path.read_bytes()
    memory.assert_sound()


def test_what_was_in_a_log_before_it_was_rewritten_stays_and_counts_once(
    memory: Memory, path: Path
) -> None:
    tokens = memory.tokens()
    path.write_bytes(b"".join(map(encoded, rounds(S, 1, start=100))))
    memory.sync()
    assert memory.tokens() == tokens + 20
    assert len(memory.summaries(uid(S))) == 8 + 4
    memory.assert_sound()


def test_a_truncated_log_keeps_what_was_read_before(memory: Memory, path: Path) -> None:
    events, tokens = memory.summaries(uid(S)), memory.tokens()
    os.truncate(path, path.stat().st_size // 3)
    memory.sync()
    assert memory.summaries(uid(S)) == events
    assert memory.tokens() == tokens
    memory.assert_sound()


def test_a_log_truncated_to_nothing_may_grow_again(memory: Memory, path: Path) -> None:
    tokens = memory.tokens()
    os.truncate(path, 0)
    memory.sync()
    memory.assert_sound()
    append(path, rounds(S, 1, start=200))
    memory.sync()
    assert memory.tokens() == tokens + 20
    memory.assert_sound()


def test_a_log_truncated_in_the_middle_of_a_line_and_continued_counts_once(
    memory: Memory, path: Path
) -> None:
    tokens = memory.tokens()
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    memory.sync()
    path.write_bytes(whole)
    memory.sync()
    assert memory.tokens() == tokens
    memory.assert_sound()


def test_a_killed_rewrite_never_loses_the_file(memory: Memory, path: Path) -> None:
    """The old generation steps back in the transaction that writes the new one, not before."""
    path.write_bytes(b"".join(map(encoded, rounds(S, 1, start=100))))
    with memory.opened() as store, pytest.raises(_Killed), _killed_at(BatchWriting, "write"):
        collect(store, memory.root)
    memory.sync()
    assert _raw_of(memory, path) == path.read_bytes()
    memory.assert_sound()


# ---------------------------------------------------------------- replaced, moved, vanished


def test_a_log_replaced_by_a_longer_copy_is_only_continued(memory: Memory, path: Path) -> None:
    """An editor or a file synchronizer writes a new file and renames it over the old one."""
    copy = written(path.with_suffix(".tmp"), rounds(S, 3))
    copy.replace(path)
    memory.sync()
    with memory.opened() as store:
        assert len([row for row in store.sources.every() if row.path == str(path)]) == 1
    assert len(memory.summaries(uid(S))) == 12
    memory.assert_sound()


def test_a_log_replaced_by_other_content_gives_both(memory: Memory, path: Path) -> None:
    tokens = memory.tokens()
    other = uuid("third")
    written(path.with_suffix(".tmp"), rounds(other, 2)).replace(path)
    memory.sync()
    assert {uid(S), uid(other)} <= set(memory.uids())
    assert memory.tokens() == tokens + 40
    memory.assert_sound()


def test_a_log_whose_size_and_prefix_stay_but_whose_inode_changes_is_compared(
    memory: Memory, path: Path
) -> None:
    changed = path.read_bytes().replace(b"it says", b"IT SAYS")
    copy = path.with_suffix(".tmp")
    copy.write_bytes(changed)
    copy.replace(path)
    memory.sync()
    assert _raw_of(memory, path) == changed
    memory.assert_sound()


def test_a_vanished_log_keeps_its_session_and_is_marked(memory: Memory, path: Path) -> None:
    events, content = memory.summaries(uid(S)), path.read_bytes()
    path.unlink()
    outcome = memory.sync()
    assert outcome.vanished == 1
    assert memory.summaries(uid(S)) == events
    with memory.opened() as store:
        assert [row.vanished for row in store.sources.every() if row.path == str(path)] == [1]
        restored = restore_native(store, [uid(S)], memory.root / "back")
        assert [item.path.read_bytes() for item in restored] == [content]
    memory.assert_sound()


def test_a_vanished_log_may_come_back(memory: Memory, path: Path) -> None:
    before = memory.fingerprint()
    hidden = path.rename(path.with_suffix(".away"))
    memory.sync()
    hidden.rename(path)
    append(path, rounds(S, 1, start=8))
    memory.sync()
    with memory.opened() as store:
        assert [row.vanished for row in store.sources.every()] == [0, 0]
    assert memory.fingerprint() != before
    assert memory.fingerprint() == fresh_fingerprint(memory.root)
    memory.assert_sound()


def test_a_renamed_log_is_the_same_session(memory: Memory, path: Path) -> None:
    events, tokens = memory.summaries(uid(S)), memory.tokens()
    path.rename(path.with_name("renamed.jsonl"))
    memory.sync()
    assert memory.summaries(uid(S)) == events
    assert memory.tokens() == tokens
    memory.assert_sound()


def test_a_renamed_project_directory_doubles_nothing_not_even_lines_without_an_id(
    memory: Memory, path: Path
) -> None:
    append(path, [{"type": "summary", "summary": "a title", "leafUuid": uuid(S, 1)}])
    memory.sync()
    events, tokens = memory.summaries(uid(S)), memory.tokens()
    path.parent.rename(path.parent.with_name("-work-moved"))
    memory.sync()
    assert memory.summaries(uid(S)) == events
    assert memory.tokens() == tokens
    memory.assert_sound()


def test_a_rotated_log_goes_on_in_the_new_file(memory: Memory, path: Path) -> None:
    tokens = memory.tokens()
    path.rename(path.with_suffix(".jsonl.1"))
    written(path, rounds(S, 1, start=8))
    memory.sync()
    assert memory.tokens() == tokens + 20
    assert len(memory.summaries(uid(S))) == 12
    memory.assert_sound()


def test_the_same_log_under_two_names_is_one_session(memory: Memory, path: Path) -> None:
    events, tokens = memory.summaries(uid(S)), memory.tokens()
    shutil.copy(path, path.with_name("copy.jsonl"))
    path.with_name("link.jsonl").symlink_to(path)
    path.with_name("hard.jsonl").hardlink_to(path)
    memory.sync()
    assert memory.summaries(uid(S)) == events
    assert memory.tokens() == tokens
    memory.assert_sound()


def test_a_root_that_is_gone_marks_nothing_as_vanished(memory: Memory, path: Path) -> None:
    with memory.opened() as store:
        config = Config()
        away = memory.root / "unmounted"
        root = Root("claude", away, False, False)
        outcome = syncing.sync(store, config, [root], host="here")
        assert outcome.vanished == 0
        assert not any(row.vanished for row in store.sources.every())


# ---------------------------------------------------------------- unreadable


def test_a_log_that_may_not_be_read_is_a_problem_and_the_others_are_collected(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    log(memory.root, T, rounds(T, 1))
    path = log(memory.root, S, rounds(S, 1))
    with _refusing(monkeypatch, path):
        outcome = memory.sync()
    assert (outcome.report.failed, outcome.report.ingested) == (1, 1)
    assert memory.problems() == [(path.name, "unreadable")]
    assert memory.uids() == [uid(T)]
    memory.assert_sound()

    memory.sync()
    assert memory.problems() == []
    assert set(memory.uids()) == {uid(S), uid(T)}
    assert memory.fingerprint() == fresh_fingerprint(memory.root)
    memory.assert_sound()


@pytest.mark.parametrize(
    "locked",
    [f"{S}.jsonl", f"{S}/subagents", f"{S}/subagents/agent-a1.meta.json"],
    ids=["log", "directory", "document"],
)
def test_what_may_not_be_read_is_a_problem_until_it_may(
    memory: Memory, unprivileged: tuple[str, ...], locked: str
) -> None:
    log(memory.root, T, rounds(T, 1))
    log(memory.root, S, rounds(S, 1))
    subagent(memory.root, S, "a1", rounds("a1", 1))
    path = memory.root / PROJECT / locked
    path.chmod(0)
    done = run_child("sync_and_check", memory.root, memory.where, before=unprivileged)
    path.chmod(0o700)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["findings"] == []
    assert [reason for _, reason in memory.problems()] == ["unreadable"]
    assert uid(T) in memory.uids()
    memory.sync()
    assert memory.problems() == []
    assert set(memory.uids()) == {uid(S), uid(T), f"{uid(S)}:a1"}
    memory.assert_sound()


def test_a_disk_that_fails_in_the_middle_of_a_file_keeps_what_was_read(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("session_memory.collect.file_pieces.SEGMENT", 2048)
    path = log(memory.root, S, rounds(S, 20))
    log(memory.root, T, rounds(T, 1))

    def failing(file: object, offset: int, size: int, *, short: bool) -> Iterator[FilePiece]:
        for number, piece in enumerate(pieces(file, offset, size, short=short)):  # type: ignore[arg-type]
            if number == 3:
                raise OSError(5, "Input/output error", str(path))
            yield piece

    with monkeypatch.context() as patched:
        patched.setattr("session_memory.collect.file_reading.pieces", failing)
        outcome = memory.sync()
    assert outcome.report.failed == 1
    assert memory.problems() == [(path.name, "unreadable")]
    memory.sync()
    assert memory.problems() == []
    assert memory.fingerprint() == fresh_fingerprint(memory.root)
    memory.assert_sound()


def test_thousands_of_unreadable_logs_are_noted_in_a_moment(memory: Memory) -> None:
    place = memory.root / PROJECT
    log(memory.root, S, rounds(S, 1))
    for number in range(1500):
        (place / f"{number:04}.jsonl").symlink_to("nowhere")
    outcome = memory.sync()
    assert outcome.report.failed == 1500
    assert outcome.report.seconds < 10


# ---------------------------------------------------------------- things that are no logs


def test_a_directory_a_loop_and_links_to_nowhere_are_problems(memory: Memory) -> None:
    place = memory.root / PROJECT
    log(memory.root, S, rounds(S, 1))
    (place / "directory.jsonl").mkdir()
    (place / "loop.jsonl").symlink_to("loop.jsonl")
    (place / "nowhere.jsonl").symlink_to("/does/not/exist")
    (place / "around").symlink_to(place)
    outcome = memory.sync()
    assert (outcome.report.failed, outcome.report.ingested) == (3, 1)
    assert sorted(memory.problems()) == [
        ("directory.jsonl", "unreadable"),
        ("loop.jsonl", "unreadable"),
        ("nowhere.jsonl", "unreadable"),
    ]
    memory.assert_sound()


@pytest.mark.parametrize(
    "name", [f"{S}.jsonl", f"{T}/subagents/agent-a1.meta.json", f"{T}/tool-results/b1.txt"]
)
def test_a_pipe_named_like_a_log_does_not_hang(memory: Memory, name: str, in_time: None) -> None:
    log(memory.root, T, rounds(T, 1))
    subagent(memory.root, T, "a1", rounds("a1", 1))
    pipe = memory.root / PROJECT / name
    pipe.parent.mkdir(parents=True, exist_ok=True)
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    assert memory.sync().report.failed == 1
    assert memory.problems() == [(pipe.name, "unreadable")]
    assert {uid(T), f"{uid(T)}:a1"} <= set(memory.uids())
    memory.assert_sound()


def test_a_pipe_put_in_the_place_of_a_log_after_it_was_listed_does_not_hang(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, in_time: None
) -> None:
    path = log(memory.root, S, rounds(S, 1))
    log(memory.root, T, rounds(T, 1))
    _when_looked_at(monkeypatch, lambda: (path.unlink(), os.mkfifo(path)))
    outcome = memory.sync()
    assert outcome.report.failed == 1
    assert memory.problems() == [(path.name, "unreadable")]


def test_what_was_a_dangling_link_becomes_a_log_like_any_other(memory: Memory) -> None:
    """Discovery could not say what it was; all it needs to be restored is learned later."""
    target = memory.root / "elsewhere" / "log"
    path = memory.root / PROJECT / T / "subagents" / "agent-a1.jsonl"
    path.parent.mkdir(parents=True)
    path.symlink_to(target)
    memory.sync()
    assert memory.problems() == [("agent-a1.jsonl", "unreadable")]
    written(target, [{"type": "user", "message": {"content": "no session named here"}}])
    memory.sync()
    assert memory.problems() == []
    assert memory.uids() == [f"{uid(T)}:a1"]
    assert memory.fingerprint() == fresh_fingerprint(memory.root)
    memory.assert_sound()


def test_a_symlinked_project_directory_is_collected_once(memory: Memory) -> None:
    log(memory.root, S, rounds(S, 2))
    place = memory.root / PROJECT
    place.with_name("-another-name").symlink_to(place)
    outcome = memory.sync()
    assert outcome.report.discovered == 1
    assert memory.tokens() == 40
    memory.assert_sound()


def test_an_unreadable_directory_is_a_problem_that_goes_when_it_can_be_read(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = log(memory.root, S, rounds(S, 1))
    log(memory.root, T, rounds(T, 1), project=".claude/projects/-locked")
    scandir = os.scandir

    def refusing(place: str) -> object:
        if str(place).endswith("-locked"):
            raise PermissionError(13, "Permission denied", place)
        return scandir(place)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", refusing)
        outcome = memory.sync()
    assert outcome.report.failed == 1
    assert memory.problems() == [("*.jsonl", "unreadable")]
    assert memory.uids() == [uid(S)]
    memory.sync()
    assert set(memory.uids()) == {uid(S), uid(T)}
    assert memory.problems() == []
    assert path.exists()
    memory.assert_sound()


def test_an_agent_directory_that_may_not_be_entered_is_a_problem(
    memory: Memory, unprivileged: tuple[str, ...]
) -> None:
    log(memory.root, S, rounds(S, 1))
    (memory.root / ".claude").chmod(0)
    done = run_child("sync_and_check", memory.root, memory.where, before=unprivileged)
    (memory.root / ".claude").chmod(0o700)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [reason for _, reason in memory.problems()] == ["unreadable"]
    memory.sync()
    assert (memory.problems(), memory.uids()) == ([], [uid(S)])


def test_a_root_that_is_a_link_to_another_root_is_collected_once(
    memory: Memory, home: Path
) -> None:
    log(home, S, rounds(S, 2))
    (home / ".config").mkdir()
    (home / ".config/claude").symlink_to(home / ".claude")
    with memory.opened() as store:
        config = Config()
        outcome = syncing.sync(store, config, roots(config, environ={"HOME": str(home)}))
        assert outcome.report.discovered == 1
        assert {row.path for row in store.sources.every()} == {str(home / PROJECT / f"{S}.jsonl")}


def test_a_root_is_the_same_however_it_is_written(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    log(memory.root, S, rounds(S, 2))
    memory.sync()
    monkeypatch.chdir(memory.root)
    with memory.opened() as store:
        assert collect(store, Path()).report.unchanged == 1


def test_a_pipe_given_as_a_root_does_not_hang(memory: Memory, in_time: None) -> None:
    pipe = memory.root / "pipe.jsonl"
    os.mkfifo(pipe)
    with memory.opened() as store:
        assert collect(store, pipe).report.failed == 1


def test_a_spilled_output_that_looks_like_a_log_is_no_session(memory: Memory) -> None:
    log(memory.root, S, rounds(S, 1))
    written(memory.root / PROJECT / S / "tool-results" / "b1.jsonl", rounds(T, 1))
    memory.sync()
    assert memory.uids() == [uid(S)]
    memory.assert_sound()


@pytest.mark.parametrize("second", [-1e10, 0, 1.3e10])
def test_a_log_of_any_age_is_collected(memory: Memory, second: float) -> None:
    path = log(memory.root, S, rounds(S, 1))
    os.utime(path, (second, second))
    memory.sync()
    assert memory.sync().report.unchanged == 1
    memory.assert_sound()


def test_an_inode_number_of_64_bits_fits(memory: Memory) -> None:
    """Network and overlay file systems use all of them."""
    status = SimpleNamespace(st_size=10, st_mtime_ns=5, st_ctime_ns=5, st_ino=(1 << 64) - 5)
    assert 0 <= Stat.of(status).inode < 1 << 63  # type: ignore[arg-type]


def test_a_file_that_names_a_new_session_on_every_line_is_collected(memory: Memory) -> None:
    names = [uuid("many", n) for n in range(1000)]
    path = log(memory.root, S, [user(name, 0) for name in names])
    outcome = memory.sync()
    assert outcome.report.seconds < 20
    assert memory.uids() == sorted(uid(name) for name in names)
    append(path, rounds(S, 1))
    memory.sync()
    with memory.opened() as store:
        assert_sound(store, sample=5)


# ---------------------------------------------------------------- odd content


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n  \n\t\n", b"\r\n\r\n", b"\n" * 100_000],
    ids=["empty", "blank lines", "CRLF only", "many newlines"],
)
def test_a_file_without_a_line_is_no_session_and_no_problem(memory: Memory, content: bytes) -> None:
    path = memory.root / PROJECT / f"{S}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    outcome = memory.sync()
    assert (outcome.report.ingested, outcome.report.problems, memory.uids()) == (1, 0, [])
    assert memory.sync().report.unchanged == 1
    append(path, rounds(S, 1))
    memory.sync()
    assert len(memory.summaries(uid(S))) == 4
    memory.assert_sound()


def test_lines_that_end_in_crlf_are_lines(memory: Memory) -> None:
    path = log(memory.root, S, rounds(S, 2))
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    memory.sync()
    assert len(memory.summaries(uid(S))) == 8
    assert memory.problems() == []
    memory.assert_sound()


def test_a_torn_last_line_waits_for_its_end_and_is_kept(memory: Memory) -> None:
    path = log(memory.root, S, rounds(S, 2))
    whole = path.read_bytes()
    for end in (len(whole) - 20, len(whole) - 7):
        path.write_bytes(whole[:end])
        memory.sync()
        assert len(memory.summaries(uid(S))) == 7
        assert memory.sync().report.unchanged == 1
        memory.assert_sound()
    path.write_bytes(whole)
    memory.sync()
    assert len(memory.summaries(uid(S))) == 8
    assert memory.tokens() == 40
    memory.assert_sound()


def test_a_tail_of_zeros_after_a_power_cut_costs_no_later_line(memory: Memory) -> None:
    """Some file systems keep the new length and lose the data; the agent then appends to it."""
    path = log(memory.root, S, rounds(S, 1))
    with path.open("ab") as file:
        file.write(bytes(1000))
    memory.sync()
    append(path, rounds(S, 1, start=4))
    memory.sync()
    assert len(memory.summaries(uid(S))) == 8
    memory.assert_sound()


# ---------------------------------------------------------------- changing while it is read


def test_what_is_appended_while_a_file_is_read_comes_next_time(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = log(memory.root, S, rounds(S, 2))
    _when_read(monkeypatch, lambda: append(path, rounds(S, 1, start=8)))
    memory.sync()
    memory.sync()
    assert len(memory.summaries(uid(S))) == 12
    assert memory.fingerprint() == fresh_fingerprint(memory.root)
    memory.assert_sound()


@pytest.mark.parametrize("left", [0, 100, 3000])
def test_a_file_that_shrinks_while_it_is_read_is_read_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    monkeypatch.setattr("session_memory.collect.file_pieces.SEGMENT", 2048)
    path = log(memory.root, S, rounds(S, 10))
    log(memory.root, T, rounds(T, 1))
    _when_read(monkeypatch, lambda: os.truncate(path, left))
    memory.sync()
    memory.sync()
    assert _raw_of(memory, path) == path.read_bytes()
    memory.assert_sound()
    append(path, rounds(S, 1, start=100))
    memory.sync()
    assert _raw_of(memory, path) == path.read_bytes()
    memory.assert_sound()


@pytest.mark.parametrize("left", [0, 100])
def test_a_file_truncated_between_looking_and_reading_is_noticed(
    memory: Memory, path: Path, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    append(path, rounds(S, 1, start=8))
    _when_looked_at(monkeypatch, lambda: os.truncate(path, left))
    memory.sync()
    memory.sync()
    assert _raw_of(memory, path) == path.read_bytes()
    memory.assert_sound()


def test_a_file_that_vanishes_between_looking_and_reading_is_a_problem(
    memory: Memory, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(path, rounds(S, 1, start=8))
    new = log(memory.root, uuid("new"), rounds(uuid("new"), 1))
    _when_looked_at(monkeypatch, lambda: (path.unlink(), new.unlink()))
    outcome = memory.sync()
    assert outcome.report.failed == 2
    assert len(memory.summaries(uid(S))) == 8
    memory.assert_sound()


def test_a_long_line_cut_while_it_is_read_is_no_crash(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("session_memory.collect.file_pieces.SEGMENT", 1024)
    monkeypatch.setattr("session_memory.collect.file_pieces.LONGEST_LINE", 4096)
    monkeypatch.setattr("session_memory.adapters.jsonl.MAX_LINE", 4096)
    path = log(memory.root, S, [user(S, 0, "x" * 20_000), *rounds(S, 1, start=1)])
    log(memory.root, T, rounds(T, 1))
    translate = SourceReading._translate

    def cut_first(self: SourceReading, task: object, piece: FilePiece, cursor: object) -> object:
        if piece.giant:
            os.truncate(path, 5000)
        return translate(self, task, piece, cursor)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(SourceReading, "_translate", cut_first)
        memory.sync()
    memory.sync()
    assert uid(T) in memory.uids()
    assert _raw_of(memory, path) == path.read_bytes()
    memory.assert_sound()


# ---------------------------------------------------------------- names

HOSTILE_NAMES = [
    b"with space.jsonl",
    b"new\nline.jsonl",
    b"tab\tand\x1b[31mred.jsonl",
    b"\xff\xfe latin.jsonl",
    b"'; drop table sessions; --.jsonl",
    b"*?[a].jsonl",
    b"-rf.jsonl",
    b".jsonl",
    b"..jsonl",
    b"agent-.jsonl",
    b"agent-\xff.jsonl",
    b"a" * 249 + b".jsonl",
    b"\xff" * 249 + b".jsonl",
    "ÄÖ漢字🙂.jsonl".encode(),
]


@pytest.mark.parametrize("named", [True, False], ids=["session named", "session unnamed"])
@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=[ascii(name[:12]) for name in HOSTILE_NAMES])
def test_a_file_of_any_name_is_collected_and_given_back(
    memory: Memory, name: bytes, named: bool
) -> None:
    log(memory.root, T, rounds(T, 1))
    place = os.fsencode(memory.root / PROJECT)
    content = b"".join(map(encoded, rounds(S, 1)))
    if not named:
        content = content.replace(b'"sessionId"', b'"unknown"')
    try:
        with open(os.path.join(place, name), "wb") as file:  # noqa: PTH118, PTH123
            file.write(content)
    except OSError:
        pytest.skip("this file system has no such names")
    outcome = memory.sync()
    assert outcome.report.ingested == 2
    assert memory.tokens() == 40
    assert len(memory.uids()) == 2
    memory.assert_sound()
    with memory.opened() as store:
        restored = restore_native(store, None, memory.root / "back")
    assert sorted(os.fsencode(item.path.name) for item in restored) == sorted(
        [name, f"{T}.jsonl".encode()]
    )


def test_two_names_that_are_written_down_alike_are_a_problem(memory: Memory) -> None:
    """A byte that is no UTF-8 is stored as an escape; another file may be called just that."""
    place = memory.root / PROJECT
    for name, session in (("\\udcff.jsonl", S), (os.fsdecode(b"\xff.jsonl"), T)):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(b"".join(map(encoded, rounds(session, 1))))
    for _ in range(2):
        assert memory.sync().report.failed == 1
        assert memory.uids() == [uid(S)]
        assert [reason for _, reason in memory.problems()] == ["unreadable"]


def test_a_deep_tree_of_directories_is_walked_to_its_end(memory: Memory) -> None:
    log(memory.root, T, rounds(T, 1))
    top = deep = memory.root / PROJECT
    for _ in range(1200):
        deep = deep / "d"
        deep.mkdir()
    path = written(deep / f"{S}.jsonl", rounds(S, 1))
    memory.sync()
    assert set(memory.uids()) == {uid(S), uid(T)}
    with memory.opened() as store:
        assert_sound(store)
    # Whoever tidies up behind the tests may not expect such a tree.
    path.unlink()
    for place in (deep, *deep.parents):
        if place == top:
            break
        place.rmdir()


HOSTILE_IDS = ["../../etc/passwd", "a\0b", "x" * 10_000, "", " ", ".", "..", "/", "a/b", "é"]


@pytest.mark.parametrize("session", HOSTILE_IDS, ids=[ascii(name[:12]) for name in HOSTILE_IDS])
def test_a_session_id_that_is_no_id_gets_one(memory: Memory, session: str) -> None:
    path = written(memory.root / PROJECT / f"{S}.jsonl", rounds(session, 2))
    log(memory.root, T, rounds(T, 1))
    memory.sync()
    other = next(found for found in memory.uids() if found != uid(T))
    assert other.startswith("claude:x-") if session else other == uid(S)
    assert len(memory.summaries(other)) == 8
    assert memory.tokens() == 60
    memory.assert_sound()
    if session:
        assert path.name in [name for name, _ in memory.problems()]


# ---------------------------------------------------------------- documents beside a log


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"spawnDepth": 1e400}', b"\0"],
    ids=ascii,
)
def test_a_malformed_meta_document_costs_only_itself(memory: Memory, content: bytes) -> None:
    log(memory.root, T, rounds(T, 1))
    path = subagent(memory.root, T, "a1", rounds("a1", 1))
    path.with_name("agent-a1.meta.json").write_bytes(content)
    memory.sync()
    assert len(memory.summaries(f"{uid(T)}:a1")) == 4
    memory.assert_sound()


@pytest.mark.parametrize(
    "meta",
    [
        {"spawnDepth": 10**30},
        {"spawnDepth": -5, "toolUseId": 7, "description": []},
        {"spawnDepth": True, "parentAgentId": ""},
        {"parentAgentId": "a1"},
        {"parentAgentId": "../../x"},
        {"description": "\ud800 \0", "toolUseId": "\udfff\0", "parentAgentId": "\ud800"},
    ],
    ids=["huge depth", "wrong types", "true", "its own parent", "a path", "surrogates"],
)
def test_a_meta_document_may_say_anything(memory: Memory, meta: dict[str, object]) -> None:
    log(memory.root, T, rounds(T, 1))
    path = subagent(memory.root, T, "a1", rounds("a1", 1))
    path.with_name("agent-a1.meta.json").write_text(json.dumps(meta))
    memory.sync()
    assert len(memory.summaries(f"{uid(T)}:a1")) == 4
    memory.assert_sound()


def test_a_meta_document_may_change_break_vanish_and_come_back(memory: Memory) -> None:
    log(memory.root, T, rounds(T, 1))
    path = subagent(memory.root, T, "a1", rounds("a1", 1))
    meta = path.with_name("agent-a1.meta.json")
    good = meta.read_bytes()
    memory.sync()
    for content in (b'{"description": "another name"}', b'{"descr', None, good):
        if content is None:
            meta.unlink()
        else:
            meta.write_bytes(content)
        outcome = memory.sync()
        assert outcome.report.failed == 0
        assert len(memory.summaries(f"{uid(T)}:a1")) == 4
        memory.assert_sound()
    with memory.opened() as store:
        session = store.sessions.get(f"{uid(T)}:a1")
    assert session is not None
    assert (session.title, session.parent_uid) == ("agent a1", uid(T))


def test_a_meta_document_that_cannot_be_reached_does_not_hide_its_log(memory: Memory) -> None:
    log(memory.root, T, rounds(T, 1))
    path = subagent(memory.root, T, "a1", rounds("a1", 1))
    meta = path.with_name("agent-a1.meta.json")
    meta.unlink()
    meta.symlink_to("nowhere")
    memory.sync()
    assert f"{uid(T)}:a1" in memory.uids()
    memory.assert_sound()


def test_an_unreadable_meta_document_counts_its_source_once(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    log(memory.root, T, rounds(T, 1))
    path = subagent(memory.root, T, "a1", rounds("a1", 1))
    with _refusing(monkeypatch, path.with_name("agent-a1.meta.json")):
        outcome = memory.sync()
    assert outcome.report.discovered == 2
    assert f"{uid(T)}:a1" in memory.uids()
    assert memory.problems() == [("agent-a1.meta.json", "unreadable")]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tool-results/b1.txt", "subagents/agent-a1.meta.json"])
def test_a_huge_file_beside_a_log_is_kept_in_little_memory(memory: Memory, name: str) -> None:
    log(memory.root, S, rounds(S, 1))
    subagent(memory.root, S, "a1", rounds("a1", 1))
    path = memory.root / PROJECT / S / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(300 * 1024 * 1024)
    done = run_child("sync", memory.root, memory.where)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["peak_mb"] < 250
    assert set(memory.uids()) == {uid(S), f"{uid(S)}:a1"}
    with memory.opened() as store:
        assert_sound(store)
        kept = {row.path: row.kept for row in store.sources.every()}
    assert kept[str(path)] == 300 * 1024 * 1024


# ---------------------------------------------------------------- what a session can say


def test_a_subagent_that_names_itself_as_its_parent_is_readable(memory: Memory) -> None:
    log(memory.root, T, rounds(T, 1))
    own = rounds("a1", 1)
    own[2]["toolUseResult"] = {"agentId": "a1"}
    subagent(memory.root, T, "a1", own).with_name("agent-a1.meta.json").unlink()
    memory.sync()
    with memory.opened() as store:
        assert len(store.sessions.every()) == 2
    memory.assert_sound()


def test_subagents_that_are_each_others_parent_are_readable(memory: Memory) -> None:
    log(memory.root, T, rounds(T, 1))
    for agent, parent in (("a1", "a2"), ("a2", "a1")):
        path = subagent(memory.root, T, agent, rounds(agent, 1))
        meta = path.with_name(f"agent-{agent}.meta.json")
        meta.write_text(json.dumps({"parentAgentId": parent}))
    memory.sync()
    with memory.opened() as store:
        assert len(store.sessions.every()) == 3
    memory.assert_sound()


def test_a_fork_of_a_part_that_only_a_stale_session_holds_counts_once(memory: Memory) -> None:
    """B begins with A's history, C with B's own part alone: all three belong together."""
    a, b, c = sorted(uuid("abc", n) for n in range(3))
    first = rounds(a, 2)
    second = fork(first, b) + rounds(b, 2, start=20)
    log(memory.root, a, first)
    log(memory.root, b, second)
    log(memory.root, c, fork(second[8:], c) + rounds(c, 1, start=40))
    memory.sync()
    assert memory.tokens() == 20 * (2 + 2 + 1)
    memory.assert_sound()


def test_a_response_id_that_cannot_be_stored_as_it_is_counts_once(memory: Memory) -> None:
    record = assistant(S, 1)
    record["message"]["id"] = "msg\0\1"
    path = log(memory.root, S, [user(S, 0), record])
    memory.sync()
    again = {**record, "uuid": uuid("again")}
    append(path, [again])
    memory.sync()
    assert memory.tokens() == 10
    memory.assert_sound()
    assert memory.fingerprint() == fresh_fingerprint(memory.root)


@pytest.mark.slow
def test_a_hundred_sessions_with_the_same_response_id_are_collected_in_a_moment(
    memory: Memory,
) -> None:
    """A proxy that gives every response the same id does not tie the sessions together."""
    for number in range(100):
        session = uuid("tied", number)
        records = rounds(session, 1)
        records[3]["message"]["id"] = "msg_1"
        log(memory.root, session, records)
    outcome = memory.sync()
    assert outcome.report.seconds < 20
    assert memory.tokens() == 100 * 20
    with memory.opened() as store:
        assert_sound(store, sample=3)


# ---------------------------------------------------------------- doing


class _Killed(BaseException):
    pass


@contextmanager
def _killed_at(owner: type, name: str) -> Iterator[None]:
    def dying(*arguments: object) -> None:
        raise _Killed

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(owner, name, dying)
        yield


@contextmanager
def _refusing(monkeypatch: pytest.MonkeyPatch, *refused: Path) -> Iterator[None]:
    """Opening these files fails, as it does without permission; root would be let in."""
    really = Path.open, os.open

    def path_open(self: Path, *arguments: object, **options: object) -> object:
        if self in refused:
            raise PermissionError(13, "Permission denied", str(self))
        return really[0](self, *arguments, **options)  # type: ignore[arg-type]

    def os_open(path: object, *arguments: object, **options: object) -> int:
        if any(os.fspath(path) == str(one) for one in refused):  # type: ignore[call-overload]
            raise PermissionError(13, "Permission denied", str(path))
        return really[1](path, *arguments, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", path_open)
        patched.setattr(os, "open", os_open)
        yield


def _when_looked_at(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """``act`` once, after every file was looked at and before the first is read."""
    _before(monkeypatch, syncing.Sync, "read", act)


def _when_read(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """``act`` once, after the first file was opened and before its first byte was read."""
    _before(monkeypatch, SourceReading, "log_chunks", act)


def _before(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, act: Callable[[], object]
) -> None:
    really = getattr(owner, name)
    acts = [act]

    def acting(*arguments: object) -> object:
        if acts:
            acts.pop()()
        return really(*arguments)

    monkeypatch.setattr(owner, name, acting)


def _swap(path: Path, old: bytes, new: bytes) -> None:
    """Change some bytes of a file in place, without another inode or size."""
    content = path.read_bytes()
    assert len(old) == len(new) and old in content
    with path.open("r+b") as file:
        file.write(content.replace(old, new))


def _raw_of(memory: Memory, path: Path) -> bytes:
    with memory.opened() as store:
        row = next(
            row for row in store.sources.every() if row.path == str(path) and not row.superseded
        )
        return b"".join(store.raw.pieces(row.id))
