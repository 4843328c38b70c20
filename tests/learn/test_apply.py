"""Apply and revert: the user's file is written whole, undone to the byte, and never lost."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from effort import times
from forking import start_fork
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session_memory.config import LessonsConfig
from session_memory.core.errors import UnsafePath
from session_memory.core.lesson_errors import LessonError, NotApplied
from session_memory.core.time import parse_time
from session_memory.learn import applied as module
from session_memory.learn.applied import AppliedLessons
from session_memory.learn.lesson import Lesson
from session_memory.learn.lesson_block import END, find_block
from session_memory.learn.proposals import propose

from .fleets import AFTER, APPLIED, BEFORE, at
from .test_propose import TEXT, file_in, lesson

FLOORS = LessonsConfig()
LATER = "2026-11-07T09:00:00Z"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    return folder


@pytest.fixture
def applied(tmp_path: Path) -> AppliedLessons:
    return AppliedLessons(tmp_path / "applied")


def write(applied: AppliedLessons, project: Path, *lessons: Lesson, time: str = APPLIED) -> bytes:
    """Apply some lessons; the file as it is then."""
    file = file_in(project)
    applied.apply(propose(file, lessons, FLOORS, around=applied.around(file.path)), at(time))
    return file.path.read_bytes()


# ---------------------------------------------------------------- to the byte


@given(content=st.one_of(st.none(), TEXT), twice=st.booleans())
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=times(40),
)
def test_what_was_applied_is_undone_to_the_byte(
    tmp_path_factory: pytest.TempPathFactory, content: bytes | None, twice: bool
) -> None:
    folder = tmp_path_factory.mktemp("any")
    path, applied = folder / "CLAUDE.md", AppliedLessons(folder / "applied")
    if content is not None:
        path.write_bytes(content)
    first = write(applied, folder, lesson("a"))
    assert first.startswith(content or b"")
    if twice:
        second = write(applied, folder, lesson("a"), lesson("b"))
        assert second != first
        assert applied.revert(path, at(AFTER)).exact
        assert path.read_bytes() == first
    undone = applied.revert(path, at(AFTER))
    assert undone.exact and undone.removed == (content is None)
    assert (path.read_bytes() if path.exists() else None) == content
    with pytest.raises(NotApplied):
        applied.revert(path, at(AFTER))


@given(content=TEXT, above=TEXT, below=TEXT)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=times(40),
)
def test_where_the_file_changed_only_our_block_goes_and_it_is_said(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, above: bytes, below: bytes
) -> None:
    folder = tmp_path_factory.mktemp("any")
    path, applied = folder / "CLAUDE.md", AppliedLessons(folder / "applied")
    path.write_bytes(content)
    now = write(applied, folder, lesson("a"))
    path.write_bytes(above + b"\n" + now + b"\n" + below)
    undone = applied.revert(path, at(AFTER))
    assert not undone.exact and "had been edited" in undone.note
    assert path.read_bytes() == above + b"\n" + content + b"\n" + below


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_two_lines_of_the_user_stay_two_when_the_empty_line_before_the_block_is_gone(
    applied: AppliedLessons, project: Path, end: bytes
) -> None:
    path = project / "CLAUDE.md"
    path.write_bytes(b"# Rules" + end + b"Be kind" + end)
    now = write(applied, project, lesson("a"))
    tight = now.replace(b"Be kind" + end * 2, b"Be kind" + end)
    assert tight != now
    path.write_bytes(tight + b"## Mine" + end)
    applied.revert(path, at(AFTER))
    assert path.read_bytes() == end.join((b"# Rules", b"Be kind", b"## Mine", b""))


def test_a_block_that_was_edited_goes_too_and_what_it_was_is_kept(
    applied: AppliedLessons, project: Path
) -> None:
    path = project / "CLAUDE.md"
    path.write_bytes(b"# Mine\n")
    now = write(applied, project, lesson())
    edited = now.replace(END, b"My own words.\n" + END)
    path.write_bytes(edited)
    undone = applied.revert(path, at(AFTER))
    assert "and the lessons had been edited" in undone.note
    assert path.read_bytes() == b"# Mine\n"
    kept = [one.read_bytes() for one in (applied.directory / "before").iterdir()]
    assert edited in kept


def test_undoing_the_second_of_two_after_an_edit_brings_the_first_back(
    applied: AppliedLessons, project: Path
) -> None:
    path = project / "CLAUDE.md"
    path.write_bytes(b"# Mine\n")
    first = write(applied, project, lesson("a"))
    second = write(applied, project, lesson("a"), lesson("b"))
    path.write_bytes(b"# New\n" + second)
    assert not applied.revert(path, at(AFTER)).exact
    assert path.read_bytes() == b"# New\n" + first


def test_a_block_that_somebody_took_out_is_nothing_to_undo(
    applied: AppliedLessons, project: Path
) -> None:
    path = project / "CLAUDE.md"
    path.write_bytes(b"# Mine\n")
    write(applied, project, lesson())
    path.write_bytes(b"# Mine, again\n")
    assert [one.state for one in applied.live()] == ["gone"]
    undone = applied.revert(path, at(AFTER))
    assert (undone.exact, undone.note) == (False, "the lessons were no longer in the file")
    assert path.read_bytes() == b"# Mine, again\n"
    assert applied.live() == []


def test_a_file_that_is_gone_stays_gone(applied: AppliedLessons, project: Path) -> None:
    write(applied, project, lesson())
    (project / "CLAUDE.md").unlink()
    assert applied.revert(project / "CLAUDE.md", at(AFTER)).note == "the file is gone"
    assert not (project / "CLAUDE.md").exists()


def test_a_lesson_that_was_rejected_leaves_the_file_and_revert_brings_it_back(
    applied: AppliedLessons, project: Path
) -> None:
    path = project / "CLAUDE.md"
    path.write_bytes(b"# Mine\n")
    first = write(applied, project, lesson("a"))
    assert write(applied, project, lesson("a", status="rejected")) == b"# Mine\n"
    assert applied.live() == []
    assert applied.revert(path, at(AFTER)).exact
    assert path.read_bytes() == first
    assert len(applied.live()) == 1


def test_applying_what_is_there_already_writes_nothing(
    applied: AppliedLessons, project: Path
) -> None:
    write(applied, project, lesson())
    path = project / "CLAUDE.md"
    before, item = path.stat(), applied.journal.path.read_bytes()
    write(applied, project, lesson())
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert path.stat().st_ino == before.st_ino
    assert applied.journal.path.read_bytes() == item


# ---------------------------------------------------------------- the file itself


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o664, 0o755])
def test_a_file_keeps_its_permissions(applied: AppliedLessons, project: Path, mode: int) -> None:
    path = project / "CLAUDE.md"
    path.write_bytes(b"# Mine\n")
    path.chmod(mode)
    write(applied, project, lesson())
    assert path.stat().st_mode & 0o777 == mode
    applied.revert(path, at(AFTER))
    assert path.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize(
    ("folder", "umask", "file"),
    [
        (0o755, 0o022, 0o644),
        (0o700, 0o022, 0o600),
        (0o775, 0o002, 0o664),
        (0o777, 0o022, 0o644),
        (0o755, 0o077, 0o600),
    ],
)
def test_a_new_file_is_as_open_as_its_directory_and_the_umask_allow(
    applied: AppliedLessons, project: Path, folder: int, umask: int, file: int
) -> None:
    project.chmod(folder)
    before = os.umask(umask)
    try:
        write(applied, project, lesson())
    finally:
        os.umask(before)
    assert (project / "CLAUDE.md").stat().st_mode & 0o777 == file


def test_what_is_ours_is_private(applied: AppliedLessons, project: Path) -> None:
    (project / "CLAUDE.md").write_bytes(b"# Mine\n")
    write(applied, project, lesson())
    files = [path for path in applied.directory.rglob("*") if path.is_file()]
    assert len(files) == 2
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert applied.directory.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in project.iterdir()] == ["CLAUDE.md"]


def test_a_file_that_became_a_link_is_not_followed(
    applied: AppliedLessons, project: Path, tmp_path: Path
) -> None:
    path, outside = project / "CLAUDE.md", tmp_path / "outside.md"
    path.write_bytes(b"# Mine\n")
    proposal = propose(file_in(project), [lesson()], FLOORS)
    outside.write_bytes(b"# Mine\n")
    path.unlink()
    path.symlink_to(outside)
    with pytest.raises(UnsafePath, match="is a link"):
        applied.apply(proposal, at(APPLIED))
    assert outside.read_bytes() == b"# Mine\n"
    assert path.is_symlink()


def test_a_file_that_changed_since_it_was_proposed_is_not_overwritten(
    applied: AppliedLessons, project: Path
) -> None:
    path = project / "CLAUDE.md"
    path.write_bytes(b"# Mine\n")
    proposal = propose(file_in(project), [lesson()], FLOORS)
    path.write_bytes(b"# Mine, edited meanwhile\n")
    with pytest.raises(LessonError, match="another program changed"):
        applied.apply(proposal, at(APPLIED))
    assert path.read_bytes() == b"# Mine, edited meanwhile\n"
    assert applied.live() == []


# ---------------------------------------------------------------- what is live where


def test_the_registry_says_what_is_live_where(applied: AppliedLessons, project: Path) -> None:
    write(applied, project, lesson("a"), lesson("b", version=4))
    (live,) = applied.live()
    assert (live.target, live.repo, live.state) == (str(project / "CLAUDE.md"), "app", "as written")
    assert [(one.id[2], one.version) for one in live.lessons] == [("a", 1), ("b", 4)]
    assert (live.applied_at, live.who) == ("2026-11-05T12:00:00.000Z", "mira")
    with (project / "CLAUDE.md").open("ab") as file:
        file.write(b"more\n")
    assert [one.state for one in applied.live()] == ["changed"]


def test_stretches_say_when_each_lesson_was_live(applied: AppliedLessons, project: Path) -> None:
    write(applied, project, lesson("a"), time=BEFORE)
    write(applied, project, lesson("a", version=2), lesson("b"), time=APPLIED)
    write(applied, project, lesson("b"), time=AFTER)
    applied.revert(project / "CLAUDE.md", at(LATER))
    found = {(one.lesson[2], one.since, one.until) for one in applied.periods()}
    assert found == {
        ("a", parse_time(BEFORE), parse_time(AFTER)),
        ("a", parse_time(LATER), None),
        ("b", parse_time(APPLIED), None),
    }


# ---------------------------------------------------------------- killed in between


class Killed(BaseException):
    """Nothing that an `except Exception` would catch."""


@contextmanager
def killed(when: str) -> Iterator[None]:
    """The next write to the user's file ends right before or after it, as a kill would end it."""
    real = module.replace_file

    def write_and_die(path: Path, data: bytes, *more: Any) -> None:
        if path.name == "CLAUDE.md" and when == "before":
            raise Killed
        real(path, data, *more)
        if path.name == "CLAUDE.md":
            raise Killed

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        patch.setattr(module, "replace_file", write_and_die)
        yield


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_leaves_the_old_file_or_the_new_one_and_the_registry_knows_which(
    applied: AppliedLessons, project: Path, when: str
) -> None:
    path = project / "CLAUDE.md"
    path.write_bytes(b"# Mine\n")
    with killed(when):
        write(applied, project, lesson())
    if when == "before":
        assert path.read_bytes() == b"# Mine\n"
        assert applied.live() == []
    else:
        assert find_block(path.read_bytes(), "x") is not None
        assert [one.state for one in applied.live()] == ["as written"]
        assert applied.revert(path, at(AFTER)).exact
        assert path.read_bytes() == b"# Mine\n"
    write(applied, project, lesson())
    assert [one.state for one in applied.live()] == ["as written"]
    assert applied.revert(path, at(LATER)).exact
    assert path.read_bytes() == b"# Mine\n"


def test_a_write_that_was_cut_off_is_known_by_its_block_when_the_file_was_edited_since(
    applied: AppliedLessons, project: Path
) -> None:
    path = project / "CLAUDE.md"
    path.write_bytes(b"# Mine\n")
    with killed("after"):
        write(applied, project, lesson())
    path.write_bytes(b"# Edited\n" + path.read_bytes())
    assert [one.state for one in applied.live()] == ["changed"]
    assert not applied.revert(path, at(AFTER)).exact
    assert path.read_bytes() == b"# Edited\n# Mine\n"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_in_the_middle_of_undoing_leaves_one_or_the_other(
    applied: AppliedLessons, project: Path, when: str
) -> None:
    path = project / "CLAUDE.md"
    path.write_bytes(b"# Mine\n")
    now = write(applied, project, lesson())
    with killed(when):
        applied.revert(path, at(AFTER))
    if when == "before":
        assert path.read_bytes() == now
        assert len(applied.live()) == 1
        assert applied.revert(path, at(LATER)).exact
    assert path.read_bytes() == b"# Mine\n"
    assert applied.live() == []
    with pytest.raises(NotApplied):
        applied.revert(path, at(LATER))


def _apply_and_die(folder: Path) -> None:
    """Runs in a process of its own, which is killed after the write and before the journal."""
    real = module.replace_file

    def write(path: Path, *rest: Any) -> None:
        real(path, *rest)
        if path.name == "CLAUDE.md":
            os.kill(os.getpid(), signal.SIGKILL)

    module.replace_file = write
    AppliedLessons(folder / "applied").apply(
        propose(file_in(folder), [lesson()], FLOORS), at(APPLIED)
    )


def test_a_process_that_is_killed_between_the_file_and_the_journal_loses_nothing(
    project: Path,
) -> None:
    path = project / "CLAUDE.md"
    path.write_bytes(b"# Mine")
    victim = start_fork(lambda: _apply_and_die(project))
    assert victim.wait(timeout=60) == -signal.SIGKILL
    applied = AppliedLessons(project / "applied")
    assert [one.state for one in applied.live()] == ["as written"]
    assert applied.revert(path, at(AFTER)).exact
    assert path.read_bytes() == b"# Mine"


def test_what_a_killed_write_left_beside_the_file_is_swept_by_the_next(
    applied: AppliedLessons, project: Path
) -> None:
    path = project / "CLAUDE.md"
    path.write_bytes(b"# Mine\n")
    with killed("before"):
        write(applied, project, lesson())
    (project / ".CLAUDE.md.4711.session-memory-new").write_bytes(b"half")
    write(applied, project, lesson())
    assert [one.name for one in project.iterdir()] == ["CLAUDE.md"]


def test_writers_take_turns(applied: AppliedLessons, project: Path) -> None:
    names = [f"{number:x}" for number in range(8)]
    files = [project / f"part{name}.md" for name in names]

    def one(place: int) -> None:
        file = file_in(project, files[place].name)
        applied.apply(propose(file, [lesson(names[place])], FLOORS), at(APPLIED))
        applied.revert(file.path, at(AFTER))
        applied.apply(propose(file, [lesson(names[place])], FLOORS), at(LATER))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(8)))
    assert {live.target for live in applied.live()} == {str(path) for path in files}
    assert {live.state for live in applied.live()} == {"as written"}
    numbers = [entry.number for entry in applied.writes()]
    assert sorted(numbers) == list(range(1, 25))


# ---------------------------------------------------------------- forgetting


def test_kept_files_with_forgotten_words_go_and_undoing_still_takes_the_block_out(
    applied: AppliedLessons, project: Path
) -> None:
    path = project / "CLAUDE.md"
    path.write_bytes(b"# Mine about zonal\n")
    write(applied, project, lesson())
    assert applied.forget(["`No such words`"]) == 0
    assert applied.forget(["zonal"]) == 1
    undone = applied.revert(path, at(AFTER))
    assert not undone.exact and "no longer kept" in undone.note
    assert path.read_bytes() == b"# Mine about zonal\n"
