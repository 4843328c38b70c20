"""Local model servers number their responses, so unrelated sessions have the same response ids:
each of these responses counts, and copies of one response still count once."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from clusters import derived_clusters

from session_memory.config import Config, RetentionConfig
from session_memory.core.time import now_ms
from session_memory.derive.response_ids import SHARED_ID
from session_memory.retain.forget import forget
from session_memory.retain.restore import restore
from session_memory.retain.retention_run import retain
from session_memory.store import Store
from session_memory.store.copying import copy_everything
from session_memory.store.store import copy_target, open_store
from session_memory.store.usage import UsageTable
from session_memory.testing.claude import ClaudeHome, usage
from session_memory.testing.claude_log import ClaudeLog
from session_memory.testing.codex import CodexHome
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    collected,
    contents,
    every_usage,
    new_store,
    rebuilt,
)
from session_memory.testing.grok import GrokHome, used
from session_memory.testing.killing import run_and_kill
from session_memory.testing.stores import Stores

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.

LATER = 4_000_000_000_000
TURN = "6f0f3f5e-0000-4000-8000-000000000000"
Files = dict[Path, bytes]


# ---------------------------------------------------------------- sessions with the same ids


def of_claude(home: Path, count: int) -> list[Files]:
    claude = ClaudeHome(home)
    for number in range(count):
        talk(claude.session(f"s{number:02}"), "chatcmpl-1", "chatcmpl-2")
    return [{log.place: log.data} for log in claude.logs]


def of_codex(home: Path, count: int) -> list[Files]:
    codex = CodexHome(home)
    for number in range(count):
        log = codex.session(f"s{number:02}")
        log.turn(f"prompt {number}")
        for response in ("chatcmpl-1", "chatcmpl-2"):
            log.answer(f"answer {number}")
            log.used(response, input=100, output=10)
        log.complete()
    return [{log.place: log.data} for log in codex.logs]


def of_grok(home: Path, count: int) -> list[Files]:
    """Grok's turns have UUIDs. Only a forged log repeats one."""
    grok = GrokHome(home)
    for number in range(count):
        log = grok.session(f"s{number:02}")
        log.prompt(f"prompt {number}")
        log.say(f"answer {number}")
        log.turn_ended(used(100, 10), prompt_id=TURN)
    return [log.contents() for log in grok.logs]


def of_mycode(home: Path, count: int) -> list[Files]:
    found = []
    for number in range(count):
        place = Path(".mycode/sessions", f"{number:032x}")
        at = f"2026-11-15T10:{number:02}:00.000000+00:00"
        about = {"id": place.name, "cwd": "/work", "message_format_version": 5, "created_at": at}
        lines = [message("user", f"prompt {number}", at)]
        for response in ("chatcmpl-1", "chatcmpl-2"):
            tokens = {"prompt_tokens": 100, "completion_tokens": 10}
            meta = {"model": "local", "provider_message_id": response, "usage": tokens}
            lines.append(message("assistant", f"answer {number}", at, **meta))
        body = "".join(lines).encode()
        found.append({place / "messages.jsonl": body, place / "meta.json": json_of(about).encode()})
    return found


def message(role: str, words: str, at: str, **meta: object) -> str:
    content = [{"type": "text", "text": words}]
    line = {"role": role, "content": content, "meta": {**meta, "created_at": at}}
    return json_of(line) + "\n"


def json_of(value: object) -> str:
    return json.dumps(value)


def talk(log: ClaudeLog, *ids: str, output: int = 10) -> ClaudeLog:
    log.prompt(f"prompt of {log.session}")
    for id in ids:
        log.answer(f"answer of {log.session}", id=id, used=usage(output, input=100))
    return log


AGENTS = {"claude": of_claude, "codex": of_codex, "grok": of_grok, "mycode": of_mycode}


def write(home: Path, files: Files) -> None:
    for place, body in files.items():
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        (home / place).write_bytes(body)


def responses(store: Store) -> Counter[str]:
    """How many responses of each id count."""
    check_sound(store)
    return Counter(one.usage_id for one in every_usage(store))


def noted(store: Store) -> list[str]:
    """The sessions with the problem, from its words."""
    found = [one for one in store.problems.every() if one.reason == SHARED_ID]
    return sorted(one.detail.partition(": ")[0] for one in found)


# ---------------------------------------------------------------- unrelated sessions


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("many", [False, True])
def test_unrelated_sessions_with_the_same_response_ids_are_all_counted(
    tmp_path: Path, agent: str, many: bool, database: str
) -> None:
    home, count = tmp_path / "home", 20 if many else 2
    if many and database == "postgresql" and agent != "claude":
        count = 4
    sessions: list[Files] = AGENTS[agent](home, count)
    for files in sessions:
        write(home, files)
    with collected(home) as store, derived_clusters() as derived:
        expected = contents(store)
        assert set(responses(store).values()) == {count}
        assert noted(store) == store.sessions.uids()
        assert not any(row.has_shared for row in map(store.sessions.row, store.sessions.uids()))  # type: ignore[union-attr]
        check_same(expected, contents(rebuilt(store)))
        assert set(derived) == {1}, "unrelated sessions are not derived together"
    for files in sessions:
        for place in files:
            (home / place).unlink()
    with new_store() as store:
        random.Random(count).shuffle(sessions)
        for number, files in enumerate(sessions):
            write(home, files)
            # Some come alone, some together.
            if number < 2 or number == 9:
                collect(store, home)
        collect(store, home)
        check_same(expected, contents(store))


@pytest.mark.usefixtures("_any_rows")
def test_the_problem_is_at_the_first_such_response_and_goes_with_its_cause(
    claude: ClaudeHome,
) -> None:
    talk(claude.session("anna"), "msg_own", "chatcmpl-1")
    bert = talk(claude.session("bert"), "chatcmpl-1")
    cleo = talk(claude.session("cleo"), "chatcmpl-1", "chatcmpl-9")
    with collected(claude.write([claude.logs[0]])) as store:
        alone = contents(store)
        collect(store, claude.write([bert]))
        two = contents(store)
        collect(store, claude.write([cleo]))
        assert noted(store) == ["claude:anna", "claude:bert", "claude:cleo"]
        problem = next(one for one in store.problems.every() if "anna" in one.detail)
        words = "claude:anna: chatcmpl-1 is the id of another response too, and both count"
        assert (problem.reason, problem.detail) == (SHARED_ID, words)
        lines = claude.logs[0].lines
        assert problem.place == sum(map(len, lines[:2]))
        forget(store, Config(), [cleo.uid], now_ms())
        assert without_tombstones(contents(store)) == without_tombstones(two)
        forget(store, Config(), [bert.uid], now_ms())
        assert responses(store) == {"msg_own": 1, "chatcmpl-1": 1}
        assert noted(store) == []
        assert without_tombstones(contents(store)) == without_tombstones(alone)
        check_same(contents(store), contents(rebuilt(store)))


def without_tombstones(lines: list[str]) -> list[str]:
    return [line for line in lines if "tombstone" not in line]


@pytest.fixture(params=["few rows", "many rows"])
def _any_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are looked up by their keys, and as if thousands of sessions had them."""
    if request.param == "many rows":
        monkeypatch.setattr(UsageTable, "stored_if_few", lambda *_, **__: None)


@pytest.mark.usefixtures("_any_rows")
def test_a_session_that_grows_keeps_its_own_responses(
    claude: ClaudeHome,
) -> None:
    logs = [claude.session(name) for name in ("anna", "bert", "cleo")]
    with new_store() as store:
        for number in range(2):
            for log in logs:
                # The second line of a response has its whole output.
                log.prompt(f"{log.session} {number}")
                log.answer("begin", id=f"chatcmpl-{number}", used=usage(1, input=100))
                collect(store, claude.write())
                log.answer("end", id=f"chatcmpl-{number}", used=usage(10, input=100))
                collect(store, claude.write())
        assert {(one.output_tokens, one.input_tokens) for one in every_usage(store)} == {(10, 100)}
        assert responses(store) == {"chatcmpl-0": 3, "chatcmpl-1": 3}
        with collected(claude.path) as at_once:
            check_same(contents(at_once), contents(store))


def test_the_same_figures_at_another_time_are_another_response(claude: ClaudeHome) -> None:
    one, other, copy = (claude.session(name) for name in ("one", "other", "copy"))
    for log in (one, other):
        talk(log, "chatcmpl-1")
    # A copy with new uuids has the time of the response.
    when = json.loads(one.lines[1])["timestamp"]
    copy.prompt("hello")
    copy.answer("answer", id="chatcmpl-1", used=usage(10, input=100), timestamp=when)
    with collected(claude.write()) as store:
        assert responses(store) == {"chatcmpl-1": 2}
        expected = contents(store)
        for number in range(3):
            logs = claude.logs[number:] + claude.logs[:number]
            for log in logs:
                (claude.path / log.place).unlink()
            with new_store() as stepwise:
                for log in logs:
                    collect(stepwise, claude.write([log]))
                check_same(expected, contents(stepwise))


def test_a_session_without_an_event_has_the_problem_from_its_first_event_on(
    claude: ClaudeHome,
) -> None:
    logs = [claude.session(name) for name in ("anna", "bert")]
    with new_store() as store:
        for log, count in zip(logs, (5, 6), strict=True):
            report = {"id": "chatcmpl-1", "model": "local", "usage": usage(1, input=count)}
            log.progress(agent="a1", message=report)
            collect(store, claude.write())
        assert responses(store) == {"chatcmpl-1": 2}
        assert noted(store) == []
        for log in logs:
            log.prompt("hello")
            collect(store, claude.write())
        assert noted(store) == ["claude:anna", "claude:bert"]
        with collected(claude.path) as at_once:
            check_same(contents(at_once), contents(store))


# ---------------------------------------------------------------- copies


@pytest.mark.usefixtures("_any_rows")
def test_forks_and_subagents_with_numbered_responses_count_them_once(claude: ClaudeHome) -> None:
    one = talk(claude.session("one"), "chatcmpl-1", "chatcmpl-2")
    fork = claude.fork(one, "fork")
    other = talk(claude.session("other"), "chatcmpl-1", "chatcmpl-3")
    talk(fork, "chatcmpl-3")
    agent = claude.subagent(one, "a1")
    # Its log begins with a response of its parent.
    agent.answer("answer of one", id="chatcmpl-2", used=usage(10, input=100))
    agent.answer("found", id="chatcmpl-1", used=usage(7, input=50))
    with collected(claude.write()) as store:
        counted = sorted((one.usage_id, one.session_uid) for one in every_usage(store))
        assert counted == [
            ("chatcmpl-1", "claude:one"),
            ("chatcmpl-1", "claude:one:a1"),
            ("chatcmpl-1", "claude:other"),
            ("chatcmpl-2", "claude:one"),
            ("chatcmpl-3", "claude:fork"),
            ("chatcmpl-3", "claude:other"),
        ]
        check_sound(store)
        expected = contents(store)
        check_same(expected, contents(rebuilt(store)))
        forget(store, Config(), [one.uid], now_ms())
        # The fork holds what it copied.
        assert responses(store) == {"chatcmpl-1": 3, "chatcmpl-2": 2, "chatcmpl-3": 2}
    chance = random.Random(1)
    for _ in range(2):
        for log in claude.logs:
            (claude.path / log.place).unlink()
        with new_store() as store:
            for log in chance.sample(claude.logs, len(claude.logs)):
                collect(store, claude.write([log]))
            check_same(expected, contents(store))
    assert other.uid == "claude:other"


def test_a_report_is_not_taken_for_the_response_of_an_unrelated_session(
    claude: ClaudeHome,
) -> None:
    parent, stranger = claude.session("parent"), claude.session("stranger")
    parent.prompt("delegate")
    report = {"id": "chatcmpl-1", "model": "local", "usage": usage(1, input=5)}
    parent.progress(agent="a1", message=report)
    parent.answer("done", id="msg_parent")
    talk(stranger, "chatcmpl-1")
    agent = claude.subagent(parent, "a1", below=True)
    agent.prompt("look")
    agent.answer("looked", id="chatcmpl-1", used=usage(50, input=5))
    others = [parent, stranger]
    for logs in (others, others[::-1]):
        with new_store() as store:
            for log in logs:
                collect(store, claude.write([log]))
            assert responses(store) == {"chatcmpl-1": 2, "msg_parent": 1}
            assert noted(store) == ["claude:parent", "claude:stranger"]
            alone = contents(store)
            check_same(alone, contents(rebuilt(store)))
            collect(store, claude.write([agent]))
            assert responses(store) == {"chatcmpl-1": 2, "msg_parent": 1}
            assert noted(store) == [agent.uid, "claude:stranger"]
            forget(store, Config(), [agent.uid], now_ms())
            assert without_tombstones(contents(store)) == without_tombstones(alone)
        for log in claude.logs:
            (claude.path / log.place).unlink()


def test_an_evicted_session_does_not_take_the_usage_of_a_new_one(
    claude: ClaudeHome, tmp_path: Path
) -> None:
    config = Config(retention=RetentionConfig(archive_dir=str(tmp_path / "archive")))
    one = talk(claude.session("one"), "chatcmpl-1", "chatcmpl-2")
    with collected(claude.write()) as store:
        with store.transaction():
            store.db.execute("update sessions set analyzed_revision = revision")
        assert retain(store, config, LATER, lambda uids: None).report.backstop_evicted == 1
        new = claude.session("new")
        new.prompt("hello")
        new.answer("hello", id="chatcmpl-1", used=usage(20, input=300))
        fork = talk(claude.fork(one, "fork"), "chatcmpl-3")
        collect(store, claude.write())
        assert responses(store) == {"chatcmpl-1": 2, "chatcmpl-2": 1, "chatcmpl-3": 1}
        session = store.sessions.get(new.uid)
        assert session is not None and session.parent_uid is None
        assert noted(store) == [new.uid]
        restore(store, config, [one.uid], LATER)
        assert noted(store) == [new.uid, one.uid]
        with collected(claude.path) as at_once:
            check_same(contents(at_once), contents(store))
        forget(store, config, [new.uid], now_ms())
        assert responses(store) == {"chatcmpl-1": 1, "chatcmpl-2": 1, "chatcmpl-3": 1}
        assert noted(store) == []
    assert fork.uid == "claude:fork"


def test_a_copy_of_the_store_has_the_same_usage(claude: ClaudeHome, stores: Stores) -> None:
    for name in ("one", "other"):
        talk(claude.session(name), "chatcmpl-1")
    place = stores.empty_place("copy")
    with collected(claude.write()) as store:
        with copy_target(place) as copy:
            copy_everything(store, copy)
        with open_store(place) as copy:
            assert [one.usage_id for one in every_usage(copy)] == ["chatcmpl-1"] * 2
            assert noted(copy) == noted(store)
            assert copy.fingerprint() == store.fingerprint()


# ---------------------------------------------------------------- killed


def moving(claude: ClaudeHome) -> tuple[list[ClaudeLog], list[ClaudeLog]]:
    """Logs, and later logs that move usage: from a report to the subagent's log, and from one
    session to the one that it was copied from. Other sessions have the same ids."""
    parent, stranger = claude.session("parent"), talk(claude.session("stranger"), "chatcmpl-1")
    parent.prompt("delegate")
    report = {"id": "chatcmpl-1", "model": "local", "usage": usage(1, input=5)}
    parent.progress(agent="a1", message=report)
    origin = talk(claude.session("origin"), "chatcmpl-2")
    fork = talk(claude.fork(origin, "fork"), "chatcmpl-3")
    agent = claude.subagent(parent, "a1", below=True)
    agent.prompt("look")
    agent.answer("looked", id="chatcmpl-1", used=usage(50, input=5))
    return [parent, fork], [agent, origin, stranger]


@pytest.mark.kill
@pytest.mark.slow
def test_a_sync_that_moves_usage_can_be_killed_anywhere(
    claude: ClaudeHome, stores: Stores, database: str, tmp_path: Path
) -> None:
    first, later = moving(claude)
    place = stores.empty_place("killed")

    @contextmanager
    def prepared() -> Iterator[Callable[[], object]]:
        with open_store(place) as store:
            yield lambda: collect(store, claude.path)

    def again() -> None:
        with open_store(place) as store:
            for uid in store.sessions.uids():
                forget(store, Config(), [uid], now_ms())
            with store.transaction():
                store.db.execute("delete from tombstones")
        for log in later:
            (claude.path / log.place).unlink(missing_ok=True)
        with open_store(place) as store:
            collect(store, claude.write(first))
        claude.write(later)

    with collected(claude.write()) as undisturbed:
        expected = contents(undisturbed)
    again()
    calls = run_and_kill(prepared)
    some = 6 if database == "sqlite" else 2
    for number in range(some):
        again()
        run_and_kill(prepared, calls * (number + 1) // (some + 1))
        with open_store(place) as store:
            collect(store, claude.path)
            check_sound(store)
            check_same(expected, contents(store))
