"""What a type checker knows about the API; users check their own code against it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]

# Each line is revealed; the comment is what mypy has to say, without module names.
SNIPPET = """
from session_memory import AsyncMemory, Memory, SessionStore

memory = Memory("memory.db", config=None)
reveal_type(memory)  # Memory
reveal_type(memory.sessions(since="7d", min_cost=1.5))  # SessionQuery
reveal_type(memory.sessions().first())  # StoredSession | None
reveal_type([one for one in memory.sessions()])  # list[StoredSession]
session = memory.session("5b0c6a1e")
reveal_type(session.cost.dollars)  # Decimal
reveal_type(list(session.events))  # list[SessionEvent]
reveal_type(session.children)  # list[StoredSession]
reveal_type(memory.search("word").hits[0].seq)  # int | None
reveal_type(memory.fix("error"))  # Remedies
reveal_type(memory.cost(by="month"))  # CostReport
reveal_type(memory.verify().findings)  # tuple[str, ...]
reveal_type(memory.live)  # SessionStore
reveal_type(next(memory.follow()))  # WatchEvent


async def ask() -> None:
    async with await AsyncMemory.open() as aio:
        reveal_type(aio)  # AsyncMemory
        reveal_type(await aio.search("word", repo=["one", "two"]))  # Results
        reveal_type(await aio.run(lambda m: m.sessions().count()))  # int
        reveal_type(aio.live)  # AsyncSessionStore
        async for event in aio.follow(poll=True):
            reveal_type(event)  # WatchEvent
        await aio.search(words="x")  # error: Unexpected keyword argument "words"


memory.cost(since=1.5)  # error: Argument "since" to "cost" of "FigureMethods" has incompatible type
memory.follow(polling=True)  # error: Unexpected keyword argument "polling"
"""


@pytest.mark.slow
def test_a_type_checker_knows_every_answer(tmp_path: Path) -> None:
    file = tmp_path / "snippet.py"
    file.write_text(SNIPPET)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(file)],
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        timeout=300,
    )
    found: dict[int, str] = {}
    for line in done.stdout.splitlines():
        number, kind, message = re.findall(r"^.*?:(\d+): (note|error): (.*)$", line)[0]
        if kind == "note" and "Revealed type" not in message:
            continue
        revealed = re.sub(r"[\w.]+\.(?=\w)", "", message.partition('"')[2].rstrip('"'))
        found[int(number)] = revealed if kind == "note" else f"error: {message}"
    for number, line in enumerate(SNIPPET.splitlines(), start=1):
        expected = line.partition("  # ")[2]
        if expected:
            assert found.pop(number, "").startswith(expected), line
    assert not found, done.stdout
