"""A memory and the command line give the same answers: ``to_dict()`` is what ``--json`` prints."""

import json
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from forking import start_command

from session_memory import Memory
from session_memory.core.time import now_ms
from session_memory.demo import demo_home
from session_memory.render.json_text import to_json
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.secrets import planted_secrets

from .conftest import AskCli

ERROR = "AssertionError: expected 2 got 3"


def printed(value: Any) -> Any:
    """A value as a program reads it from ``--json``: tuples are lists."""
    return json.loads(to_json(value.to_dict()))


@pytest.fixture(autouse=True)
def one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores depend on the age of what was found: both sides ask at the same moment."""
    moment = now_ms()
    for module in ("session_memory.core.time", "session_memory.memory.finding"):
        monkeypatch.setattr(f"{module}.now_ms", lambda: moment)


@pytest.fixture
def memory(place: Path) -> Iterator[Memory]:
    with Memory() as opened:
        yield opened


@pytest.fixture
def uid(memory: Memory) -> str:
    """A session with subagents, so that every answer has something in it."""
    return next(one.uid for one in memory.sessions() if one.children and one.cost.tokens.turns > 1)


QUESTIONS: dict[str, Callable[[Memory], Any]] = {
    "sessions": lambda memory: memory.sessions(limit=20),
    "sessions --limit 0 --sort cost": lambda memory: memory.sessions(sort="cost"),
    "sessions --roots --flavor claude --since 2026-01 --until 2026-12": lambda memory: (
        memory.sessions(roots=True, flavor="claude", since="2026-01", until="2026-12")
    ),
    "sessions --model claude --title add --outcome success": lambda memory: memory.sessions(
        model="claude", title="add", outcome="success", limit=20
    ),
    "search test": lambda memory: memory.search("test"),
    "search --by session test --limit 10": lambda memory: memory.search_sessions("test"),
    "search --kind error --limit 0": lambda memory: memory.search(kind="error", limit=0),
    "search test --flavor claude --class message": lambda memory: memory.search(
        "test", flavor="claude", where="message"
    ),
    "similar --text harbour": lambda memory: memory.similar(text="harbour"),
    f"fix {ERROR}": lambda memory: memory.fix(ERROR),
    "how fix the tests": lambda memory: memory.how("fix the tests"),
    "cost": lambda memory: memory.cost(),
    "cost --by session": lambda memory: memory.cost("session"),
    "cost --by model --since 2026-01": lambda memory: memory.cost("model", since="2026-01"),
    "stats": lambda memory: memory.stats(),
    "stats tools files --limit 0": lambda memory: memory.stats("tools", "files", limit=0),
    "files": lambda memory: memory.files(limit=30),
    "commands --state failed": lambda memory: memory.commands(state="failed", limit=30),
    "patterns": lambda memory: memory.patterns(limit=20),
    "retro --since 2025-01-01 --until 2026-12-31": lambda memory: memory.retro(
        since="2025-01-01", until="2026-12-31"
    ),
    "problems": lambda memory: memory.problems(limit=20),
    "sources": lambda memory: memory.sources(limit=50),
    "lessons list": lambda memory: memory.lessons(),
    "skills": lambda memory: memory.skills(),
    "verify": lambda memory: memory.verify(),
}


@pytest.mark.parametrize("command", QUESTIONS)
def test_a_question_has_one_answer(memory: Memory, cli: AskCli, command: str) -> None:
    assert printed(QUESTIONS[command](memory)) == cli(*command.split())


def test_most_of_these_answers_are_not_empty(memory: Memory) -> None:
    assert memory.sessions().count() > 5
    assert memory.search("test").hits and memory.similar(text="harbour").found
    assert memory.how("fix the tests").sessions and memory.patterns().patterns
    assert memory.commands(state="failed").commands and memory.files().files
    assert memory.cost().totals.microdollars and memory.verify().ok


def test_one_session_is_the_same(memory: Memory, uid: str, cli: AskCli) -> None:
    session = memory.session(uid)
    assert printed(session) == cli("show", uid)
    full = session.view(full=True, inherited=True, kinds=("user_msg", "error"))
    kinds = ("--kind", "user_msg", "--kind", "error")
    assert printed(full) == cli("show", uid, "--full", "--inherited", *kinds)
    assert printed(session.digest()) == cli("digest", uid)
    assert printed(session.timeline()) == cli("timeline", uid)
    assert printed(session.diff()) == cli("diff", uid)
    assert printed(session.family()) == cli("tree", uid)
    assert printed(memory.retro(uid)) == cli("retro", uid)
    assert printed(memory.similar(uid)) == printed(session.similar()) == cli("similar", uid)
    assert printed(memory.files(uid, limit=30)) == cli("files", uid)
    assert printed(memory.commands(uid, limit=30)) == cli("commands", uid)
    assert printed(memory.cost("session", session=uid)) == cli(
        "cost", "--by", "session", "--session", uid
    )


def test_operations_report_the_same(memory: Memory, uid: str, cli: AskCli, tmp_path: Path) -> None:
    def named(value: dict[str, Any], path: str) -> dict[str, Any]:
        return {**value, "path": path}

    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    assert named(memory.backup(f"{one}.db").to_dict(), "") == named(cli("backup", f"{two}.db"), "")
    exported = memory.export(f"{one}.smx")
    assert named(exported.to_dict(), "") == named(cli("export", f"{two}.smx"), "")
    for kind in ("markdown", "html", "jsonl"):
        written = memory.export(f"{one}.{kind}", uid, format=kind)
        said = cli("export", uid, "--format", kind, "-o", f"{two}.{kind}")
        assert named(written.to_dict(), "") == named(said, "")
        assert Path(f"{one}.{kind}").read_bytes() == Path(f"{two}.{kind}").read_bytes()


def test_a_sync_reports_the_same(home: Path, cli: AskCli) -> None:
    with Memory(home / "one.db") as memory:
        result = memory.sync([demo_home()]).to_dict()
        analysis = memory.analyze().to_dict()
    other = ("--store", str(home / "two.db"))
    reported = cli("sync", "--root", str(demo_home()), *other)
    assert {**result, "seconds": 0} == {**reported, "seconds": 0}
    assert analysis == cli("analyze", *other)


def test_what_was_learned_has_no_secrets_and_is_the_same(
    home: Path, claude: ClaudeHome, cli: AskCli
) -> None:
    secret = next(one for one in planted_secrets() if one.kind == "github-token").secret
    for name in ("alpha", "beta", "gamma"):
        log = claude.session(name)
        log.prompt(f"push it with {secret}")
        log.run("git push", f"remote: bad credentials {secret}", exit_code=1)
        log.run("git push", f"remote: bad credentials {secret}", exit_code=1)
        log.edit("/home/me/shop/push.sh")
        log.run("git push", "ok")
    claude.write()
    with Memory() as memory:
        memory.sync([claude.path])
        memory.analyze()
        uid = next(iter(memory.sessions())).uid
        answers = {
            ("digest", uid): memory.session(uid).digest(),
            ("fix", "remote: bad credentials"): memory.fix("remote: bad credentials"),
            ("how", "push it"): memory.how("push it"),
            ("patterns",): memory.patterns(limit=20),
        }
        for words, answer in answers.items():
            assert printed(answer) == cli(*words)
            assert secret not in to_json(answer.to_dict()) and secret not in repr(answer)
            assert "redacted" in to_json(answer.to_dict()).lower(), words


def until_all_is_read(events: Iterable[dict[str, Any]], stop: Callable[[], None]) -> list[Any]:
    """Events without clocks and places; the watch is stopped after the first problem."""
    seen = []
    for event in events:
        seen.append({name: event[name] for name in event if name not in ("at", "seconds", "store")})
        if event["event"] == "problem":
            stop()
    return seen


def test_a_watch_prints_what_following_gives(home: Path) -> None:
    with Memory(home / "one.db") as memory, memory.follow([demo_home()]) as follow:
        followed = until_all_is_read((event.to_dict() for event in follow), follow.stop)
    words = ("watch", "--json", "--root", str(demo_home()), "--store", str(home / "two.db"))
    with start_command(*words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        printed_events = until_all_is_read(map(json.loads, process.stdout), process.terminate)
    assert process.returncode == 0
    assert printed_events == json.loads(to_json(followed))
    assert {event["event"] for event in followed} >= {"started", "synced", "session", "stopped"}
