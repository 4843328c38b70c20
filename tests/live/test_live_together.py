"""Many threads and processes on one session: no failure, no gap, no duplicate; no waiting for bulk.

``LIVE_APPENDS`` says how many each of them makes; 2,000 is what is promised.
"""

import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from forking import start_script

from session_memory.live import SessionStore
from session_memory.retain.verification import verify
from session_memory.store import open_store
from session_memory.store.copying import copy_everything
from session_memory.store.live_check import live_findings
from session_memory.testing.stores import Stores

APPENDS = int(os.environ.get("LIVE_APPENDS", "60"))
PATIENCE_S = 600

WRITER = """
import sys
from session_memory.live import SessionStore
place, session, name, count = sys.argv[1:]
with SessionStore.open(place, durability="normal") as live:
    sys.stdin.readline()
    for number in range(int(count)):
        print(live.append_message(session, role="user", content=f"{name} {number}"))
"""


def sum_rates(*work: Callable[[], None]) -> None:
    """Run each in a thread; the first failure is raised."""
    failed: list[BaseException] = []

    def guarded(one: Callable[[], None]) -> None:
        try:
            one()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    if failed:
        raise failed[0]


def check(live: SessionStore, session: str, seqs: list[int], writers: int, count: int) -> None:
    """Each got seqs of its own, and everything is there once, in each writer's own order."""
    assert sorted(seqs) == list(range(1, writers * count + 1))
    messages = live.load_active_messages(session)
    assert [message.seq for message in messages] == sorted(seqs)
    for writer in range(writers):
        own = [str(m.content) for m in messages if str(m.content).startswith(f"{writer} ")]
        assert own == [f"{writer} {number}" for number in range(count)]


def test_eight_threads_append_to_one_session(stores: Stores) -> None:
    seqs: list[int] = []
    with SessionStore.open(stores.place("threads"), durability="normal") as live:
        session = live.create_session()

        def writer(name: int) -> Callable[[], None]:
            def run() -> None:
                for number in range(APPENDS):
                    content = f"{name} {number}"
                    seqs.append(live.append_message(session, role="user", content=content))

            return run

        sum_rates(*(writer(name) for name in range(8)))
        check(live, session, seqs, 8, APPENDS)


def test_four_processes_append_to_one_session(stores: Stores) -> None:
    place = stores.place("processes")
    with SessionStore.open(place, durability="normal") as live:
        session = live.create_session()
        started = [
            start_script(
                *(WRITER, place, session, str(name), str(APPENDS)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for name in range(4)
        ]
        outputs: list[tuple[str, str]] = [("", "")] * 4

        def end(number: int) -> None:
            outputs[number] = started[number].communicate("go\n", timeout=PATIENCE_S)

        sum_rates(*((lambda number=number: end(number)) for number in range(4)))
        assert [process.returncode for process in started] == [0] * 4, outputs
        seqs = [int(line) for out, _ in outputs for line in out.split()]
        check(live, session, seqs, 4, APPENDS)


def test_of_many_with_one_key_at_once_one_appends(stores: Stores) -> None:
    with SessionStore.open(stores.place("keys"), durability="normal") as live:
        session = live.create_session()
        for number in range(10):
            seqs: list[int] = []

            def append(key: str = f"key {number}", into: list[int] = seqs) -> None:
                into.append(live.append_message(session, role="user", content="x", key=key))

            sum_rates(*[append] * 6)
            assert seqs == [number + 1] * 6
        assert live.head(session) == 10


def test_of_many_that_begin_one_draft_or_one_id_one_makes_it(stores: Stores) -> None:
    with SessionStore.open(stores.place("drafts"), durability="normal") as live:
        draft = live.draft_session(model="m")
        seqs: list[int] = []
        made: list[str] = []

        def begin() -> None:
            seqs.append(live.append_message(draft, role="user", content="x" * 100_000))

        def create() -> None:
            try:
                made.append(live.create_session(session_id="one"))
            except ValueError as error:
                made.append(str(error))

        sum_rates(*[begin] * 6, *[create] * 6)
        assert sorted(seqs) == [1, 2, 3, 4, 5, 6]
        assert sorted(made) == ["one", *["session 'one' exists already"] * 5]


def test_of_many_that_expect_one_head_one_wins(stores: Stores) -> None:
    with SessionStore.open(stores.place("heads"), durability="normal") as live:
        session = live.create_session()
        live.append_messages(session, [{"role": "user", "content": str(n)} for n in range(1, 9)])
        popped: list[int] = []

        def pop() -> None:
            while True:
                head = live.head(session)
                tail = live.load_tail(session, 2)
                if head != tail[-1].seq:
                    continue
                try:
                    live.rewind(session, tail[-2].seq, expect=head)
                except ValueError:
                    raise
                except Exception as error:
                    assert "is at message" in str(error)
                    continue
                popped.append(head)
                return

        sum_rates(*[pop] * 4)
        assert sorted(popped) == [5, 6, 7, 8]
        assert live.head(session) == 4


@pytest.mark.only("postgresql")
def test_an_append_does_not_wait_for_a_bulk_sync(stores: Stores) -> None:
    place = stores.place("bulk")
    with SessionStore.open(place) as live, open_store(place) as bulk:
        session = live.create_session()
        with bulk.transaction():
            bulk.db.execute("insert into names (name) values ('held')")
            appended = threading.Event()

            def append() -> None:
                live.append_message(session, role="user", content="x", key="k")
                live.rewind(session, 0)
                live.fork_session(session)
                appended.set()

            sum_rates(append)
            assert appended.is_set()
        assert live.head(session) == 0


# ------------------------------------------------------------ the whole store


def busy(live: SessionStore) -> str:
    """A session with everything that gives a row."""
    session = live.create_session(system_prompt="p", config={"a": 1})
    live.append_messages(
        session, [{"role": "user", "content": f"m{n} \0"} for n in range(6)], key="k"
    )
    live.append_message(session, role="assistant", tool_calls=[{"id": "c"}], content="y" * 100_000)
    live.append_message(session, role="user", content="?")
    live.repair(session)
    live.record_compaction(session, from_seq=1, to_seq=3, note_content="n")
    fork = live.fork_session(session, at=5)
    live.rewind(session, 7)
    live.undo_rewind(session)
    live.rewind(session, 5)
    live.append_message(session, role="user", content="again")
    live.append_message(fork, role="user", content="other")
    live.record_usage(session, round_index=0, prompt_tokens=1, completion_tokens=2)
    live.acquire_lease(fork, "me")
    live.close_session(live.create_session(parent_session_id=session))
    return session


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_copy_holds_the_live_sessions_too(
    stores: Stores, kind: str, server_stores: Stores, tmp_path: Path
) -> None:
    target = str(tmp_path / "copy.db") if kind == "sqlite" else server_stores.place("copy")
    place = stores.place("origin")
    with SessionStore.open(place) as live:
        session = busy(live)
        with open_store(place) as one, open_store(target) as other:
            copy_everything(one, other)
            assert one.fingerprint() == other.fingerprint()
            assert verify(other).findings == []
        with SessionStore.open(target) as copy:
            for name in (row.session_id for row in live.list_sessions()):
                assert copy.load_all_messages(name) == live.load_all_messages(name)
                assert copy.load_active_messages(name) == live.load_active_messages(name)
            head = live.load_all_messages(session)[-1].seq
            assert copy.append_message(session, role="user", content="on") == head + 1
            with open_store(place) as one, open_store(target) as other:
                assert one.fingerprint() != other.fingerprint()


DAMAGES = [
    ("delete from live_messages where seq = 2", "gap"),
    ("update live_messages set seq = 77 where seq = 2", "gap"),
    ("update live_sessions set next_seq = next_seq + 1", "gap"),
    ("update live_sessions set lane_id = 999", "lane is missing"),
    ("update live_sessions set head = 888", "message 888, is missing"),
    ("update live_lanes set base_seq = 666 where base_lane is not null", "message 666"),
    ("update live_folds set note_seq = 555", "note 555"),
    ("update live_folds set members = 'x'", "members of compaction"),
    ("delete from live_settings", "settings are missing"),
    ("update live_bodies set length = length + 1", "differs from its hash"),
    ("delete from live_bodies", "is missing"),
]


@pytest.mark.parametrize(("damage", "said"), DAMAGES, ids=[said for _, said in DAMAGES])
def test_verify_notices_damage_to_live_sessions(stores: Stores, damage: str, said: str) -> None:
    place = stores.place("damaged")
    with SessionStore.open(place) as live, open_store(place) as store:
        busy(live)
        assert verify(store).findings == []
        with store.transaction():
            store.db.execute(damage)
        assert said in " ".join(live_findings(store.db))
        assert verify(store).findings != []
