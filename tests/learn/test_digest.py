"""What a session comes down to: golden samples, and what every digest must hold to."""

import json
import os
from pathlib import Path

import pytest
from effort import times
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session_memory.core.errors import SessionMemoryError
from session_memory.core.money import OwnPrice
from session_memory.learn.analyze import analyze
from session_memory.learn.digest import DIGEST_VERSION, decoded, encoded
from session_memory.learn.digest_check import check_digests
from session_memory.store import Store, open_store
from session_memory.store.digests import Digests
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call, usage
from session_memory.testing.collecting import (
    check_sound,
    collect,
    collected,
    events_of,
    new_store,
    rebuilt,
)
from session_memory.testing.stores import Stores
from session_memory.views.learning import show_digest

from .sessions import NOW, analyzed, bodies, digest, digest_of_log, terms

pytestmark = pytest.mark.every(3)  # Its cases give a server the same statements.

GOLDEN = Path(__file__).parent / "golden"
DATA = Path(__file__).parent.parent / "data"
REGOLD = "SESSION_MEMORY_REGOLD"
SAMPLES = [
    sample
    for agent in ("claude", "codex", "grok", "grok_driven")
    for sample in sorted((DATA / agent).iterdir())
]
SHARED = Path(os.environ.get("SESSION_MEMORY_SHARED") or DATA.parents[2] / "shared")
# All published logs of an agent in one store: a digest is of one session, whatever is beside it.
PUBLISHED = [
    path
    for agent in ("claude", "codex", "grok")
    if (path := SHARED / "samples" / "public" / agent).is_dir()
]
# Prices change with the table; what they come to is tested where they are made.
PRICED = ("microdollars", "unpriced_tokens")


def _golden(sample: Path) -> Path:
    return GOLDEN / f"{sample.parent.name}-{sample.name}.json"


@pytest.mark.parametrize("recorded", SAMPLES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_the_digests_of_a_sample_are_the_recorded_ones(recorded: Path) -> None:
    """Record them anew with SESSION_MEMORY_REGOLD=1, and read the difference."""
    with analyzed(recorded / "home") as store:
        found = [digest(store, uid).to_dict() for uid in store.sessions.uids()]
    for one in found:
        for name in PRICED:
            del one["cost"][name]
    result = json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    golden = _golden(recorded)
    if os.environ.get(REGOLD):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(result, "utf-8")
    assert result == golden.read_text("utf-8")


def test_every_golden_file_is_of_a_sample() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == {_golden(s).name for s in SAMPLES}


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize(
    "recorded", SAMPLES[::3], ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_a_rebuild_gives_the_same_bytes(recorded: Path) -> None:
    with analyzed(recorded / "home") as store:
        before, indexed = bodies(store), terms(store)
        rebuilt(store)
        again = analyze(store, now=NOW + 1)
        assert again.analyzed == len(before)
        assert bodies(store) == before
        assert terms(store) == indexed
        assert decoded(before[min(before)]).version == DIGEST_VERSION


@pytest.mark.usefixtures("everywhere")
def test_both_databases_and_any_order_of_arrival_give_the_same_bytes(tmp_path: Path) -> None:
    claude = family(tmp_path / "home")
    with analyzed(claude.write()) as store:
        wanted = bodies(store)
    for turn, logs in enumerate((claude.logs, claude.logs[::-1])):
        place = ClaudeHome(tmp_path / f"again{turn}")
        with new_store() as store:
            for log in logs:
                place.write([log])
                collect(store, place.path)
                analyze(store, now=NOW)
            assert bodies(store) == wanted


def family(path: Path) -> ClaudeHome:
    """A session, a fork of it and a subagent, with most of what a digest looks at."""
    home = ClaudeHome(path)
    log = home.session("main")
    log.prompt("make the tests pass, and don't touch the generated code")
    log.run("pytest -q", "E   ValueError: no\n1 failed in 0.10s", exit_code=1)
    log.edit("/home/mira/code/app/a.py")
    log.run("pytest -q", "1 passed in 0.10s")
    log.answer(call("Agent", "spawn", prompt="look"), used=usage(30, read=5000))
    below = home.subagent(log, "a1", meta={"toolUseId": "spawn"})
    below.prompt("look")
    below.answer("looked", used=usage(5))
    log.result("looked")
    log.answer("Done.", used=usage(10, read=9000))
    fork = home.fork(log, "fork")
    fork.prompt("and now the other way")
    fork.run("make other", "make: *** no rule", exit_code=2)
    fork.answer("It cannot be made.")
    return home


# ------------------------------------------------------------ what is analyzed, and when


@pytest.mark.only("sqlite")
@pytest.mark.usefixtures("everywhere")
def test_only_what_changed_is_analyzed(claude: ClaudeHome) -> None:
    one, other = claude.session("one"), claude.session("other")
    for log in (one, other):
        log.prompt("work")
        log.answer("Done.")
    with collected(claude.write()) as store:
        first = analyze(store, now=NOW)
        assert (first.analyzed, first.unchanged) == (2, 0)
        assert analyze(store, now=NOW).analyzed == 0
        other.prompt("thanks")
        collect(store, claude.write())
        session = store.sessions.get(other.uid)
        assert session is not None and not session.is_evictable
        again = analyze(store, now=NOW)
        assert (again.analyzed, again.unchanged) == (1, 1)
        assert digest(store, other.uid).outcome.outcome == "success"
        asked_for = analyze(store, [one.uid], now=NOW)
        assert asked_for.analyzed == 1


@pytest.mark.only("sqlite")
@pytest.mark.usefixtures("everywhere")
def test_an_analysis_changes_no_fingerprint_and_is_copied_along(
    claude: ClaudeHome, tmp_path: Path
) -> None:
    log = claude.session()
    log.prompt("work")
    log.run("pytest -q", "1 passed in 0.10s")
    log.answer("Done.")
    with collected(claude.write()) as store:
        before = store.fingerprint()
        analyze(store, now=NOW)
        assert store.fingerprint() == before
        check_sound(store)
        store.backup(tmp_path / "copy.db")
        wanted = bodies(store)
    with reopened(tmp_path / "copy.db") as copy:
        assert bodies(copy) == wanted
        assert copy.fingerprint() == before
        assert analyze(copy, now=NOW).analyzed == 0


def reopened(path: Path) -> Store:
    return open_store(path)


@pytest.mark.only("sqlite")
@pytest.mark.usefixtures("everywhere")
def test_another_price_makes_the_amounts_anew(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("work")
    log.answer("Done.", used=usage(1000, input=1000))
    with collected(claude.write()) as store:
        analyze(store, now=NOW)
        before = digest(store, log.uid).cost.microdollars
        store.own_prices = lambda: {"claude-opus-4-8": OwnPrice(input=1000, output=1000)}
        assert analyze(store, now=NOW).analyzed == 1
        assert digest(store, log.uid).cost.microdollars > before


@pytest.mark.only("sqlite")
@pytest.mark.usefixtures("everywhere")
def test_what_was_evicted_keeps_its_digest(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("work")
    log.answer("Done.")
    with collected(claude.write()) as store:
        analyze(store, now=NOW)
        known = bodies(store)
        row = store.sessions.row(log.uid)
        assert row is not None
        row.evicted_at, row.revision = NOW, row.revision + 1
        store.sessions.save(row)
        assert analyze(store, now=NOW).analyzed == 0
        assert analyze(store, [log.uid], now=NOW).analyzed == 0
        assert bodies(store) == known


@pytest.mark.usefixtures("everywhere")
def test_nothing_of_a_session_is_left_when_it_is_forgotten(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("don't tell anybody about the password")
    log.run("make all", "make: *** the password is wrong", exit_code=2)
    with collected(claude.write()) as store:
        analyze(store, now=NOW)
        with store.transaction():
            Digests(store.db).forget(log.uid)
        for table in ("digests", "error_fingerprints", "signals"):
            assert store.db.value(f"select count(*) from {table}") == 0


@pytest.mark.usefixtures("everywhere")
def test_two_analyses_at_once_agree(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("work")
    log.answer("Done.")
    with collected(claude.write()) as store:
        # The other one is done between our reading and our writing.
        done = analyze(
            store, now=NOW, on_session=lambda _: analyze(store, [log.uid], now=NOW) and None
        )
        assert done.analyzed == 1
        assert Digests(store.db).count() == 1


@pytest.mark.usefixtures("everywhere")
def test_a_session_that_grows_beside_an_analysis_has_the_money_of_its_tokens(
    claude: ClaudeHome,
) -> None:
    first, second = claude.session("one"), claude.session("two")
    for log in (first, second):
        log.prompt("work")
        log.answer("Done.", used=usage(100))
    with collected(claude.write()) as store:

        def grow(_: int) -> None:
            if Digests(store.db).count() == 0 and len(second.lines) == 2:
                second.answer("More.", used=usage(10_000))
                collect(store, claude.write())

        # It is collected between our listing of the sessions and our reading of the second one.
        assert analyze(store, now=NOW, on_session=grow).analyzed == 2
        grown = store.sessions.get(second.uid)
        assert grown is not None and grown.analyzed_revision == grown.revision
        assert check_digests(store, [second.uid]).findings == []


@pytest.mark.usefixtures("everywhere")
def test_what_is_forgotten_while_it_is_read_stays_forgotten(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("a secret")
    with collected(claude.write()) as store:

        def forget(_: int) -> None:
            row = store.sessions.row(log.uid)
            assert row is not None
            for table in ("session_sources", "events", "copies", "usage", "shares"):
                store.db.execute(f"delete from {table} where session_id = {row.id}")
            store.sessions.drop(row.id)

        analyze(store, now=NOW, on_session=forget)
        assert Digests(store.db).count() == 0


STEPS = ("prompt", "fail", "pass", "edit", "read", "say", "api", "interrupt", "compact", "long")


def step(log: ClaudeLog, name: str) -> None:
    match name:
        case "prompt":
            log.prompt("please don't stop, and use tabs and not blanks")
        case "fail":
            log.run("pytest -q", "E   KeyError: 'x'\n1 failed in 0.10s", exit_code=1)
        case "pass":
            log.run("pytest -q", "1 passed in 0.10s")
        case "edit":
            log.edit("/home/mira/code/app/a.py")
        case "read":
            log.answer(call("Read", file_path="/home/mira/code/app/a.py"))
            log.result("some lines")
        case "say":
            log.answer("I see.", used=usage(7, read=100))
        case "api":
            log.api_error()
        case "interrupt":
            log.interrupt()
        case "compact":
            log.compact()
        case "long":
            log.run("cat big.log", "line of a log\n" * 2000)


@pytest.mark.only("sqlite")
@pytest.mark.usefixtures("everywhere")
@given(pieces=st.lists(st.lists(st.sampled_from(STEPS), max_size=5), min_size=1, max_size=5))
@settings(
    max_examples=times(12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_analyzed_while_it_grows_is_the_same_as_analyzed_at_its_end(
    pieces: list[list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = ClaudeHome(tmp_path_factory.mktemp("growing"))
    log = home.session()
    log.prompt("begin")
    with new_store() as growing:
        for piece in pieces:
            for name in piece:
                step(log, name)
            collect(growing, home.write())
            analyze(growing, now=NOW)
        with analyzed(home.path) as whole:
            assert bodies(growing) == bodies(whole)
            assert signals(growing) == signals(whole)


def signals(store: Store) -> list[object]:
    return list(Digests(store.db).signals())


# ------------------------------------------------------------ what is in it


def test_errors_are_told_with_what_resolved_them(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("make it work")
    log.run("pytest -q", "E   ValueError: no such thing\n1 failed in 0.10s", exit_code=1)
    log.edit("/home/mira/code/app/a.py")
    log.run("pytest -q", "1 passed in 0.10s")
    log.run("python app.py", "ModuleNotFoundError: No module named 'torch'", exit_code=1)
    log.run("pip install torch", "Successfully installed torch")
    log.run("python app.py", "fine")
    log.run("rg --files", "bash: rg: command not found", exit_code=127)
    log.run("rg --files src || find src", "a.py")
    log.run("curl host", "curl: (7) failed to connect", exit_code=7)
    log.run("curl host", "hello")
    log.run("make never", "make: *** no rule for never", exit_code=2)
    log.answer("Done.")
    found = digest_of_log(claude, log)
    how = {
        e.sample: (e.resolution.kind, e.resolution.text) if e.resolution else None
        for e in found.error_snippets
    }
    assert how == {
        "ValueError: no such thing": ("edit", "/home/mira/code/app/a.py"),
        "ModuleNotFoundError: No module named 'torch'": ("command", "pip install torch"),
        "bash: rg: command not found": ("instead", "rg --files src || find src"),
        "curl: (7) failed to connect": ("again", ""),
        "make: *** no rule for never": None,
    }
    assert all(error.tokens for error in found.error_snippets)


def test_a_failing_test_is_resolved_by_the_edit_before_another_run_passes(
    claude: ClaudeHome,
) -> None:
    log = claude.session()
    log.prompt("make it pass")
    log.run("pytest -q tests/test_a.py", "E   ValueError: no\n1 failed in 0.10s", exit_code=1)
    log.run("pytest -q tests/test_b.py", "2 passed in 0.10s")
    log.edit("/home/mira/code/app/a.py")
    log.run("pytest -q", "9 passed in 0.10s")
    (error,) = digest_of_log(claude, log).error_snippets
    assert error.resolution is not None
    assert (error.resolution.kind, error.resolution.text) == ("edit", "/home/mira/code/app/a.py")


def test_a_file_is_looked_at_again_before_the_same_edit_succeeds(claude: ClaudeHome) -> None:
    log = claude.session()
    path = "/home/mira/code/app/a.py"
    log.prompt("change it")
    log.answer(call("Edit", file_path=path, old_string="x", new_string="y"))
    log.result("File has not been read yet. Read it first.", is_error=True)
    log.answer(call("Read", file_path=path))
    log.result("x = 1")
    log.edit(path)
    (error,) = digest_of_log(claude, log).error_snippets
    assert error.resolution is not None
    assert (error.resolution.kind, error.resolution.text) == ("look", "the same file")


def test_histograms_files_commands_and_tests_are_counted(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("work")
    log.edit("/home/mira/code/app/a.py")
    log.edit("/home/mira/code/app/a.py")
    log.run("pytest -q", "2 failed, 1 passed in 0.10s", exit_code=1)
    log.edit("/home/mira/code/app/b.py")
    log.run("pytest -q", "3 passed in 0.10s")
    log.run("git commit -am done", "[main 1a2b3c4] done")
    log.answer("Done.")
    found = digest_of_log(claude, log)
    assert found.kinds["edit"] == found.markers.edit == 3
    assert (found.markers.error, found.markers.test, found.markers.retry) == (1, 2, 0)
    assert {name: (use.calls, use.errors) for name, use in found.tools.items()} == {
        "Bash": (3, 1),
        "Edit": (3, 0),
    }
    assert [(file.path[-4:], file.edits) for file in found.files] == [("a.py", 2), ("b.py", 1)]
    assert {command.text: command.runs for command in found.commands} == {
        "pytest -q": 2,
        "git commit -am done": 1,
    }
    assert [(run.passed, run.passed_count, run.failed_count, run.edits) for run in found.tests] == [
        (False, 1, 2, 2),
        (True, 3, 0, 1),
    ]
    assert len(found.commits) == 1


def test_what_people_say_decide_and_stop_is_kept_in_their_words(claude: ClaudeHome) -> None:
    log = claude.session()
    long = "a very long request " * 30
    log.prompt(long)
    log.answer(call("Bash", command="rm -rf build"))
    log.reject("keep the build directory")
    log.prompt("go on")
    log.answer("Going on.")
    found = digest_of_log(claude, log)
    assert found.first_request is not None
    assert found.first_request.text == long
    assert [said.text for said in found.prompts][1:] == ["go on"]
    assert any("keep the build directory" in said.text for said in found.interventions)
    # What a person refused is not resolved by what the agent does next.
    assert all(error.resolution is None for error in found.error_snippets)


def test_time_is_split_by_who_took_it(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("work")
    claude.clock.tick(4_000)
    log.answer(call("Bash", command="make"))
    claude.clock.tick(9_000)
    log.result("made")
    log.answer("Done.")
    claude.clock.tick(59_000)
    log.prompt("more")
    claude.clock.tick(2 * 3_600_000)
    log.prompt("are you there?")
    time = digest_of_log(claude, log).time
    assert (time.model_ms, time.tools_ms, time.person_ms) == (6_000, 10_000, 60_000)
    assert time.idle_ms == 2 * 3_600_000 + 1_000


def test_the_wait_for_a_refusal_is_the_time_of_the_person(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("work")
    log.answer(call("Bash", command="rm -rf build"))
    claude.clock.tick(59_000)
    log.reject("keep the build directory")
    time = digest_of_log(claude, log).time
    assert (time.model_ms, time.tools_ms, time.person_ms) == (1_000, 0, 60_000)


def test_the_wait_for_a_notification_is_nobodys_work(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("work")
    log.answer("I wait for the build.")
    claude.clock.tick(59_000)
    log.prompt("<task-notification>built</task-notification>")
    log.answer("It is built.")
    time = digest_of_log(claude, log).time
    assert (time.model_ms, time.person_ms, time.idle_ms) == (2_000, 0, 60_000)


def test_the_context_grows_and_is_compacted(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("work")
    for read in (1_000, 50_000, 90_000):
        log.answer("On it.", used=usage(10, input=3, read=read))
    log.compact()
    log.answer("Going on.", used=usage(10, input=3, read=2_000))
    context = digest_of_log(claude, log).context
    assert (context.first, context.peak, context.last) == (1_003, 90_003, 2_003)
    assert context.compactions == 1
    assert context.growth == (1_003, 50_003, 90_003, 2_003)


def test_a_digest_stays_small_whatever_a_session_holds(claude: ClaudeHome) -> None:
    log = claude.session()
    for number in range(300):
        log.prompt(f"request number {number}: " + "words " * 500)
        log.run(
            f"python step{number}.py", f"Error{chr(97 + number % 26)}x: {'y' * 900}", exit_code=1
        )
        log.edit(f"/home/mira/code/app/file{number}.py")
    found = digest_of_log(claude, log)
    assert len(found.prompts) == 60
    assert found.prompts[-1].text.startswith("request number 299")
    assert len(found.files) == 200
    assert len(encoded(found)) < 256 * 1024


def test_text_that_no_database_takes_is_escaped(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("work")
    log.run("make", "make: *** a NUL \0 and a LONE surrogate", exit_code=2)
    log.lines[-1] = log.lines[-1].replace(b"LONE", rb"\ud800")
    (error,) = digest_of_log(claude, log).error_snippets
    assert error.sample.isprintable()


@pytest.mark.usefixtures("everywhere")
def test_such_text_is_stored_on_both_databases(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("don't use \0 here")
    for _ in range(3):
        log.run("make \0", "make: *** a NUL \0", exit_code=2)
    with analyzed(claude.write()) as store:
        assert [row.type for row in Digests(store.db).signals()]
        assert [row.sample for row in Digests(store.db).errors()]


def test_usage_by_the_turn_is_said_to_be_an_estimate() -> None:
    with analyzed(DATA / "grok" / "basic" / "home") as store:
        (uid,) = store.sessions.uids()
        found = digest(store, uid)
    assert found.basis == "estimated"
    assert 0 < found.error_snippets[0].tokens < found.cost.tokens


def test_evidence_names_events_that_are_there(claude: ClaudeHome, tmp_path: Path) -> None:
    with analyzed(family(tmp_path / "family").write()) as store:
        for uid in store.sessions.uids():
            there = {event.event_uid for event in events_of(store, uid)}
            found = digest(store, uid)
            named = {*found.outcome.evidence, *(run.event_uid for run in found.tests)}
            named |= {event for error in found.error_snippets for event in error.event_uids}
            named |= {said.event_uid for said in found.prompts}
            assert named <= there


def test_a_session_nobody_knows_has_no_digest(stores: Stores) -> None:
    with stores.new() as store, pytest.raises(SessionMemoryError):
        show_digest(store, "claude:nobody")


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda path: path.name)
def test_published_logs_are_analyzed_whatever_they_hold(published: Path) -> None:
    with analyzed(published) as store:
        before = bodies(store)
        for uid, body in before.items():
            found = decoded(body)
            there = {event.event_uid for event in events_of(store, uid)}
            assert encoded(found) == body
            assert set(found.outcome.evidence) <= there
            assert found.outcome.outcome == "unknown" or found.outcome.evidence
            assert len(body) < 256 * 1024
            for row in Digests(store.db).signals([uid]):
                assert set(json.loads(row.evidence)) <= there
        analyze(rebuilt(store), now=NOW)
        assert bodies(store) == before
