"""Training data: verified, masked, general, without doubles, split by repository, and loadable."""

import json
import stat
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from session_memory.core.errors import MissingExtra, UnsafePath
from session_memory.learn.analyze import analyze
from session_memory.learn.train import examples as giving
from session_memory.learn.train import gate
from session_memory.learn.train import sessions as from_sessions
from session_memory.learn.train.card import TrainingReport
from session_memory.learn.train.duplicates import (
    Duplicates,
    agreement,
    exact_hash,
    overlap,
    signature,
)
from session_memory.learn.train.example import KINDS, Example, ExampleFilter
from session_memory.learn.train.export import NEAR_DUPLICATE, export, preview
from session_memory.learn.train.gate import ProjectNames
from session_memory.learn.train.splits import KeptRow, split_of, splits_of
from session_memory.live.skill_log import SkillLog
from session_memory.store.store import Store
from session_memory.testing.chat_templates import rendered, supports_tools
from session_memory.testing.claude import ClaudeHome, call, usage
from session_memory.testing.collecting import collect, new_store
from session_memory.testing.secrets import planted_secrets

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

SECRET = next(p for p in planted_secrets(3) if p.kind == "openai-key")
PASSWORD = next(p for p in planted_secrets(3) if p.kind == "database-url-password")
TOPICS = (
    "parse dates with time zones in a report of daily totals",
    "retry a request that times out with growing pauses between",
    "page through results by a cursor instead of an offset",
    "validate an upload before anything is written to disk",
    "render a table with aligned columns on a narrow terminal",
    "cache the answer of a slow question until its input changes",
)


@pytest.fixture(autouse=True)
def everywhere(on_the_database: None) -> None:
    """Every test here runs twice."""


def attempt(output: str, *, verified: bool = False, number: int = 1, **more: Any) -> dict[str, Any]:
    values = {
        "attempt": number,
        "model": "fast-1",
        "output_summary": output,
        "verified": verified,
    }
    if not verified:
        values["runner_output"] = "1 failed"
    return {**values, **more}


def entry(topic: str, attempts: list[dict[str, Any]], root: str = "/home/mira/webshop") -> Any:
    return {
        "session_id": "nightly",
        "timestamp": "2026-07-01T10:00:00Z",
        "skill": "implement",
        "phase": "write",
        "project_root": root,
        "input": {"task": f"Please {topic}, and explain how it is done."},
        "attempts": attempts,
        "final_status": "pass",
    }


def good(topic: str) -> str:
    return f"To {topic} the code walks the input once and keeps what it needs for the answer."


def bad(topic: str) -> str:
    return f"Nothing was changed; perhaps {topic.split()[0]} is not needed."


def with_attempts(root: Path, entries: list[Any], session: str = "nightly") -> Path:
    log = SkillLog(root / ".session-memory" / "skills")
    for values in entries:
        log.append({**values, "session_id": session})
    return root


def gathered(
    store: Store, out: Path | None = None, wanted: ExampleFilter | None = None, **how: Any
) -> TrainingReport:
    sessions = store.sessions.every()
    wanted = wanted or ExampleFilter()
    if out is None:
        return preview(store, sessions, wanted, **how)
    return export(store, sessions, wanted, out, **how)


def rows_below(out: Path, kind: str) -> list[dict[str, Any]]:
    paths = sorted((out / kind).glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def said(messages: list[dict[str, str]]) -> str:
    (message,) = messages
    return message["content"]


def two_tries(topic: str, **more: Any) -> Any:
    tries = [attempt(bad(topic)), attempt(good(topic), verified=True, number=2)]
    return entry(topic, tries, **more)


# ------------------------------------------------------------ attempts


def test_a_verified_attempt_is_taught_and_compared_with_the_one_that_failed(tmp_path: Path) -> None:
    with_attempts(tmp_path, [two_tries(topic) for topic in TOPICS])
    with new_store() as store:
        collect(store, tmp_path)
        report = gathered(store, tmp_path / "out")
    assert {kind: sum(s.values()) for kind, s in report.rows.items()} == {"sft": 6, "dpo": 6}
    taught, compared = rows_below(tmp_path / "out", "sft"), rows_below(tmp_path / "out", "dpo")
    assert all(row.keys() == {"prompt", "completion", "tools"} for row in taught)
    assert all(row.keys() == {"prompt", "chosen", "rejected", "tools"} for row in compared)
    assert {said(row["completion"]) for row in taught} == {good(topic) for topic in TOPICS}
    assert said(taught[0]["prompt"]).startswith("Skill: implement\nPhase: write\n\n")
    assert {said(row["rejected"]) for row in compared} == {bad(topic) for topic in TOPICS}


@pytest.mark.parametrize(
    ("attempts", "reason"),
    [
        ([attempt(good(TOPICS[0]))], giving.NOT_VERIFIED),
        ([], giving.NOT_VERIFIED),
        ([attempt(good(TOPICS[0]), verified=True)], giving.NO_FAILURE),
        (
            [
                attempt("It is done like this.", runner_output=""),
                attempt(good(TOPICS[0]), verified=True),
            ],
            giving.NO_FAILURE,
        ),
        ([attempt(good(TOPICS[0])), attempt(good(TOPICS[0]), verified=True)], giving.ALIKE),
        ([attempt("no"), attempt(good(TOPICS[0]), verified=True)], gate.TOO_SHORT),
        (
            [attempt(bad(TOPICS[0])), attempt("See /srv/secretplan/src/x/y.py", verified=True)],
            gate.NAMES_A_PROJECT,
        ),
    ],
)
def test_what_cannot_be_compared_is_left_out_and_counted(
    tmp_path: Path, attempts: list[dict[str, Any]], reason: str
) -> None:
    with_attempts(tmp_path, [entry(TOPICS[0], attempts)])
    with new_store() as store:
        collect(store, tmp_path)
        report = gathered(store, wanted=ExampleFilter(kinds=("dpo",)))
    assert report.rows == {} and report.total == 0
    assert report.dropped == {"dpo": {reason: 1}}


def test_the_project_and_its_secrets_are_not_in_what_is_taught(tmp_path: Path) -> None:
    answer = (
        f"I edited /home/mira/webshop/src/pay.py of webshop for mira@webshop.example with"
        f" {SECRET.secret} and ran it against {PASSWORD.text}."
    )
    with_attempts(tmp_path, [entry(TOPICS[0], [attempt(answer, verified=True)])])
    with new_store() as store:
        collect(store, tmp_path)
        report = gathered(store, tmp_path / "out")
    (row,) = rows_below(tmp_path / "out", "sft")
    assert said(row["completion"]) == (
        "I edited src/pay.py of project for user@example.com with [redacted:openai-key] and ran"
        " it against postgres://shop:[redacted:database-url-password]@db.local:5432/shop."
    )
    assert report.secrets == {"database-url-password": 1, "openai-key": 1}
    kept = b"".join(p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file())
    for name in (SECRET.secret, PASSWORD.secret, "webshop", "mira"):
        assert name.encode() not in kept


def test_near_duplicates_are_left_out_whatever_repository_they_are_of(tmp_path: Path) -> None:
    topics = [f"{', and '.join(TOPICS)} on day {day}" for day in range(8)]
    values = [
        entry(topic, [attempt(good(topic), verified=True)], root=f"/home/mira/repo{number}x")
        for number, topic in enumerate(topics)
    ]
    with_attempts(tmp_path, values)
    with new_store() as store:
        collect(store, tmp_path)
        report = gathered(store, wanted=ExampleFilter(kinds=("sft",)))
    assert report.total == 1
    assert report.dropped == {"sft": {NEAR_DUPLICATE: 7}}


# ------------------------------------------------------------ sessions


def fixed(home: ClaudeHome, session: str, topic: str, *, passes: bool = True) -> None:
    log = home.session(session)
    log.prompt(f"Please {topic}. The log says {SECRET.text}.")
    log.answer("I look at it.", call("Read", file_path=f"{home.cwd}/src/a.py"), used=usage(9))
    log.result(f"def work(): ...  # {topic}")
    log.answer("Now I run the tests.", call("Bash", command="pytest -q"), used=usage(9))
    values = "5 passed in 0.1s" if passes else "1 failed, 4 passed"
    log.result(values, is_error=not passes)
    log.answer(f"Done: it can now {topic}, and all tests pass.", used=usage(9))
    log.turn_ended()


def test_a_session_whose_tests_passed_is_a_conversation_to_learn_from(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path, cwd="/home/mira/code/webshop")
    fixed(home, "alpha", TOPICS[0])
    fixed(home, "beta", TOPICS[1], passes=False)
    home.write()
    with new_store() as store:
        collect(store, tmp_path)
        before = gathered(store, wanted=ExampleFilter(kinds=("chat",)))
        assert before.dropped == {"chat": {from_sessions.NOT_ANALYZED: 2}}
        analyze(store)
        report = gathered(store, tmp_path / "out")
    assert report.dropped["chat"] == {from_sessions.NO_SUCCESS: 1}
    (row,) = rows_below(tmp_path / "out", "chat")
    roles = [message["role"] for message in row["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    first, second = row["messages"][:2]
    assert "[redacted:openai-key]" in first["content"]
    (called,) = second["tool_calls"]
    assert called["function"] == {"name": "Read", "arguments": {"file_path": "src/a.py"}}
    result = row["messages"][2]
    assert (result["name"], result["tool_call_id"]) == ("Read", called["id"])
    assert [tool["function"]["name"] for tool in row["tools"]] == ["Bash", "Read"]
    (turn,) = rows_below(tmp_path / "out", "sft")
    assert turn["prompt"] + turn["completion"] == row["messages"]
    assert "mira" not in json.dumps(row) and "webshop" not in json.dumps(row)


def test_without_tools_a_conversation_is_its_words(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path, cwd="/home/mira/code/webshop")
    fixed(home, "alpha", TOPICS[0])
    home.write()
    with new_store() as store:
        collect(store, tmp_path)
        analyze(store)
        gathered(store, tmp_path / "out", ExampleFilter(tools=False))
    (row,) = rows_below(tmp_path / "out", "chat")
    assert [message.keys() for message in row["messages"]] == [{"role", "content"}] * 2
    assert row["messages"][1]["content"].startswith("I look at it.\n\nNow I run the tests.")


@pytest.fixture
def talked(tmp_path: Path) -> Path:
    """Rows of a session with all that is hard: calls at once, one without a result, a prompt
    before the answer, a turn without an answer, a call that failed and was changed."""
    home = ClaudeHome(tmp_path, cwd="/home/mira/code/webshop")
    log = home.session("hard")
    log.prompt("Please look at both files of the parser.")
    one = call("Read", "first", file_path=f"{home.cwd}/src/a.py")
    other = call("Read", "second", file_path=f"{home.cwd}/src/b.py", limit=7)
    log.answer("I read both at once.", one, other, used=usage(9))
    log.result("first file with contents", call_id=one["id"])
    log.result("second file with contents", call_id=other["id"])
    log.answer("Both were read, they are fine.", used=usage(9))
    log.prompt("Please run all the tests of the parser now.")
    log.run("make docs --fast", "make: unrecognized option '--fast'", exit_code=2)
    log.run("make docs", "written")
    log.run("pytest tests/parser", "5 passed in 0.1s")
    log.answer("All five tests pass now.", used=usage(9))
    log.turn_ended()
    home.write()
    with new_store() as store:
        collect(store, tmp_path)
        analyze(store)
        gathered(store, tmp_path / "out")
    return tmp_path / "out"


@pytest.mark.parametrize("name", ["one_call", "strict_order", "tagged_objects", "typed_tools"])
def test_chat_templates_of_every_manner_render_the_rows(talked: Path, name: str) -> None:
    text = (Path(__file__).parent / "templates" / f"{name}.jinja").read_text()
    assert rendered(talked, {name: text}) == {name: None}


def test_a_template_that_drops_calls_or_takes_only_text_does_not_support_tools() -> None:
    for path in (Path(__file__).parent / "templates").glob("*.jinja"):
        assert supports_tools(path.read_text())
    messages = "{% for one in messages %}{{ one.content }}"
    calls = "{% for call in one.tool_calls %}{{ call.function.name + call.function.arguments }}"
    assert not supports_tools(f"{messages}{{% endfor %}}")
    assert not supports_tools(f"{messages}{calls}{{% endfor %}}{{% endfor %}}")
    assert supports_tools(
        f"{messages}{calls.replace('arguments', 'arguments | tojson')}{{% endfor %}}{{% endfor %}}"
    )


def test_a_template_that_gets_wrong_rows_is_noticed(talked: Path) -> None:
    text = (Path(__file__).parent / "templates" / "one_call.jinja").read_text()
    for path in talked.glob("*/*.jsonl"):
        path.write_text(path.read_text().replace('"arguments": {', '"arguments": "{}", "other": {'))
    (reason,) = rendered(talked, {"one_call": text}).values()
    assert reason is not None and "must be an object" in reason


def test_a_call_that_failed_is_compared_with_the_changed_one(talked: Path) -> None:
    (row,) = rows_below(talked, "dpo")
    assert [one["role"] for one in row["prompt"]] == ["user"]
    (chosen,), (rejected,) = row["chosen"], row["rejected"]
    commands = [
        one["tool_calls"][0]["function"]["arguments"]["command"] for one in (chosen, rejected)
    ]
    assert commands == ["make docs", "make docs --fast"]


def test_messages_have_one_call_each_and_an_argument_of_every_call_is_required(
    talked: Path,
) -> None:
    (row,) = rows_below(talked, "chat")
    calls = [one["tool_calls"] for one in row["messages"] if "tool_calls" in one]
    assert [len(one) for one in calls] == [1] * 5
    reading = next(t["function"] for t in row["tools"] if t["function"]["name"] == "Read")
    assert reading["parameters"]["required"] == ["file_path"]
    assert reading["parameters"]["properties"]["limit"]["type"] == "integer"


# ------------------------------------------------------------ the files


@BOTH
def test_no_repository_is_in_two_splits_and_the_same_store_gives_the_same_bytes(
    tmp_path: Path,
) -> None:
    values = []
    for number in range(40):
        topic = f"{TOPICS[number % 6]}, variant {number}: {'abcdefghij'[number % 10] * 30} {number}"
        values.append(two_tries(topic, root=f"/home/mira/repository{number % 20}"))
    with_attempts(tmp_path, values)
    with new_store() as store:
        collect(store, tmp_path)
        report = gathered(store, tmp_path / "one", shares=(60, 20, 20))
        gathered(store, tmp_path / "two", shares=(60, 20, 20))
    files = [path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.*")]
    assert [(tmp_path / "one" / f).read_bytes() for f in files] == [
        (tmp_path / "two" / f).read_bytes() for f in files
    ]
    assert report.rows["dpo"].keys() == {"train", "validation", "test"}
    lines = (tmp_path / "one" / "provenance.jsonl").read_text().splitlines()
    assert len(lines) == report.total
    expected = {f"repository{n}": split_of(f"repository{n}", (60, 20, 20)) for n in range(20)}
    assert len(set(expected.values())) == 3
    with new_store() as store:
        collect(store, tmp_path)
        for session in store.sessions.every():
            for example in giving.examples(store, session, ExampleFilter()):
                if isinstance(example, Example):
                    assert split_of(example.origin, (60, 20, 20)) == expected[example.origin]


def test_files_are_private_and_nothing_is_overwritten(tmp_path: Path) -> None:
    with_attempts(tmp_path, [two_tries(topic) for topic in TOPICS])
    out = tmp_path / "out"
    with new_store() as store:
        collect(store, tmp_path)
        report = gathered(store, out)
        assert stat.S_IMODE(out.stat().st_mode) == 0o700
        for name in report.files:
            assert stat.S_IMODE((out / name).stat().st_mode) == 0o600
        before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
        with pytest.raises(UnsafePath, match="not empty"):
            gathered(store, out)
        assert before == {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
        (tmp_path / "link").symlink_to(out)
        with pytest.raises(UnsafePath):
            gathered(store, tmp_path / "link")
    assert not list(tmp_path.glob(".out*"))


def test_an_export_that_fails_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_attempts(tmp_path, [two_tries(topic) for topic in TOPICS])
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with new_store() as store:
        collect(store, tmp_path)
        with pytest.raises(MissingExtra):
            gathered(store, tmp_path / "out", parquet=True)
    assert not list(tmp_path.glob("*out*"))


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("parquet", [False, True], ids=["jsonl", "parquet"])
def test_the_datasets_library_loads_every_kind(
    tmp_path: Path, parquet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    home = ClaudeHome(tmp_path, cwd="/home/mira/code/webshop")
    for number, topic in enumerate(TOPICS):
        fixed(home, f"s{number}", topic)
    home.write()
    with_attempts(tmp_path, [two_tries(topic) for topic in TOPICS])
    with new_store() as store:
        collect(store, tmp_path)
        analyze(store)
        report = gathered(store, tmp_path / "out", parquet=parquet)
    out, cache = str(tmp_path / "out"), str(tmp_path / "cache")
    assert set(report.rows) == set(KINDS)
    columns = {
        "sft": ["prompt", "completion", "tools"],
        "chat": ["messages", "tools"],
        "dpo": ["prompt", "chosen", "rejected", "tools"],
    }
    for kind, splits in report.rows.items():
        loaded = datasets.load_dataset(out, kind, cache_dir=cache)
        assert {split: loaded[split].num_rows for split in loaded} == splits
        for split in splits:
            assert loaded[split].column_names == columns[kind]
    split = next(iter(report.rows["chat"]))
    message = datasets.load_dataset(out, "chat", cache_dir=cache)[split][0]["messages"][1]
    assert message["role"] == "assistant"
    (called,) = message["tool_calls"]
    assert called["function"] == {"name": "Read", "arguments": {"file_path": "src/a.py"}}


def test_the_card_says_what_is_in_it_and_what_is_not(tmp_path: Path) -> None:
    unproved = entry(TOPICS[0], [attempt(good(TOPICS[0]))])
    with_attempts(tmp_path, [two_tries(TOPICS[1]), unproved])
    with new_store() as store:
        collect(store, tmp_path)
        gathered(store, tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()
    front = card.split("---")[1]
    assert "config_name: sft" in front and "config_name: dpo" in front
    assert f"- sft: 1 {giving.NOT_VERIFIED}" in card
    assert "Split by session, because there is only one repository" in card


# ------------------------------------------------------------ the parts


def test_texts_that_are_nearly_the_same_agree_in_most_of_their_signature() -> None:
    words = [f"word{number}" for number in range(200)]
    one, other = " ".join(words), " ".join([*words[:-4], "something", "else", "at", "the"])
    third = " ".join(reversed(words))
    assert agreement(signature(one), signature(other)) > 0.8
    assert agreement(signature(one), signature(third)) < 0.2
    assert overlap(one, one) == 1 and overlap(one, third) == 0
    seen = Duplicates()
    texts = (one, other, third, one, "", "")
    found = [seen.is_new(exact_hash(text), partial(signature, text)) for text in texts]
    assert found == [True, False, True, False, True, False]


@pytest.mark.parametrize(
    ("text", "general"),
    [
        ("see /home/mira/code/webshop/src/a.py", "see src/a.py"),
        ("cd /home/mira/code/webshop && ls", "cd . && ls"),
        ("in /Users/mira/.zshrc", "in ~/.zshrc"),
        ("WEBSHOP and webshop-api", "WEBSHOP and project-api"),
        ("clone git@host.example:a/b and ask a.b@c.example", "clone git@host.example:a/b and ask"),
        ("one\nask a.b@c.example\ntwo", "one\nask user@example.com\ntwo"),
        ("GitHub.COM/Acme/shop", "GitHub.COM/organization/shop"),
        ("g\u0131thub.com/acme/shop", "g\u0131thub.com/organization/shop"),
        ("in C:\\Users\\mira\\x and /root/y", "in ~\\x and ~"),
    ],
)
def test_places_and_names_are_made_general(text: str, general: str) -> None:
    names = ProjectNames("/home/mira/code/webshop", "webshop", "laptop7")
    assert gate.general(text, names).startswith(general)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("src/pay.py and /usr/lib/python3/x.py", False),
        ("GET /api/v1/users/7", False),
        ("on laptop7", True),
        ("WebShop is down", True),
        ("/srv/plans/secret/x.txt", True),
        ("(/srv/plans/secret)", True),
        ("*/srv/plans/secret", False),
        ("~/code/other", True),
        ("~/.ssh/config", False),
        ("https://example.com/a/b/c", False),
        ("1/2/3 and a/b/c", False),
    ],
)
def test_what_still_names_a_project_is_refused(text: str, named: bool) -> None:
    names = ProjectNames("/home/mira/code/webshop", "webshop", "laptop7")
    assert gate.names_a_project(text, names) is named


def test_one_of_few_repositories_is_for_validation_and_one_alone_is_split_by_session() -> None:
    shares = (90, 5, 5)
    names = [name for n in range(40) if split_of(name := f"repo{n}", shares) == "train"][:3]
    rows = [KeptRow("chat", name, f"s{n}") for n, name in enumerate([*names, *names[1:]])]
    found = splits_of(rows, shares)
    assert [row.origin for row, split in found.items() if split == "validation"] == names[:1]
    alone = splits_of([KeptRow("chat", "repo", f"s{n}") for n in range(9)], shares)
    assert set(alone.values()) >= {"train", "validation"}
    assert list(splits_of([KeptRow("sft", "repo", "s1")], (1, 0, 0)).values()) == ["train"]


def test_authors_and_owners_are_renamed() -> None:
    texts = [
        "Author: Ada Example <ada@host.example>\nby Ada Example",
        "Co-Authored-By: Claude Fable <noreply@host.example>",
        "SIGNED-OFF-BY: Bo Example <bo@host.example>",
    ]
    people = gate.people_in(texts)
    assert people == ("Ada Example", "Bo Example")
    names = ProjectNames(people=people)
    shown = gate.general("Ada Example pushed github.com/acme/shop", names)
    assert shown == "Somebody pushed github.com/organization/shop"


def test_scores_are_between_one_and_five() -> None:
    assert gate.attempt_score("p" * 50, "a" * 50, 1) == 5
    assert gate.attempt_score("p", "a…", 3) == 2
    assert gate.pair_score(0.1, same_model=True) == 5
    clean = {"errors": 0, "retries": 0, "interventions": 0, "undone": 0, "calls": 9}
    assert gate.session_score("tests", **clean) == 5
    assert gate.session_score("commit", **{**clean, "errors": 9, "undone": 1}) == 1
