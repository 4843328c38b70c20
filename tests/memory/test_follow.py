"""Following the logs, with a loop and with asyncio; and the memory for asyncio itself."""

import asyncio
import gc
import shutil
from pathlib import Path

import pytest

from session_memory import AsyncMemory, Memory
from session_memory.collect.watch_events import SessionChanged, Started, Stopped, Synced
from session_memory.core.errors import SessionMemoryError
from session_memory.demo import demo_home


@pytest.fixture
def logs(home: Path) -> Path:
    """A home with the demo logs that a test may write to."""
    return Path(shutil.copytree(demo_home(), home / "logs"))


def a_log(logs: Path) -> Path:
    return next(iter(sorted((logs / ".claude" / "projects").glob("*/*.jsonl"))))


def copy_log(log: Path) -> Path:
    """Another session, with its own id, beside an existing one."""
    native = "0f0f0f0f-1111-2222-3333-444444444444"
    text = log.read_text(encoding="utf-8").replace(log.stem, native)
    other = log.with_name(f"{native}.jsonl")
    other.write_text(text, encoding="utf-8")
    return other


def test_following_gives_what_is_there_and_then_what_is_new(home: Path, logs: Path) -> None:
    with Memory(home / "memory.db") as memory, memory.follow([logs]) as events:
        assert isinstance(next(events), Started)
        first = next(events)
        assert isinstance(first, Synced) and first.whole and first.sessions > 5
        # The memory can be asked while the watch waits.
        assert memory.sessions().count() == first.sessions
        copy_log(a_log(logs))
        fresh = next(
            event
            for event in events
            if isinstance(event, SessionChanged) and "0f0f0f0f" in event.session_uid
        )
        assert memory.session(fresh.session_uid).record.title == fresh.title
        assert fresh.to_dict()["event"] == "session"
        events.stop()
        *_, last = events
        assert isinstance(last, Stopped) and last.sessions > first.sessions


def test_a_follow_that_is_left_early_closes_its_store(home: Path, logs: Path) -> None:
    with Memory(home / "memory.db") as memory:
        with memory.follow([logs], poll=True) as events:
            next(events)
        events.stop()
        with pytest.raises(StopIteration):
            next(events)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no list of open files here")
def test_a_loop_that_is_left_with_break_leaves_no_file_open(home: Path, logs: Path) -> None:
    with Memory(home / "memory.db") as memory:
        opened = []
        for _ in range(12):
            for event in memory.follow([logs]):
                if isinstance(event, Synced):
                    break
            gc.collect()
            opened.append(sum(1 for _ in Path("/proc/self/fd").iterdir()))
        # SQLite closes some files only when no other connection has locks, so the number varies by
        # three. A follow that stays open would add at least one in every round.
        assert abs(opened[-1] - opened[0]) < 6, opened


async def follow_async(home: Path, logs: Path) -> None:
    async with (
        await AsyncMemory.open(home / "memory.db") as memory,
        memory.follow([logs]) as events,
    ):
        assert isinstance(await anext(events), Started)
        assert isinstance(await anext(events), Synced)
        while True:
            try:
                await asyncio.wait_for(anext(events), 0.5)
            except TimeoutError:
                break
        # Nobody waits now; what comes is kept for who asks next.
        copy_log(a_log(logs))
        await asyncio.sleep(0)
        synced = await anext(events)
        assert isinstance(synced, Synced) and synced.sessions == 1
        changed = await anext(events)
        assert isinstance(changed, SessionChanged) and changed.is_new
        results = await memory.search(changed.title or "")
        assert changed.session_uid in {hit.session_uid for hit in results.hits}
    with pytest.raises(StopAsyncIteration):
        await anext(events)


def test_following_with_asyncio_loses_nothing_when_a_waiter_is_cancelled(
    home: Path, logs: Path
) -> None:
    asyncio.run(follow_async(home, logs))


async def ask_async(place: Path) -> None:
    async with await AsyncMemory.open() as memory:
        answers = await asyncio.gather(
            *(memory.search(word) for word in ("test", "harbour", "error")), memory.cost(by="model")
        )
        with Memory() as same:
            assert answers[3].to_dict() == same.cost(by="model").to_dict()
            titles = [session.title for session in same.sessions()]
        assert await memory.run(lambda m: [session.title for session in m.sessions()]) == titles
        session = await memory.live.create_session(title="from a loop")
        seq = await memory.live.append_message(session, role="user", content="hello")
        assert seq == 1
        with pytest.raises(SessionMemoryError):
            await memory.cost(by="year")
    with pytest.raises(SessionMemoryError, match="closed"):
        await memory.cost()


def test_the_same_answers_with_asyncio(place: Path) -> None:
    asyncio.run(ask_async(place))


async def cancelled_opening(place: Path) -> None:
    opening = asyncio.ensure_future(AsyncMemory.open(place))
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    async with await AsyncMemory.open(place) as memory:
        assert (await memory.verify()).ok


def test_an_opening_that_is_cancelled_leaves_nothing_open(place: Path) -> None:
    asyncio.run(cancelled_opening(place))


def test_an_error_while_opening_is_the_package_own(home: Path) -> None:
    with pytest.raises(SessionMemoryError):
        asyncio.run(AsyncMemory.open(home / "nowhere.db", create=False))
