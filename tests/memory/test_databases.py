"""A memory on both databases: reading piece by piece, live sessions, following and asyncio."""

import asyncio
from pathlib import Path

import pytest

from session_memory import AsyncMemory, Memory, SessionStore
from session_memory.collect.watch_events import Started, Synced
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.stores import Stores

# More than what PostgreSQL reads without a cursor.
MANY = 150


@pytest.fixture
def logs(claude: ClaudeHome) -> Path:
    """Many short sessions, and one with many events."""
    for number in range(MANY):
        claude.session(f"short-{number:03}").prompt(f"short question {number}")
    long = claude.session("long")
    for number in range(MANY):
        long.prompt(f"long question {number}")
        long.answer(f"answer {number}")
    claude.write()
    return claude.path


@pytest.fixture
def store_url(stores: Stores) -> str:
    return stores.place("memory")


def test_sessions_and_events_are_read_while_other_questions_are_asked(
    store_url: str, logs: Path
) -> None:
    with Memory(store_url) as memory:
        result = memory.sync([logs])
        assert result.sessions == len(result.changed) == MANY + 1
        read = []
        for session in memory.sessions(sort="oldest"):
            prompts = session.events.of_kind("user_msg")
            texts = [session.text(prompt) for prompt in prompts]
            read.append((session.uid, len(texts), session.cost.microdollars))
        assert len(read) == memory.sessions().count() == MANY + 1
        assert {uid: amount for uid, _, amount in read} == {
            uid: amount.microdollars for uid, amount in memory.sessions().listing().amounts.items()
        }
        assert max(number for _, number, _ in read) == MANY
        # A loop that is left early leaves nothing behind that a writer waits for.
        for session in memory.sessions():
            next(iter(session.events))
            break
        assert memory.analyze().analyzed == MANY + 1
        assert memory.verify().ok


def test_live_sessions_and_a_watch_share_the_database(store_url: str, logs: Path) -> None:
    with Memory(store_url) as memory:
        session = memory.live.create_session(title="Parrots")
        memory.live.append_message(session, role="user", content="What is a parrot?")
        with memory.follow([logs], poll=True) as events:
            assert isinstance(next(events), Started)
            assert isinstance(next(events), Synced)
            assert memory.search("parrot").hits
        with SessionStore.open(store_url) as other:
            assert other.get_session(session) is not None


async def ask(place: str, logs: Path) -> None:
    async with await AsyncMemory.open(place) as memory:
        await memory.sync([logs])
        session = await memory.live.create_session(title="Parrots")
        found, report, seq = await asyncio.gather(
            memory.search("question", limit=0),
            memory.cost(by="session"),
            memory.live.append_message(session, role="user", content="hello"),
        )
        assert found.total >= 2 * MANY and len(report.rows) == 1 and seq == 1


def test_asyncio_on_the_same_database(store_url: str, logs: Path) -> None:
    asyncio.run(ask(store_url, logs))
