"""Reading may stop anywhere; files may be cut anywhere, grow in steps and arrive in any order."""

import json
import random
import shutil
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest
from effort import EFFORT, IS_REPEATABLE, times
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.adapters.agent import Agent
from session_memory.adapters.base import Cursor, Unlisted
from session_memory.adapters.registry import agent
from session_memory.collect.native import opened, unpacked
from session_memory.core.roles import REWRITTEN
from session_memory.testing.adapters import BytesSource, lines_of
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call, usage
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    collected,
    contents,
    new_store,
)

pytestmark = pytest.mark.every(3)  # Its cases give a server the same statements.

CLAUDE = agent("claude")
DATA = Path(__file__).parent.parent / "data"


def sources_below(root: Path, adapter: Agent = CLAUDE) -> Iterator[BytesSource]:
    for ref in adapter.discover(root):
        assert not isinstance(ref, Unlisted)
        for part in (ref, *ref.companions):
            if part.stamp is not None and adapter.rows is not None:
                yield BytesSource(part, b"".join(adapter.rows(part, Cursor())))
                continue
            with opened(part.place) as native, unpacked(native, part.place) as file:
                data = file.read()
                yield BytesSource(part, lines_of(data) if part.role == REWRITTEN else data)


def agent_of(sample: Path) -> Agent:
    return agent(json.loads((sample / "EXPECTED.json").read_text())["agent"])


def family(claude: ClaudeHome) -> ClaudeHome:
    """A session with nearly everything, its subagents in two layouts, and forks of forks."""
    log = claude.session("main")
    log.summary("an old title")
    log.prompt("make it work")
    log.answer("I look.", call("Bash", command="ls"), early=usage(1), used=usage(20))
    log.progress()
    fork_at = log.result("a.py")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.run("pytest -q", "1 failed", exit_code=1)
    log.raw(b"{broken\n\n")
    log.answer(call("Agent", "spawn", prompt="look"), used=usage(30))
    below = claude.subagent(log, "a1", meta={"toolUseId": "spawn", "spawnDepth": 1})
    below.prompt("look")
    below.answer("looked", used=usage(5))
    beside = claude.subagent(log, "b1", below=False)
    beside.prompt("look again")
    beside.answer("looked again", used=usage(6))
    log.result("looked", details={"agentId": "a1"})
    log.custom_title("a better title")
    log.abort("I was going")
    log.interrupt()
    log.rewind(fork_at)
    log.prompt("another way")
    log.compact()
    log.queued("quickly")
    log.answer("done", used=usage(40))
    log.turn_ended()
    fork = claude.fork(log, "fork")
    fork.prompt("go on")
    fork.answer("went on", used=usage(50))
    again = claude.fork(fork, "again", lines=9)
    again.answer("elsewhere", used=usage(60))
    return claude


# ------------------------------------------------------------ the adapter


def check_resumes_anywhere(source: BytesSource, adapter: Agent = CLAUDE) -> None:
    whole = list(adapter.read(source, Cursor()))
    for seen, (cursor, _) in enumerate(whole, start=1):
        assert list(adapter.read(source, cursor)) == whole[seen:], f"stopped after item {seen}"


@pytest.mark.only("sqlite")
def test_reading_a_recorded_session_can_stop_after_any_item(sample: Path) -> None:
    adapter = agent_of(sample)
    for source in sources_below(sample / "home", adapter):
        check_resumes_anywhere(source, adapter)


@pytest.mark.only("sqlite")
def test_reading_can_stop_after_any_item(claude: ClaudeHome) -> None:
    for source in sources_below(family(claude).write()):
        check_resumes_anywhere(source)


@pytest.mark.only("sqlite")
def test_a_subagent_whose_first_lines_name_no_session_can_be_resumed_too(
    claude: ClaudeHome,
) -> None:
    log = claude.session("main")
    agent = claude.subagent(log, "a1", below=False)
    agent.raw(b"{broken\n")
    agent.add({"type": "summary", "summary": "whose?", "leafUuid": "x"})
    agent.raw(b"{broken too\n")
    agent.prompt("look")
    agent.add({"type": "summary", "summary": "its own", "leafUuid": "x"})
    claude.logs.remove(log)
    [source] = sources_below(claude.write())
    check_resumes_anywhere(source)
    sessions = [record.session for _, record in CLAUDE.read(source, Cursor())]
    assert sessions[1:] == ["main:a1"] * 4


@pytest.mark.only("sqlite")
def test_reading_any_beginning_of_a_file_gives_the_beginning_of_its_items(
    claude: ClaudeHome,
) -> None:
    for source in sources_below(family(claude).write()):
        if source.ref.path.suffix != ".jsonl":
            continue
        whole = list(CLAUDE.read(source, Cursor()))
        ends = [cursor.offset for cursor, _ in whole]
        for size in range(0, len(source.data), 7):
            some = list(CLAUDE.read(BytesSource(source.ref, source.data[:size]), Cursor()))
            assert some == whole[: sum(end <= size for end in ends)]


# ------------------------------------------------------------ cut and grown


def cut_and_grown(tmp_path: Path, home: Path, name: str, sizes: list[int]) -> list[str]:
    """The contents of a store that saw one log at each of ``sizes``, then whole."""
    with new_store() as store:
        data = (home / name).read_bytes()
        target = tmp_path / "home" / name
        target.write_bytes(b"")
        for size in [*sizes, len(data)]:
            with target.open("ab") as file:
                file.write(data[file.tell() : size])
            collect(store, tmp_path / "home")
        return contents(store)


def small_log(claude: ClaudeHome) -> ClaudeLog:
    """As few bytes as can hold a call, its result, a response in two lines and some damage."""
    log = claude.session("s")
    message = {"id": "m", "model": "o", "usage": {"output_tokens": 5}}
    block = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "é☃"}
    log.add({"type": "assistant", "uuid": "a", "message": {**message, "content": "hi"}})
    log.add({"type": "assistant", "uuid": "b", "message": {**message, "content": [block]}})
    log.raw(b"{\xff\n")
    log.add({"type": "user", "parentUuid": "b", "message": {"content": [result]}})
    log.raw(b'{"torn')
    return log


def cuts_of(data: bytes) -> list[int]:
    """Every place at the end of a line and inside a character, and some of those between."""
    special = {place for place, byte in enumerate(data) if byte == ord("\n") or byte > 127}
    beside = {place + step for place in special for step in (-1, 0, 1, 2)}
    between = set(range(0, len(data), max(1, round(8 / EFFORT))))
    return sorted(cut for cut in beside | between if 0 <= cut < len(data))


def test_a_log_cut_anywhere_and_grown_gives_the_same_store(
    claude: ClaudeHome, tmp_path: Path, stride: int
) -> None:
    log = small_log(claude)
    root = claude.write()
    with collected(root) as store:
        check_sound(store)
        expected = contents(store)
    kept = tmp_path / "kept"
    shutil.copytree(root, kept)
    for size in cuts_of(log.data)[::stride]:
        check_same(expected, cut_and_grown(tmp_path, kept, str(log.place), [size]))


def test_every_log_of_a_family_may_be_cut_and_grown_in_three_steps(
    claude: ClaudeHome, tmp_path: Path, stride: int
) -> None:
    root = family(claude).write()
    with collected(root) as store:
        check_sound(store)
        expected = contents(store)
    kept = tmp_path / "kept"
    shutil.copytree(root, kept)
    chance = random.Random(20261115)
    for log in claude.logs:
        for _ in range(0, times(5), stride):
            sizes = sorted(chance.randrange(len(log.data)) for _ in range(3))
            check_same(expected, cut_and_grown(tmp_path, kept, str(log.place), sizes))


@pytest.mark.only("sqlite")
def test_a_recorded_session_may_be_cut_and_grown(sample: Path, tmp_path: Path) -> None:
    check_cut_and_grown(sample, tmp_path, times(2))


@pytest.mark.only("sqlite")
def test_the_files_of_a_recorded_session_may_arrive_in_any_order(
    sample: Path, tmp_path: Path
) -> None:
    check_any_order(sample, tmp_path, times(2))


@pytest.mark.only("postgresql")
@pytest.mark.parametrize("place", ["claude/subagent", "codex/subagent", "grok/resume"])
def test_a_recorded_session_may_be_cut_and_grown_on_a_server(place: str, tmp_path: Path) -> None:
    check_cut_and_grown(DATA / place, tmp_path, 1)
    shutil.rmtree(tmp_path / "home")
    check_any_order(DATA / place, tmp_path, 1)


def check_cut_and_grown(sample: Path, tmp_path: Path, often: int) -> None:
    kept = sample / "home"
    agent = agent_of(sample)
    shutil.copytree(kept, tmp_path / "home")
    with collected(tmp_path / "home") as store:
        expected = contents(store)
    chance = random.Random(len(expected))
    for source in sources_below(kept, agent):
        if not source.data or source.ref.at is not None:
            continue
        for _ in range(often):
            sizes = sorted(chance.randrange(len(source.data)) for _ in range(3))
            name = str(source.ref.path.relative_to(kept))
            check_same(expected, cut_and_grown(tmp_path, kept, name, sizes))


def check_any_order(sample: Path, tmp_path: Path, often: int) -> None:
    kept, agent, root = sample / "home", agent_of(sample), tmp_path / "home"
    shutil.copytree(kept, root)
    with collected(root) as store:
        expected = contents(store)
    files = [source.ref.place.relative_to(kept) for source in sources_below(kept, agent)]
    chance = random.Random(len(files))
    for _ in range(often):
        chance.shuffle(files)
        check_same(expected, in_order(files, kept, root))


def test_a_log_replaced_by_a_longer_copy_of_itself_is_read_on(claude: ClaudeHome) -> None:
    """Editors and backup programs write a new file and rename it over the old one."""
    log = claude.session("s")
    log.prompt("one")
    root = claude.write()
    with collected(root) as store:
        log.answer("two")
        (root / log.place).unlink()
        collect(store, claude.write())
        with collected(root) as fresh:
            check_same(contents(fresh), contents(store))


def test_documents_and_spilled_outputs_may_be_cut_and_grown(
    claude: ClaudeHome, tmp_path: Path
) -> None:
    log = claude.session("main")
    log.prompt("delegate")
    agent = claude.subagent(log, "a1", meta={"toolUseId": "spawn", "description": "look"})
    agent.prompt("look")
    log.spill("out.txt", b"0123456789" * 20)
    root = claude.write()
    with collected(root) as store:
        expected = contents(store)
    kept = tmp_path / "kept"
    shutil.copytree(root, kept)
    for place in (*agent.files, *log.files):
        for size in (0, 1, 20):
            check_same(expected, cut_and_grown(tmp_path, kept, str(place), [size]))


# ------------------------------------------------------------ any order


def in_order(order: list[Path], kept: Path, root: Path) -> list[str]:
    shutil.rmtree(root)
    with new_store() as store:
        for place in order:
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(kept / place, root / place)
            collect(store, root)
        return contents(store)


def files_of(root: Path) -> list[Path]:
    return sorted(path.relative_to(root) for path in root.rglob("*") if path.is_file())


def test_forks_and_their_subagents_may_arrive_in_any_order(
    claude: ClaudeHome, tmp_path: Path, database: str
) -> None:
    log = claude.session("main")
    log.prompt("one")
    log.answer(call("Agent", "spawn", prompt="look"), used=usage(10))
    agent = claude.subagent(log, "a1", meta={"toolUseId": "spawn", "parentAgentId": "a0"})
    agent.raw(log.lines[1])
    agent.answer("looked", used=usage(20))
    fork = claude.fork(log, "fork")
    log.result("looked", details={"agentId": "a1"})
    fork.result("looked too", details={"agentId": "a1"})
    fork.answer("done", used=usage(30))
    moved = claude.keep(log.moved("-home-mira-code-moved"))
    moved.answer("done elsewhere", used=usage(40))
    root = claude.write()
    with collected(root) as store:
        check_sound(store)
        expected = contents(store)
    kept = tmp_path / "kept"
    shutil.copytree(root, kept)
    orders = list(permutations(files_of(kept)))
    assert len(orders) == 120
    step = max(1, round((7 if database == "sqlite" else 40) / EFFORT))
    for order in orders[::step]:
        check_same(expected, in_order(list(order), kept, root))


def test_a_larger_family_may_arrive_in_any_order(tmp_path: Path, database: str) -> None:
    root, kept = tmp_path / "home", tmp_path / "kept"
    family(ClaudeHome(root)).write()
    with collected(root) as store:
        expected = contents(store)
    shutil.copytree(root, kept)

    @settings(
        max_examples=times(12 if database == "sqlite" else 3),
        derandomize=IS_REPEATABLE,
        deadline=None,
        database=None,
    )
    @given(order=st.permutations(files_of(kept)))
    def check(order: list[Path]) -> None:
        check_same(expected, in_order(order, kept, root))

    check()


def test_a_second_sync_of_the_same_files_changes_nothing(claude: ClaudeHome) -> None:
    with collected(family(claude).write()) as store:
        before = contents(store), [s.revision for s in store.sessions.every()]
        report = collect(store, claude.path).report
        assert (report.ingested, report.events, report.bytes) == (0, 0, 0)
        assert report.unchanged == report.discovered > 0
        assert (contents(store), [s.revision for s in store.sessions.every()]) == before
