"""The pages on live sessions keep their word; their agent survives being killed at any moment."""

import asyncio
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from forking import start_script

from session_memory.live.blocks import calls_in, results_in
from session_memory.live.store import SessionStore
from session_memory.testing.stores import Stores

DOCS = Path(__file__).parents[2] / "docs"
FENCE = re.compile(r"^```python( agent\.py)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KILLS = int(os.environ.get("SESSION_MEMORY_KILLS", "12"))

MY_AGENT = """
import re

WINDOW = 1000

def ask_model(context):
    # Two calls at a time, up to where it was told to go; all it knows is what it is sent.
    seen = " ".join(str(message.content) + str(message.tool_calls or "") for message in context)
    done = max(map(int, re.findall(r"step\\D{1,40}?(\\d+)", seen)), default=0)
    wanted = max(map(int, re.findall(r"go on to (\\d+)", seen)))
    usage = {"input_tokens": 700 + 50 * len(context), "output_tokens": 7}
    if done >= wanted:
        return {"role": "assistant", "content": f"went to {done}"}, usage
    calls = [
        {"id": f"call-{n}", "type": "function",
         "function": {"name": "step", "arguments": '{"number": %d}' % n}}
        for n in (done + 1, done + 2)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}, usage

def run_tool(name, arguments):
    return f"did step {arguments['number']}"
"""

# Everything is imported once; each life is a fork, most of them killed after a random time.
LIVES = """
import json, os, random, signal, sys, threading
import agent
from session_memory.live import SessionStore
if sys.argv[1].startswith("postgresql:"):
    import session_memory.store.postgres
chance, kills, request = random.Random(sys.argv[3]), 0, 1
while kills < int(sys.argv[2]):
    patience = chance.uniform(0, 0.1)
    pid = os.fork()
    if not pid:
        threading.Timer(patience, os.kill, (os.getpid(), signal.SIGKILL)).start()
        with SessionStore.open(sys.argv[1]) as store:
            said = agent.answer(store, "s", f"request-{request}", f"go on to {4 * request}")
        assert said == f"went to {4 * request}", said
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in (0, -signal.SIGKILL), status
    kills += status != 0
    request += status == 0
with SessionStore.open(sys.argv[1]) as store:
    agent.answer(store, "s", f"request-{request}", f"go on to {4 * request}")
print(request)
"""


def code(page: str) -> tuple[list[str], str]:
    """The blocks of a page to be run in their order, and the program on it."""
    found = FENCE.findall((DOCS / page).read_text("utf-8"))
    programs = [text for name, text in found if name]
    return [text for name, text in found if not name], programs[0] if programs else ""


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    place = tmp_path / "agent"
    place.mkdir()
    (place / "agent.py").write_text(code("live.md")[1], "utf-8")
    (place / "my_agent.py").write_text(MY_AGENT, "utf-8")
    (place / "lives.py").write_text(LIVES, "utf-8")
    return place


def started(agent: Path, *words: str) -> list[str]:
    program, *arguments = words
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    code = "import sys; sys.path.insert(0, '')\n" + (agent / program).read_text("utf-8")
    process = start_script(code, *arguments, cwd=agent, **pipes)
    out, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    return list(out.splitlines())


def test_the_loop_on_the_page_has_about_forty_lines() -> None:
    lines = [line for line in code("live.md")[1].splitlines() if line.strip()]
    assert 30 <= len(lines) <= 52


@pytest.mark.only("sqlite")
def test_the_agent_on_the_page_answers_and_answers_a_repeated_request_the_same(
    agent: Path, stores: Stores, database: str
) -> None:
    def asked(request: str, question: str) -> list[str]:
        return started(agent, "agent.py", stores.place("memory"), "s", request, question)

    assert asked("request-1", "go on to 4") == ["went to 4"]
    assert asked("request-2", "go on to 8") == ["went to 8"]
    assert asked("request-2", "go on to 8") == ["went to 8"]
    with SessionStore.open(stores.place("memory")) as store:
        check(store, requests=2)
        assert store.list_compactions("s"), "the page shows a compaction: this must reach it"
        assert store.usage_totals("s")["llm_calls"] == 6


def test_the_agent_on_the_page_survives_being_killed(
    agent: Path, stores: Stores, database: str
) -> None:
    (requests,) = started(agent, "lives.py", stores.place("memory"), str(KILLS), "7")
    with SessionStore.open(stores.place("memory")) as store:
        check(store, requests=int(requests))


def check(store: SessionStore, *, requests: int) -> None:
    path = store.load_path("s")
    asked = [message.content for message in path if message.role == "user"]
    assert asked == [f"go on to {4 * number}" for number in range(1, requests + 1)]
    calls = [call.call_id for message in path for call in calls_in(message)]
    results = [call for message in path for call in results_in(message)]
    assert calls == results == [f"call-{number}" for number in range(1, 4 * requests + 1)]
    assert store.resume_plan("s").next == "wait_for_user"


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("page", ["live.md", "integrations.md"])
def test_the_python_on_the_page_runs_from_top_to_bottom(
    page: str, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for number, text in enumerate(code(page)[0], start=1):
        exec(compile(text, f"{page} block {number}", "exec"), names)
    if page == "live.md":
        names["theirs"].close()
        names["store"].close()
    else:
        asyncio.run(names["store"].close())
