"""Lessons: decided by a person, kept in plain files, every version and every decision there."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from session_memory.config import LessonsConfig
from session_memory.core.lesson_errors import (
    BrokenLesson,
    LessonError,
    TooLittleEvidence,
    UnknownLesson,
)
from session_memory.learn.curate import accept, current_user, edit, mark, merge, reject
from session_memory.learn.lesson import from_text, to_text
from session_memory.learn.lessons import Lessons
from session_memory.learn.patterns import Evidence, Fix, Pattern, pattern_id, patterns
from session_memory.learn.wish_text import wish_lesson
from session_memory.store import Store
from session_memory.testing.collecting import new_store

from .fleets import AFTER, APPLIED, BEFORE, ERROR, SyntheticFleet, at, recurring

# Others send a server the statements that these would send it.
pytestmark = pytest.mark.only("sqlite")

FLOORS = LessonsConfig()


@pytest.fixture
def fleet(tmp_path: Path) -> SyntheticFleet:
    return SyntheticFleet(tmp_path / "home")


@pytest.fixture
def lessons(tmp_path: Path) -> Lessons:
    return Lessons(tmp_path / "lessons")


@pytest.fixture
def empty() -> Store:
    return new_store()


def planted(locus: str = "0123456789abcdef", **more: object) -> Pattern:
    values = {
        "id": pattern_id("recurring_error", locus),
        "type": "recurring_error",
        "polarity": "problem",
        "locus": locus,
        "detail": "ValueError: no such thing",
        "signals": 3,
        "sessions": 3,
        "magnitude": 4,
        "tokens": 900,
        "microdollars": 10,
        "basis": "measured",
        "cross_flavor": False,
        "score": 3,
        "flavors": ("claude",),
        "repos": ("app",),
        "first_seen": "2026-11-01T10:00:00.000Z",
        "last_seen": "2026-11-03T10:00:00.000Z",
        "session_uids": ("claude:a", "claude:b", "claude:c"),
        "evidence": (Evidence("claude:c", "e-3"), Evidence("claude:b", "e-2")),
        "resolutions": (Fix("edit", "settings.py", 2),),
    }
    return Pattern(**{**values, **more})


# ---------------------------------------------------------------- out of the store


def test_a_pattern_found_by_three_agents_becomes_a_lesson_with_its_provenance(
    fleet: SyntheticFleet, lessons: Lessons, everywhere: None
) -> None:
    fleet.go_to(BEFORE)
    agents = ("claude", "codex", "grok", "claude")
    uids = [fleet.session(agent, problem=ERROR) for agent in agents]
    with fleet.learned() as store:
        pattern = recurring(store)
        lesson = accept(lessons, store, pattern, FLOORS, at(APPLIED, why="costs us time"))
    assert pattern.cross_flavor
    assert (lesson.status, lesson.version, lesson.sessions) == ("accepted", 1, 4)
    assert sorted(lesson.session_uids) == sorted(uids)
    assert {uid for uid, _ in lesson.events} == set(uids)
    assert lesson.repos == ("app",)
    assert "`ModuleNotFoundError: No module named 'zonal'`" in lesson.problem
    assert lesson.resolution == (
        "When `python main.py` fails with `ModuleNotFoundError: No module named 'zonal'`, edit"
        " `pyproject.toml`. It helped in 3 sessions, and is quoted from a log."
    )
    assert lessons.get(lesson.id) == lesson
    (decision,) = lessons.decisions(lesson.id)
    assert (decision.who, decision.action, decision.why) == ("mira", "accept", "costs us time")
    assert decision.at == "2026-11-05T12:00:00.000Z"


def test_an_instruction_given_again_and_again_becomes_one_to_follow_unasked(
    fleet: SyntheticFleet, lessons: Lessons
) -> None:
    for said in ("never commit without running the linter", "never commit without the linter"):
        fleet.session("claude", prompt=said)
        fleet.go_to(APPLIED)
    with fleet.learned() as store:
        (item,) = [p for p in patterns(store) if p.type == "recurring_instruction"]
        lesson = accept(lessons, store, item, FLOORS, at(APPLIED))
    assert lesson.resolution == (
        "Do this without being asked: `never commit without the linter`."
        " The user asked for it in 2 sessions."
    )


@pytest.mark.parametrize(
    ("wish", "lesson"),
    [
        ("commit", "When the work is done and its checks pass, do this without being asked:"),
        ("commit the changes", "When the work is done and its checks pass, do this without"),
        ("add commit push", "When the work is done and its checks pass, offer to do this:"),
        ("提交pr", "When the work is done and its checks pass, offer to do this:"),
        ("update changelog", "Do this without being asked:"),
        ("make check before the commit", "Do this without being asked:"),
    ],
)
def test_work_is_handed_in_at_its_end_and_shown_to_others_only_with_the_users_word(
    wish: str, lesson: str
) -> None:
    found = planted("commit", type="recurring_instruction", detail=wish)
    assert wish_lesson(found).startswith(lesson)


# ---------------------------------------------------------------- floors


def test_too_little_evidence_is_refused_with_what_is_missing(
    lessons: Lessons, empty: Store
) -> None:
    with pytest.raises(TooLittleEvidence, match="1 session shows .*, 2 are needed") as refused:
        accept(lessons, empty, planted(sessions=1), FLOORS, at(APPLIED))
    assert "--force" in (refused.value.hint or "")
    assert "promote_sessions" in (refused.value.hint or "")
    assert lessons.ids() == []


def test_what_was_forced_is_written_down_as_that(lessons: Lessons, empty: Store) -> None:
    lesson = accept(lessons, empty, planted(sessions=1), FLOORS, at(APPLIED, force=True))
    (decision,) = lessons.decisions(lesson.id)
    assert decision.forced


def test_force_that_was_not_needed_is_not_written_down(lessons: Lessons, empty: Store) -> None:
    lesson = accept(lessons, empty, planted(), FLOORS, at(APPLIED, force=True))
    assert not lessons.decisions(lesson.id)[0].forced


def test_the_floor_can_be_set(lessons: Lessons, empty: Store) -> None:
    high, low = LessonsConfig(promote_sessions=4), LessonsConfig(promote_sessions=1)
    with pytest.raises(TooLittleEvidence, match="4 are needed"):
        accept(lessons, empty, planted(), high, at(APPLIED))
    assert accept(lessons, empty, planted(sessions=1), low, at(APPLIED)).sessions == 1


# ---------------------------------------------------------------- decisions


def test_a_pattern_is_accepted_once(lessons: Lessons, empty: Store) -> None:
    accept(lessons, empty, planted(), FLOORS, at(APPLIED))
    with pytest.raises(LessonError, match="already"):
        accept(lessons, empty, planted(), FLOORS, at(APPLIED))


def test_every_change_is_a_version_and_a_decision(lessons: Lessons, empty: Store) -> None:
    lesson = accept(lessons, empty, planted(), FLOORS, at(BEFORE))
    edit(lessons, lesson.id, at(APPLIED, "jon", why="clearer"), resolution="Install it first.")
    reject(lessons, empty, lessons.get(lesson.id), at(AFTER, why="fixed for good"))
    accept(lessons, empty, planted(), FLOORS, at(AFTER))
    history = lessons.versions(lesson.id)
    assert [one.version for one in history] == [1, 2, 3, 4]
    assert [one.status for one in history] == ["accepted", "accepted", "rejected", "accepted"]
    assert history[1].resolution == "Install it first."
    assert {one.created_at for one in history} == {"2026-11-02T09:00:00.000Z"}
    items = [(d.version, d.action, d.who, d.why) for d in lessons.decisions(lesson.id)]
    assert items == [
        (1, "accept", "mira", ""),
        (2, "edit", "jon", "clearer"),
        (3, "reject", "mira", "fixed for good"),
        (4, "accept", "mira", ""),
    ]


def test_a_pattern_can_be_rejected_without_being_a_lesson_first(
    lessons: Lessons, empty: Store
) -> None:
    lesson = reject(lessons, empty, planted(), at(APPLIED, why="one machine only"))
    assert lessons.get(lesson.id).status == "rejected"
    assert lessons.decisions(lesson.id)[0].why == "one machine only"


def test_an_edit_that_changes_nothing_is_no_version(lessons: Lessons, empty: Store) -> None:
    lesson = accept(lessons, empty, planted(), FLOORS, at(BEFORE))
    with pytest.raises(LessonError, match="the edit changes nothing"):
        edit(lessons, lesson.id, at(APPLIED), title=lesson.title)
    assert len(lessons.versions(lesson.id)) == 1


def test_an_edit_may_not_break_the_file(lessons: Lessons, empty: Store) -> None:
    lesson = accept(lessons, empty, planted(), FLOORS, at(BEFORE))
    for title in ("", "two\nlines", "x" * 201):
        with pytest.raises(LessonError, match="title"):
            edit(lessons, lesson.id, at(APPLIED), title=title)
    assert lessons.get(lesson.id) == lesson


def test_many_who_edit_at_once_make_a_version_each(lessons: Lessons, empty: Store) -> None:
    lesson = accept(lessons, empty, planted(), FLOORS, at(BEFORE))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: edit(lessons, lesson.id, at(APPLIED), title=f"{n}"), range(16)))
    assert [one.version for one in lessons.versions(lesson.id)] == list(range(1, 18))
    assert [one.version for one in lessons.decisions(lesson.id)] == list(range(1, 18))
    assert lessons.is_recorded(lesson.id)


def test_merging_joins_the_evidence_and_keeps_the_others_as_merged(
    lessons: Lessons, empty: Store
) -> None:
    one = accept(lessons, empty, planted("a" * 16), FLOORS, at(BEFORE))
    others = ("claude:c", "codex:d")
    two = accept(
        lessons, empty, planted("b" * 16, session_uids=others, sessions=2), FLOORS, at(BEFORE)
    )
    joined = merge(lessons, one.id, [two.id], at(APPLIED))
    assert joined.session_uids == ("claude:a", "claude:b", "claude:c", "codex:d")
    assert joined.sessions == 4
    assert [shown.locus for shown in joined.patterns] == ["a" * 16, "b" * 16]
    gone = lessons.get(two.id)
    assert (gone.status, gone.merged_into) == ("merged", one.id)
    with pytest.raises(LessonError, match="is merged"):
        merge(lessons, one.id, [two.id], at(AFTER))
    with pytest.raises(LessonError, match="into itself"):
        merge(lessons, one.id, [one.id], at(AFTER))


def test_a_verdict_is_marked_once(lessons: Lessons, empty: Store) -> None:
    lesson = accept(lessons, empty, planted(), FLOORS, at(BEFORE))
    mark(lessons, lesson.id, "did_not_help", at(AFTER))
    assert mark(lessons, lesson.id, "did_not_help", at(AFTER)).version == 2


# ---------------------------------------------------------------- files


def test_a_lesson_reads_back_from_its_file(lessons: Lessons, empty: Store) -> None:
    hostile = 'x: "y"\n---\n## Problem\n`````\x1b[2J\u202e \ud800 \0 # ## Resolution'
    pattern = planted(detail=hostile, resolutions=(Fix("command", hostile, 2),))
    lesson = accept(lessons, empty, pattern, FLOORS, at(BEFORE))
    assert lessons.get(lesson.id) == lesson
    assert from_text(to_text(lesson)) == lesson
    text = lessons.path(lesson.id).read_text("utf-8")
    assert "\x1b" not in text and "\u202e" not in text


def test_what_was_edited_by_hand_is_kept_as_a_version_of_its_own(
    lessons: Lessons, empty: Store
) -> None:
    lesson = accept(lessons, empty, planted(), FLOORS, at(BEFORE))
    path = lessons.path(lesson.id)
    path.write_text(path.read_text("utf-8").replace("## Resolution", "Mine.\n\n## Resolution"))
    assert not lessons.is_recorded(lesson.id)
    edit(lessons, lesson.id, at(APPLIED), title="Better")
    history = lessons.versions(lesson.id)
    assert [one.version for one in history] == [1, 2, 3]
    by_hand = history[1]
    assert history[0] == lesson
    assert by_hand.problem.endswith("Mine.")
    assert by_hand.title == lesson.title
    actions = [decision.action for decision in lessons.decisions(lesson.id)]
    assert actions == ["accept", "edited by hand", "edit"]
    assert lessons.is_recorded(lesson.id)


def test_a_person_may_write_values_without_quotes(lessons: Lessons, empty: Store) -> None:
    lesson = accept(lessons, empty, planted(), FLOORS, at(BEFORE))
    path = lessons.path(lesson.id)
    lines = path.read_text("utf-8").splitlines()
    plain = [f"title: Use {lesson.id}" if line.startswith("title:") else line for line in lines]
    path.write_text("\r\n".join(plain))
    assert lessons.get(lesson.id).title == f"Use {lesson.id}"


Broken = Callable[[str], str]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (lambda text: text[4:], "front matter"),
        (lambda text: text.replace("\n---\n", "\n"), "does not end"),
        (lambda text: text.replace("version: 1", "version: zero"), "version"),
        (lambda text: text.replace("version: 1", "version: 0"), "version"),
        (lambda text: text.replace('"accepted"', '"maybe"'), "status"),
        (lambda text: text.replace("## Resolution", "## Problem"), "sections"),
        (lambda text: text.replace("id:", "id", 1), "name: value"),
        (lambda text: text.replace('id: "l-', 'id: "../l-'), "id"),
    ],
    ids=["begins", "ends", "no number", "too small", "status", "sections", "no colon", "id"],
)
def test_a_file_that_cannot_be_read_is_named_and_stops_no_list(
    lessons: Lessons, empty: Store, broken: Broken, reason: str
) -> None:
    lesson = accept(lessons, empty, planted("a" * 16), FLOORS, at(BEFORE))
    other = accept(lessons, empty, planted("b" * 16), FLOORS, at(BEFORE))
    path = lessons.path(lesson.id)
    path.write_text(broken(path.read_text("utf-8")))
    with pytest.raises(BrokenLesson, match=reason):
        lessons.get(lesson.id)
    found, problems = lessons.read()
    assert [one.id for one in found] == [other.id]
    assert len(problems) == 1 and str(path) in problems[0]


def test_files_are_private_and_links_are_not_followed(
    lessons: Lessons, empty: Store, tmp_path: Path
) -> None:
    lesson = accept(lessons, empty, planted(), FLOORS, at(BEFORE))
    edit(lessons, lesson.id, at(APPLIED), title="Better")
    files = [path for path in lessons.directory.rglob("*") if path.is_file()]
    assert len(files) == 4
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    outside = tmp_path / "outside.md"
    outside.write_text("secret")
    path = lessons.path(lesson.id)
    path.unlink()
    path.symlink_to(outside)
    with pytest.raises(Exception, match="is a link"):
        edit(lessons, lesson.id, at(AFTER), title="Best")
    assert outside.read_text() == "secret"


def test_a_torn_line_of_the_journal_costs_itself_alone(lessons: Lessons, empty: Store) -> None:
    lesson = accept(lessons, empty, planted(), FLOORS, at(BEFORE))
    with lessons.journal.path.open("ab") as file:
        file.write(b'{"at": "2026')
    edit(lessons, lesson.id, at(APPLIED), title="Better")
    assert [one.action for one in lessons.decisions(lesson.id)] == ["accept", "edit"]
    assert lessons.journal.entries()[1] == 1


@pytest.mark.parametrize("name", ["", "l-", "l-ffff", "../x", "l-0123456789abcdef/../../x"])
def test_a_name_that_is_no_lesson_finds_none(lessons: Lessons, empty: Store, name: str) -> None:
    accept(lessons, empty, planted(), FLOORS, at(BEFORE))
    with pytest.raises(UnknownLesson):
        lessons.find(name)
    with pytest.raises(UnknownLesson):
        lessons.get(name)


def test_a_lesson_answers_to_the_beginning_of_its_id_and_to_its_pattern(
    lessons: Lessons, empty: Store
) -> None:
    pattern = planted()
    lesson = accept(lessons, empty, pattern, FLOORS, at(BEFORE))
    assert lessons.find(lesson.id[:6]) == lesson
    assert lessons.find(pattern.id) == lesson


# ---------------------------------------------------------------- forgetting


def everything(lessons: Lessons) -> str:
    files = [path for path in lessons.directory.rglob("*") if path.is_file()]
    return "\n".join(path.read_text("utf-8") for path in files)


def test_forgetting_a_session_takes_its_name_and_words_out_of_every_version(
    fleet: SyntheticFleet, lessons: Lessons
) -> None:
    fleet.go_to(BEFORE)
    uids = [fleet.session("claude", problem=ERROR) for _ in range(3)]
    with fleet.learned() as store:
        lesson = accept(lessons, store, recurring(store), FLOORS, at(APPLIED))
    edit(lessons, lesson.id, at(AFTER), repos=())
    (quote,) = {quote.session_uid for quote in lesson.quotes if "zonal" in quote.text}
    changed, words = lessons.forget([quote])
    assert changed == [lesson.id]
    assert any("zonal" in word for word in words)
    left = everything(lessons)
    assert quote not in left
    assert "zonal" not in left
    kept = lessons.get(lesson.id)
    assert sorted(kept.session_uids) == sorted(set(uids) - {quote})
    assert "(forgotten)" in kept.problem
    assert lessons.is_recorded(lesson.id)


def test_a_lesson_that_nothing_else_shows_goes_with_its_sessions(
    lessons: Lessons, empty: Store
) -> None:
    lesson = accept(lessons, empty, planted(), FLOORS, at(BEFORE))
    edit(lessons, lesson.id, at(APPLIED), title="Better")
    # Two more sessions show it than it names.
    other = planted("b" * 16, session_uids=("claude:a",), evidence=())
    kept = accept(lessons, empty, other, FLOORS, at(BEFORE))
    lessons.forget(["claude:a", "claude:b", "claude:c"])
    assert lessons.ids() == [kept.id]
    assert (lessons.get(kept.id).sessions, lessons.get(kept.id).session_uids) == (2, ())
    assert not list((lessons.directory / "versions").glob(f"{lesson.id}.*"))


def test_forgetting_what_no_lesson_names_changes_no_byte(lessons: Lessons, empty: Store) -> None:
    accept(lessons, empty, planted(), FLOORS, at(BEFORE))
    before = everything(lessons)
    assert lessons.forget(["claude:elsewhere"]) == ([], [])
    assert everything(lessons) == before


def test_forgetting_removes_what_a_killed_write_left(lessons: Lessons, empty: Store) -> None:
    lesson = accept(lessons, empty, planted(), FLOORS, at(BEFORE))
    for place in (lessons.directory, lessons.directory / "versions"):
        (place / f".{lesson.id}.md.123.session-memory-new").write_text("half a lesson")
    lessons.forget(["claude:elsewhere"])
    assert "half a lesson" not in everything(lessons)


def test_unknown_fields_of_the_file_are_no_reason_to_refuse_it(
    lessons: Lessons, empty: Store
) -> None:
    lesson = accept(lessons, empty, planted(), FLOORS, at(BEFORE))
    text = to_text(lesson).replace("---\n", "---\nreviewed_by: jon\n# a comment\n", 1)
    assert from_text(text) == lesson


def test_who_decides_is_who_is_logged_in_or_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "mira")
    assert current_user() == "mira"

    def nobody() -> str:
        raise OSError("no name for user 1000")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert current_user() == "unknown"
