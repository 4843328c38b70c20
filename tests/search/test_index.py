"""The index is what one built anew would be, and whatever is killed, it is whole or says it is not.

That it equals one built anew after any arrival, fork, rewrite and rebuild is part of
`session_memory.testing.collecting.check_sound`, which every test of collecting ends with.
"""

import random
import shutil
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from multiprocessing import get_context
from multiprocessing.context import ForkProcess
from pathlib import Path

import pytest
from effort import times
from hostile.logs import append, corpus, log, put, rounds, user, uuid

from session_memory.collect.sync import Sync
from session_memory.config import Config
from session_memory.core.errors import IndexTaken
from session_memory.core.time import now_ms
from session_memory.demo import demo_home
from session_memory.derive import reindex as reindexing
from session_memory.derive.bodies import Bodies
from session_memory.derive.rebuilding import rebuild
from session_memory.derive.reindex import docs_of, ensure_index, reindex
from session_memory.retain.portable_file import export_store
from session_memory.retain.portable_import import import_store
from session_memory.retain.verification import verify
from session_memory.store import Store, open_store, postgres_word_index
from session_memory.store.copying import copy_everything
from session_memory.store.hits import Hits
from session_memory.store.index import NEXT, WordIndex, event_of
from session_memory.store.word_query import QueryWord, WordQuery
from session_memory.testing.collecting import (
    check_index,
    check_sound,
    collect,
    collected,
    new_store,
)
from session_memory.testing.stores import PostgresStores, Stores

from .asking import asked, found

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.

DATA = Path(__file__).parent.parent / "data"
S, T = uuid("session"), uuid("other session")
KILLS = {"sqlite": times(8), "postgresql": times(2)}


@pytest.fixture(scope="module")
def demo_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("demo") / "memory.db"
    collected(demo_home(), place).close()
    return place


@pytest.fixture
def demo(demo_place: Path, tmp_path: Path, stores: Stores) -> Iterator[Store]:
    """The demo, collected once and copied for each test."""
    if isinstance(stores, PostgresStores):
        place = stores.filled_place("demo", "search", lambda where: copied(demo_place, where))
    else:
        place = str(shutil.copy(demo_place, tmp_path / "demo.db"))
    with open_store(place, durability="normal") as store:
        yield store


def copied(origin: Path, place: str) -> None:
    with open_store(origin) as store, open_store(place, durability="normal") as copy:
        copy_everything(store, copy)
        ensure_index(copy)


def docs(store: Store) -> list[tuple[str, int]]:
    return sorted(store.index.terms_from(""))


# ---------------------------------------------------------------- built anew


def test_an_index_that_is_built_anew_is_the_one_there_was(demo: Store) -> None:
    before, titles = docs(demo), sorted(demo.index.title_terms())
    heard: list[tuple[int, int]] = []
    count = reindex(demo, lambda done, whole: heard.append((done, whole)))
    assert (docs(demo), sorted(demo.index.title_terms())) == (before, titles)
    assert heard == [(done, count) for done in range(1, count + 1)]
    check_sound(demo)


def test_a_rebuild_leaves_the_index_as_it_was(demo: Store) -> None:
    before = docs(demo)
    rebuild(demo, now_ms(), lambda repo, cwd: None, lambda source: None)
    assert docs(demo) == before
    check_sound(demo)


@pytest.mark.parametrize("agent", ["claude", "codex", "grok"])
def test_logs_that_grow_line_by_line_are_indexed_as_if_they_came_at_once(
    agent: str, tmp_path: Path, database: str
) -> None:
    """Messages in chunks go on after they were indexed."""
    homes = sorted(DATA.glob(f"{agent}*/*/home"))
    homes = homes[: 6 if database == "sqlite" else 2]
    assert homes
    for place, home in enumerate(homes):
        root = tmp_path / str(place)
        with new_store() as store:
            for path in sorted(path for path in home.rglob("*") if path.is_file()):
                target = root / path.relative_to(home)
                target.parent.mkdir(parents=True, exist_ok=True)
                lines = path.read_bytes().splitlines(keepends=True)
                step = max(len(lines) // 12, 1)
                if path.suffix != ".jsonl":
                    step = len(lines) or 1
                for start in range(0, len(lines) or 1, step):
                    with target.open("ab") as file:
                        file.write(b"".join(lines[start : start + step]))
                    collect(store, root)
            check_index(store)


def test_what_changes_while_an_index_is_built_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "logs"
    path = log(root, S, rounds(S, 3))
    log(root, T, rounds(T, 3))
    really = reindexing._IndexBuilding.add
    changed = []

    def add(self: reindexing._IndexBuilding, *arguments: object) -> None:
        really(self, *arguments)  # type: ignore[arg-type]
        if not changed:
            changed.append(1)
            append(path, [user(S, 12, "meanwhile appended")])
            late = uuid("late")
            log(root, late, rounds(late, 1))
            collect(store, root)

    monkeypatch.setattr(reindexing._IndexBuilding, "add", add)
    with collected(root) as store:
        reindex(store)
        assert changed
        check_sound(store)
        assert found(store, "meanwhile")


def test_numbers_that_were_handed_out_again_meanwhile_do_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest session is read, then derived anew, so that the next one gets its numbers."""
    root = tmp_path / "logs"
    log(root, S, rounds(S, 3))
    really = reindexing._IndexBuilding.add
    built = []

    def add(self: reindexing._IndexBuilding, session_id: int, known: tuple[str, int]) -> None:
        really(self, session_id, known)
        if len(built) == 0:
            built.append(1)
            with store.transaction():
                store.events.drop(session_id)
                store.sessions.mark_stale(session_id)
            late = uuid("late")
            log(root, late, rounds(late, 1))
            collect(store, root)
            for other, item in store.sessions.revisions().items():
                if other != session_id:
                    really(self, other, item)

    monkeypatch.setattr(reindexing._IndexBuilding, "add", add)
    with collected(root) as store:
        reindex(store)
        check_index(store)


def test_whoever_began_later_builds_the_index(demo: Store) -> None:
    expected = docs(demo)
    first = reindexing._IndexBuilding(demo)
    sessions = demo.sessions.revisions()
    for session_id, known in sessions.items():
        first.add(session_id, known)
    assert reindex(demo) == len(sessions)
    with pytest.raises(IndexTaken):
        first.finish()
    assert docs(demo) == expected


def test_a_builder_whose_new_index_was_deleted_gives_up(demo: Store) -> None:
    """Once, of four machines that began with one PostgreSQL store, one failed at this."""
    building = reindexing._IndexBuilding(demo)
    for session_id, known in demo.sessions.revisions().items():
        building.add(session_id, known)
    with demo.transaction():
        demo.db.word_engine(NEXT).destroy()
    with pytest.raises(IndexTaken):
        building.finish()
    assert demo.index.is_complete
    assert reindex(demo) == demo.sessions.count()


def test_a_builder_that_lost_its_claim_deletes_nothing_of_the_next_one(
    demo: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one claims and begins after the first one's claim, before it cleans up."""
    expected = docs(demo)
    really = WordIndex.unfinished_removed
    second: list[reindexing._IndexBuilding] = []

    def late(self: WordIndex) -> Iterator[object]:
        monkeypatch.undo()
        second.append(reindexing._IndexBuilding(demo))
        return really(self)

    monkeypatch.setattr(WordIndex, "unfinished_removed", late)
    with pytest.raises(IndexTaken):
        reindex(demo)
    for session_id, known in demo.sessions.revisions().items():
        second[0].add(session_id, known)
    second[0].finish()
    assert docs(demo) == expected


# ---------------------------------------------------------------- whole or not


def test_a_copy_is_searched_once_its_index_is_built(demo: Store) -> None:
    with new_store() as copy:
        copy_everything(demo, copy)
        assert not copy.index.is_complete
        behind = asked(copy, "the")
        assert (behind.behind, behind.total_exact) == (copy.sessions.count(), False)
        assert ensure_index(copy)
        check_sound(copy)
        assert found(copy, "the") == found(demo, "the")


def test_a_sync_builds_an_index_that_is_missing(demo: Store, tmp_path: Path) -> None:
    with new_store() as copy:
        copy_everything(demo, copy)
        collect(copy, tmp_path)
        check_sound(copy)


def test_a_backup_is_whole_or_says_that_it_is_not(demo: Store, tmp_path: Path) -> None:
    demo.backup(tmp_path / "backup.db")
    with open_store(tmp_path / "backup.db") as copy:
        ensure_index(copy)
        check_sound(copy)
        assert found(copy, "the") == found(demo, "the")


def test_what_is_imported_is_found(demo: Store, tmp_path: Path) -> None:
    export_store(demo, tmp_path / "parcel")
    with new_store() as other:
        import_store(other, tmp_path / "parcel", Config())
        check_sound(other)
        assert found(other, "the") == found(demo, "the")


def test_an_index_of_another_rule_is_built_anew(
    demo: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("session_memory.store.index.VERSION", "next")
    assert not demo.index.is_complete
    assert ensure_index(demo)
    assert demo.index.is_complete


@pytest.mark.only("sqlite")
def test_a_store_from_before_the_index_is_indexed_by_the_next_sync(tmp_path: Path) -> None:
    old = tmp_path / "memory.db"
    shutil.copy(DATA / "databases" / "step-3.db", old)
    with open_store(old) as store:
        assert store.events.count()
        assert not store.index.is_complete
        assert asked(store, "look").behind == store.sessions.count()
        collect(store, tmp_path)
        assert found(store, "look")
        check_index(store)


# ---------------------------------------------------------------- damage


def test_an_index_that_misses_events_is_noticed(demo: Store) -> None:
    assert not verify(demo, sample=1000).findings
    number = next(iter(demo.sessions.revisions()))
    with demo.transaction():
        demo.index.drop(demo.events.docs(number))
    findings = verify(demo, sample=1000).findings
    assert len(findings) == 1
    assert "session-memory store reindex" in findings[0]
    reindex(demo)
    check_sound(demo)


@pytest.mark.only("sqlite")
def test_a_long_text_of_one_word_is_in_the_index(tmp_path: Path) -> None:
    # Only the beginning of a text is looked up. It ends within a word.
    log(tmp_path / ".claude" / "projects", S, [user(S, 1, "sixty " * 4000)])
    with collected(tmp_path) as store:
        assert not verify(store).findings


@pytest.mark.only("sqlite")
def test_a_broken_index_is_noticed_and_made_anew(demo: Store) -> None:
    demo.db.execute("delete from words_data where id = (select max(id) from words_data)")
    findings = verify(demo).findings
    assert findings
    assert all("session-memory store reindex" in line for line in findings)
    reindex(demo)
    check_sound(demo)


# ---------------------------------------------------------------- killed


class Killed(BaseException):
    """In place of a signal: nothing in the package may catch it."""


@pytest.mark.parametrize("name", ["begin_next", "add_next", "swap", "_save_state"])
@pytest.mark.parametrize("at", [1, 2])
def test_killed_inside_any_step_of_building(
    demo: Store, monkeypatch: pytest.MonkeyPatch, name: str, at: int
) -> None:
    monkeypatch.setattr(reindexing, "GATHERED", 2000)
    expected = docs(demo)
    really, calls = getattr(WordIndex, name), []

    def dying(self: WordIndex, *arguments: object, **more: object) -> None:
        calls.append(1)
        if len(calls) == at:
            raise Killed
        really(self, *arguments, **more)

    monkeypatch.setattr(WordIndex, name, dying)
    if (name, at) in (("begin_next", 2), ("swap", 2)):
        reindex(demo)
    else:
        with pytest.raises(Killed):
            reindex(demo)
    monkeypatch.undo()
    assert docs(demo) == expected
    assert demo.index.is_complete
    reindex(demo)
    assert docs(demo) == expected


def sync(place: str, root: Path) -> None:
    with open_store(place) as store:
        collect(store, root)


def build(place: str, root: Path) -> None:
    reindexing.GATHERED = 20_000
    with open_store(place) as store:
        reindex(store)


def build_again(place: str, until: Path) -> None:
    """Build the index in small steps, again and again until a file appears."""
    is_last = False
    while not is_last:
        is_last = until.exists()
        build(place, until)
        Path(f"{until}-at-work").touch()


TASKS = {"sync": sync, "reindex": build}


def started_fork(work: Callable[[str, Path], None], place: str, path: Path) -> ForkProcess:
    """A fork is at work at once, where a new interpreter takes as long as the work to start."""
    process = get_context("fork").Process(target=work, args=(place, path))
    with warnings.catch_warnings():
        # Newer Pythons warn of a fork beside the threads of pytest-xdist.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    return process


@pytest.mark.kill
@pytest.mark.parametrize("task", sorted(TASKS))
def test_killed_at_any_moment_it_answers_rightly(
    task: str, tmp_path: Path, stores: Stores, database: str
) -> None:
    """Half of the logs are in the store; a sync of the rest, or building the index, is killed."""
    root = tmp_path / "logs"
    files = corpus(root, 12, 3000)
    put(files[: len(files) // 2])
    base = tmp_path / "base.db"
    collected(root, base).close()
    put(files)
    with collected(root, tmp_path / "whole.db") as whole:
        expected = docs(whole)
        answers = found(whole, "amber")
    chance = random.Random(task)
    took = 0.0
    for number in range(-1, KILLS[database]):
        place = stores.place(f"{task}{number}")
        if database == "sqlite":
            Path(place).parent.mkdir(exist_ok=True)
            shutil.copy(base, place)
        else:
            copied(base, place)
        started = time.perf_counter()
        process = started_fork(TASKS[task], place, root)
        process.join(None if number < 0 else took * chance.random())
        process.kill()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        took = took or time.perf_counter() - started
        with open_store(place) as store:
            # At once: what is there is found, and nothing else.
            check_index(store)
            collect(store, root)
            assert docs(store) == expected
            assert found(store, "amber") == answers


def test_one_process_builds_while_another_collects(tmp_path: Path, stores: Stores) -> None:
    root, place, until = tmp_path / "logs", stores.place("shared"), tmp_path / "enough"
    path = log(root, S, rounds(S, 20))
    with open_store(place) as store:
        collect(store, root)
    process = started_fork(build_again, place, until)
    try:
        with open_store(place) as store:
            number = 80
            while not Path(f"{until}-at-work").exists() or number < 100:
                append(path, [user(S, number, f"appended number{number}")])
                collect(store, root)
                assert len(found(store, f"number{number}")) >= 1
                number += 1
                assert process.is_alive()
            until.touch()
            process.join(60)
            assert process.exitcode == 0
            check_sound(store)
            assert store.index.count(WordQuery(((QueryWord("appended"),),))) == number - 80
    finally:
        process.kill()
        process.join()


# ---------------------------------------------------------------- texts


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("agent", ["claude", "codex", "grok", "mycode"])
def test_an_event_read_alone_says_what_it_says_among_the_others(agent: str) -> None:
    """What snippets and phrases look at is what was indexed."""
    homes = [*DATA.glob(f"{agent}*/*/home"), *([demo_home()] if agent == "claude" else [])]
    assert homes
    for home in sorted(homes):
        with collected(home) as store:
            bodies, hits = Bodies(store), Hits(store.db, store.names)
            for session_id, (uid, _) in store.sessions.revisions().items():
                texts = dict(docs_of(store, session_id, uid))
                alone = hits.of([event_of(doc) for doc in texts])
                for doc, text in texts.items():
                    hit = alone[event_of(doc)]
                    found = bodies.at(hit.source, hit.place, hit.length, hit.block).text
                    # What a record tells about others, as a turn that ends does about its calls,
                    # is a line, and that is kept with the event.
                    assert found == text or (not found and hit.summary == text), (home, hit)


def test_the_index_of_a_new_store_is_complete() -> None:
    with new_store() as store:
        assert store.index.is_complete


HAS_WORD_INDEX = "select to_regclass('words_by_word') is not null"


@pytest.mark.only("postgresql")
@pytest.mark.every(1)
@pytest.mark.parametrize("dies", [False, True])
def test_after_a_first_load_words_are_found_quickly_whatever_happened_in_it(
    stores: Stores, monkeypatch: pytest.MonkeyPatch, dies: bool
) -> None:
    """The index of words is dropped for the load, because it is made faster at once."""
    engine, seen = postgres_word_index.PostgresWordEngine, []
    begin = engine.begin_finding

    def begin_finding(self: postgres_word_index.PostgresWordEngine) -> None:
        seen.append(bool(store.db.value(HAS_WORD_INDEX)))
        if dies:
            raise KeyboardInterrupt
        begin(self)

    with open_store(stores.place("loaded"), durability="normal") as store:
        with monkeypatch.context() as patch:
            patch.setattr(engine, "begin_finding", begin_finding)
            with pytest.raises(KeyboardInterrupt) if dies else nullcontext():
                collect(store, demo_home())
        assert seen == [False]
        assert store.index.is_complete is not dies
        collect(store, demo_home())
        assert store.index.is_complete and store.db.value(HAS_WORD_INDEX)
        check_index(store)


@pytest.mark.only("postgresql")
@pytest.mark.every(1)
def test_a_store_that_was_copied_into_one_that_begins_a_load_is_searched(
    demo: Store, stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy brings no words. The end of the load must not say that the index has them."""
    log(tmp_path, uuid("own"), rounds(uuid("own"), 1))
    place, read = stores.place("both"), Sync._read_tasks

    def read_tasks(self: Sync, size: int, jobs: int | None) -> None:
        with open_store(place, durability="normal") as target:
            copy_everything(demo, target)
        read(self, size, jobs)

    monkeypatch.setattr(Sync, "_read_tasks", read_tasks)
    with open_store(place, durability="normal") as store:
        collect(store, tmp_path)
        assert store.sessions.count() == demo.sessions.count() + 1
        check_index(store)
