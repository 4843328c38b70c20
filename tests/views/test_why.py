"""Which session wrote a line, in real git repositories."""

import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from session_memory import Memory
from session_memory.cli import main
from session_memory.core.errors import NoSuchLine
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call
from session_memory.testing.collecting import collect
from session_memory.testing.generated_history import GeneratedRepository
from session_memory.testing.stores import Stores
from session_memory.views.why.answer import why_lines

sqlite_only = pytest.mark.only("sqlite")
BODY = "def area(width, height):\n    return width * height\n"


class Work:
    """A repository, and a home with the logs of those who work in it."""

    def __init__(self, place: Path) -> None:
        self.root, self.home = place / "code" / "demo", ClaudeHome(place / "home")
        self.root.mkdir(parents=True)
        self.home.cwd = str(self.root)
        self.now = 1_790_000_000
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        moment = {f"GIT_{who}_DATE": f"@{self.now} +0000" for who in ("AUTHOR", "COMMITTER")}
        names = {f"GIT_{who}_NAME": "Mira" for who in ("AUTHOR", "COMMITTER")}
        mails = {f"GIT_{who}_EMAIL": "m@example.invalid" for who in ("AUTHOR", "COMMITTER")}
        own = {"PATH": os.environ["PATH"], "HOME": str(self.root), **moment, **names, **mails}
        done = subprocess.run(
            ["git", *words], cwd=self.root, env=own, check=True, capture_output=True, text=True
        )
        return done.stdout

    def session(self, name: str, prompt: str) -> ClaudeLog:
        self.now += 60
        log = self.home.session(name)
        log.clock.ms = self.now * 1000
        log.prompt(prompt)
        return log

    def write(
        self, log: ClaudeLog, path: str, text: str, *, fails: bool = False, noted: bool = True
    ) -> None:
        """With ``noted``, the result has what was there before, as that of Claude Code."""
        place = self.root / path
        log.answer("I write it.", call("Write", file_path=str(place), content=text))
        before = place.read_text() if place.exists() else None
        details = {"type": "create" if before is None else "update", "filePath": str(place)}
        details |= {"content": text, "originalFile": before}
        log.result(
            "no" if fails else "written",
            is_error=fails,
            details=details if noted and not fails else None,
        )
        if not fails:
            self.save(path, text)

    def edit(self, log: ClaudeLog, path: str, old: str, new: str) -> None:
        given = {"file_path": str(self.root / path), "old_string": old, "new_string": new}
        log.answer(call("Edit", **given))
        log.result("edited")
        self.save(path, (self.root / path).read_text().replace(old, new))

    def save(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def commit(self, subject: str) -> None:
        self.now += 60
        self.git("add", "-A")
        self.git("commit", "-q", "-m", subject)

    def authors(self, path: str) -> list[str | None]:
        with Memory(self.root.parent / "memory.db") as memory:
            memory.sync(roots=[self.home.write()])
            return [line.session_uid for line in memory.why(self.root / path).lines]

    def certainties(self, path: str) -> list[str | None]:
        with Memory(self.root.parent / "memory.db") as memory:
            memory.sync(roots=[self.home.write()])
            return [line.certainty for line in memory.why(self.root / path).lines]


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path)


def test_an_edit_takes_its_lines_from_the_session_before(work: Work, stores: Stores) -> None:
    first = work.session("first", "compute the area")
    work.write(first, "area.py", BODY)
    work.commit("Area")
    second = work.session("second", "no negative areas")
    work.edit(second, "area.py", "width * height", "max(0, width * height)")
    work.commit("Never negative")
    with Memory(stores.place("memory")) as memory:
        collect(memory.store, work.home.write())
        found = why_lines(memory.store, work.root / "area.py")
        assert [line.session_uid for line in found.lines] == ["claude:first", "claude:second"]
        assert [line.certainty for line in found.lines] == ["certain", "certain"]
        assert {one.session_uid: one.prompt for one in found.sessions} == {
            "claude:first": "compute the area",
            "claude:second": "no negative areas",
        }
        assert [commit.subject for commit in found.commits] == ["Area", "Never negative"]
        assert all(one.turn_cost.microdollars > 0 for one in found.sessions)
        assert found.sessions[0].said in ("I write it.", "")


@sqlite_only
def test_lines_of_a_person_belong_to_no_session(work: Work) -> None:
    work.save("area.py", "# Areas of shapes, in square metres.\n")
    work.commit("By hand")
    log = work.session("s", "compute the area")
    work.write(log, "area.py", f"# Areas of shapes, in square metres.\n{BODY}")
    work.save("area.py", (work.root / "area.py").read_text() + "CIRCLE_IS_MISSING = True\n")
    work.commit("Both")
    assert work.authors("area.py") == [None, "claude:s", "claude:s", None]


@sqlite_only
def test_a_file_that_was_moved_and_reformatted_is_followed(work: Work) -> None:
    log = work.session("s", "compute the area")
    work.write(log, "area.py", BODY)
    work.commit("Area")
    (work.root / "shapes").mkdir()
    work.git("mv", "area.py", "shapes/rectangle.py")
    work.save("shapes/rectangle.py", BODY.replace("    ", "\t"))
    work.commit("Move and reformat")
    assert work.authors("shapes/rectangle.py") == ["claude:s", "claude:s"]


@sqlite_only
def test_lines_that_came_into_another_file_are_likely(work: Work) -> None:
    log = work.session("s", "compute the area")
    work.write(log, "area.py", BODY)
    work.commit("Area")
    work.save("all.py", f"# Everything.\n{BODY}")
    work.commit("Copied by hand")
    with Memory(work.root.parent / "memory.db") as memory:
        memory.sync(roots=[work.home.write()])
        lines = memory.why(work.root / "all.py").lines
    assert [(line.session_uid, line.certainty) for line in lines[:2]] == [
        (None, None),
        ("claude:s", "likely"),
    ]
    assert lines[1].moved_from == "area.py"


@sqlite_only
def test_a_line_that_came_back_is_its_first_authors(work: Work) -> None:
    log = work.session("s", "compute the area")
    work.write(log, "area.py", BODY)
    work.commit("Area")
    work.save("area.py", "nothing = None\n")
    work.commit("Removed")
    work.save("area.py", BODY)
    work.commit('Revert "Removed"')
    assert work.authors("area.py") == ["claude:s", "claude:s"]


@sqlite_only
def test_neither_a_failed_edit_nor_a_later_one_nor_one_elsewhere_counts(work: Work) -> None:
    work.save("area.py", BODY)
    work.commit("By hand")
    failed = work.session("failed", "compute the area")
    work.write(failed, "area.py", BODY, fails=True)
    other = work.session("other", "the same in another repository")
    other.cwd = "/home/mira/code/elsewhere"
    other.answer(call("Write", file_path="/home/mira/code/elsewhere/area.py", content=BODY))
    other.result("written")
    later = work.session("later", "write it again")
    work.write(later, "area.py", BODY)
    assert work.authors("area.py") == [None, None]


@sqlite_only
def test_what_is_not_committed_has_a_session_too(work: Work) -> None:
    work.save("other.py", "x = 1\n")
    work.commit("Begin")
    log = work.session("s", "compute the area")
    work.write(log, "area.py", BODY)
    work.git("add", "-N", "area.py")
    assert work.authors("area.py") == ["claude:s", "claude:s"]


@sqlite_only
def test_a_commit_names_the_sessions_of_its_lines(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = work.session("s", "compute the area")
    work.write(log, "area.py", BODY)
    work.save("notes.txt", "by hand, for those who read it\n")
    work.commit("Area")
    sha = work.git("rev-parse", "HEAD").strip()
    log.answer(call("Bash", command="git commit -am Area"))
    log.result(f"[main {sha[:7]}] Area\n 2 files changed")
    with Memory(work.root.parent / "memory.db") as memory:
        memory.sync(roots=[work.home.write()])
    monkeypatch.chdir(work.root)
    words = ["--store", str(work.root.parent / "memory.db"), "--json", "why", "HEAD"]
    found = json.loads(CliRunner().invoke(main, words).stdout)
    assert found["made_in"] == ["claude:s"]
    assert [(one["path"], one["added"], one["by_sessions"]) for one in found["files"]] == [
        ("area.py", 2, 2),
        ("notes.txt", 1, 0),
    ]


@sqlite_only
def test_lines_are_printed_with_their_sessions(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    log = work.session("s", "compute the \x1b[31marea")
    work.write(log, "area.py", BODY)
    work.commit("Area")
    with Memory(work.root.parent / "memory.db") as memory:
        memory.sync(roots=[work.home.write()])
    monkeypatch.chdir(work.root)
    store = ["--store", str(work.root.parent / "memory.db")]
    printed = CliRunner().invoke(main, [*store, "why", "area.py:2"]).stdout
    assert "\x1b" not in printed
    assert "return width * height" in printed
    assert "asked    compute the" in printed
    wrong = CliRunner().invoke(main, [*store, "why", "area.py:9"])
    assert "area.py has 2 lines" in wrong.output
    assert CliRunner().invoke(main, [*store, "why", "no-such-thing"]).exit_code == 1
    assert CliRunner().invoke(main, [*store, "why", "area.py:2-1"]).exit_code == 2


@sqlite_only
def test_a_file_that_is_new_to_git_has_sessions_too(work: Work, tmp_path: Path) -> None:
    log = work.session("s", "compute the area")
    work.write(log, "loose.py", BODY)
    assert work.authors("loose.py") == ["claude:s", "claude:s"]
    (tmp_path / "elsewhere.py").write_text(BODY)
    with Memory(tmp_path / "m.db") as memory, pytest.raises(NoSuchLine, match="no git repository"):
        memory.why(tmp_path / "elsewhere.py")


@sqlite_only
def test_generated_histories(tmp_path: Path) -> None:
    """The benchmark has many of them; docs/why.md has the figures."""
    made = GeneratedRepository(tmp_path, random.Random(7))
    made.live(steps=12)
    right = agents = sure = 0
    with Memory(tmp_path / "memory.db") as memory:
        memory.sync(roots=[made.home])
        for path, truth in made.truth().items():
            for line, author in zip(memory.why(made.root / path).lines, truth, strict=True):
                if line.text.strip():
                    agents += author is not None
                    right += author is not None and line.session_uid == author
                    sure += line.certainty == "certain" and line.session_uid != author
    assert agents > 100
    assert right >= 0.95 * agents
    assert sure == 0


@sqlite_only
def test_a_shell_command_that_holds_the_file_wrote_its_lines(work: Work) -> None:
    log = work.session("first", "compute the area")
    log.answer(call("Bash", command=f"cat > area.py <<'EOF'\n{BODY}EOF"))
    log.result("")
    work.save("area.py", BODY)
    work.commit("Area")
    assert work.authors("area.py") == ["claude:first", "claude:first"]


@sqlite_only
def test_lines_of_a_file_that_is_written_again_are_likely(work: Work) -> None:
    """A person may have written some of them before, and nothing shows it."""
    log = work.session("first", "compute the area")
    work.write(log, "area.py", BODY)
    again = work.session("second", "and the volume")
    work.write(again, "area.py", f"{BODY}    # by a person, perhaps\n", noted=False)
    assert work.certainties("area.py") == ["certain", "certain", "likely"]


@sqlite_only
def test_lines_that_an_agent_found_in_a_file_are_not_its_own(work: Work) -> None:
    """The person's file is not committed, so only the log shows that it was there."""
    work.save("other.py", "x = 1\n")
    work.commit("Begin")
    work.save("area.py", BODY)
    log = work.session("s", "and the volume")
    work.write(log, "area.py", f"{BODY}def volume(width, height, depth): ...\n")
    work.commit("Both")
    assert work.authors("area.py") == [None, None, "claude:s"]
    assert work.certainties("area.py") == [None, None, "certain"]


@sqlite_only
def test_a_file_that_may_have_been_there_gives_likely_lines(work: Work) -> None:
    log = work.session("s", "compute the area")
    work.write(log, "area.py", BODY, noted=False)
    work.commit("Area")
    assert work.certainties("area.py") == ["likely", "likely"]


@sqlite_only
def test_a_result_that_says_created_makes_lines_certain(work: Work) -> None:
    log = work.session("s", "compute the area")
    log.answer(call("Write", file_path=str(work.root / "area.py"), content=BODY))
    log.result("Successfully created and wrote to new file: area.py")
    log.answer(call("Write", file_path=str(work.root / "more.py"), content=BODY))
    log.result("Successfully overwrote file: more.py, a file created before")
    for path in ("area.py", "more.py"):
        work.save(path, BODY)
    work.commit("Area")
    assert work.certainties("area.py") == ["certain", "certain"]
    assert work.certainties("more.py") == ["likely", "likely"]


@sqlite_only
def test_a_line_that_two_sessions_wrote_is_likely(work: Work) -> None:
    first = work.session("first", "compute the area")
    work.write(first, "area.py", BODY)
    work.save("area.py", "# Nothing is left of it.\n")
    second = work.session("second", "compute the area again")
    work.edit(second, "area.py", "# Nothing is left of it.\n", BODY)
    work.commit("Area")
    assert set(work.certainties("area.py")) == {"likely"}


@sqlite_only
def test_a_short_line_is_likely_unless_a_line_beside_it_is_of_the_same_edit(work: Work) -> None:
    log = work.session("s", "stop early")
    work.write(log, "stop.py", "def stop_early_if_nothing_is_left():\n    return None\n")
    work.commit("Stop")
    assert work.certainties("stop.py") == ["certain", "certain"]
    work.save("stop.py", "def somebody_else_wrote_this_function():\n    return None\n")
    work.commit("By hand")
    assert work.certainties("stop.py")[0] is None
    assert work.certainties("stop.py")[1] != "certain"


@sqlite_only
def test_edits_under_an_earlier_name_count(work: Work) -> None:
    log = work.session("s", "compute the area")
    work.write(log, "area.py", f"{BODY}    # twice\n    # twice\n")
    work.commit("Area")
    work.git("mv", "area.py", "rectangle.py")
    work.commit("Move")
    assert work.authors("rectangle.py") == ["claude:s"] * 4
    assert work.certainties("rectangle.py")[:2] == ["certain", "certain"]
