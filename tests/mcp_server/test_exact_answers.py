"""Questions with one right answer: who made a commit, what was decided, who had a file last."""

from pathlib import Path

import pytest

from session_memory.learn.analyze import analyze
from session_memory.mcp.asking import AskedMemory
from session_memory.store import open_store
from session_memory.testing.claude import ClaudeHome, call
from session_memory.testing.collecting import collect
from session_memory.views.choices import choices_in

pytestmark = pytest.mark.only("sqlite")
REPO = "/home/mira/code/webshop"


def asked(home: ClaudeHome, place: Path) -> AskedMemory:
    with open_store(place / "memory.db", durability="normal") as store:
        collect(store, home.write())
        analyze(store)
    (place / "webshop" / ".git").mkdir(parents=True)
    return AskedMemory(str(place / "memory.db"), None, place / "webshop")


def first_ref(text: str) -> str:
    return text.partition("[")[2].partition("]")[0].partition("#")[0]


def test_the_session_that_made_a_commit_comes_before_those_that_mention_it(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home", cwd=REPO)
    maker = home.session("maker")
    maker.prompt("commit it")
    maker.run("git commit -m 'Round the taxes'", "[main 1a2b3c4] Round the taxes\n 1 file changed")
    maker.answer("Committed.")
    for number in range(4):
        log = home.session(f"reader-{number}")
        log.prompt("what was 1a2b3c4 about?")
        log.run("git log --oneline", "1a2b3c4 Round the taxes")
        log.answer("1a2b3c4 rounds the taxes.")
    memory = asked(home, tmp_path)
    answer = memory.answer("recall", {"query": "1a2b3c4"})
    assert first_ref(answer) == "maker"
    assert "made this commit | 1a2b3c4 Round the taxes" in answer
    # Sessions that only mention a commit are found, but did not make it.
    assert "made this commit" not in memory.answer("recall", {"query": "1a2b3c4d5e6f7"})


def test_the_answer_of_the_person_is_shown_with_the_question(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home", cwd=REPO)
    log = home.session("decided")
    log.prompt("add an export of invoices")
    log.answer(call("AskUserQuestion", questions=[{"question": "Which file format?"}]))
    log.result(
        'User has answered your questions: "Which file format should the invoice export have?"='
        '"Parquet", "Where should it be kept?"="In the bucket". You can now continue.'
    )
    log.answer("The export writes Parquet.")
    memory = asked(home, tmp_path)
    answer = memory.answer("recall", {"query": "where is the invoice export kept, which format?"})
    assert "decided | Which file format should the invoice export have? → Parquet" in answer
    shown = memory.answer("show", {"ref": "decided"})
    assert "→ Parquet" in shown and "Where should it be kept? → In the bucket" in shown


def test_the_newest_session_with_a_file_is_found_among_many(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home", cwd=REPO)
    for number in range(34):
        log = home.session(f"s{number:02}")
        log.prompt("look at the template template template")
        name = "template.md" if number in (3, 33) else f"template_{number}.md"
        log.answer(call("Read", file_path=f"{REPO}/.github/{name}"))
        log.result("text")
        log.answer("Read.")
    memory = asked(home, tmp_path)
    for path in (".github/template.md", "./.github/template.md", "template.md"):
        answer = memory.answer("sessions", {"file": path})
        assert answer.partition("\n")[2].startswith("2 sessions of webshop"), path
        assert first_ref(answer) == "s33"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('answered: "Which one?"="A", "Why?"="Speed"', ["Which one? → A", "Why? → Speed"]),
        ("Which one? → A", ["Which one? → A"]),
        ('{"answers":{"file_format":{"answers":["Parquet"]}}}', ["file format → Parquet"]),
        ("mode plan", ["mode plan"]),
    ],
)
def test_answers_are_read_as_each_agent_logs_them(text: str, expected: list[str]) -> None:
    assert [str(one) for one in choices_in(text)] == expected


def test_an_arrow_in_a_plan_is_no_answer() -> None:
    (only,) = choices_in("accepted the plan: parse → sort → print")
    assert not only.asked
