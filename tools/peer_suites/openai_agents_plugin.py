"""A pytest plugin: the OpenAI Agents SDK's own tests, with our session in the place of theirs.

``SQLiteSession`` is swapped before any test module is imported. ``openai_agents_left_out.txt``
names the tests that are left out and says why; a line that names no test is an error.
"""

import asyncio
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import agents
import agents.memory
import agents.memory.sqlite_session
import pytest
from left_out import leave_out_strictly, reasons_in

from session_memory.integrations.openai_agents import LiveSession
from session_memory.live.aio import AsyncSessionStore
from session_memory.live.store import SessionStore

LIST = Path(__file__).with_name("openai_agents_left_out.txt")


class SwappedSession(LiveSession):
    """Takes the arguments of theirs; a file is a store, shared by all sessions that name it."""

    def __init__(
        self,
        session_id: str,
        db_path: str | Path = ":memory:",
        sessions_table: str = "",
        messages_table: str = "",
        session_settings: Any = None,
    ) -> None:
        self._room = tempfile.TemporaryDirectory()
        in_memory = str(db_path) == ":memory:"
        place = Path(self._room.name) / "memory.db" if in_memory else db_path
        store = AsyncSessionStore(SessionStore.open(place, durability="normal"))
        super().__init__(session_id, store, session_settings=session_settings)

    def close(self) -> None:
        # Theirs is not awaited, though it is called from inside a running loop.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, self._store.close()).result()


for module in (agents, agents.memory, agents.memory.sqlite_session):
    module.SQLiteSession = SwappedSession


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave_out_strictly(config, items, reasons_in(LIST))
