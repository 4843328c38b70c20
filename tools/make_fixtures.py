"""Make tests/data/claude from recorded sessions, with everything the vendor wrote cut out.

    python tools/make_fixtures.py ../shared/samples/agents/claude-2.1.325
    python tools/make_fixtures.py --database

The second makes a database of today's schema for tests/data/databases, where those of all earlier
schemas are kept: later releases must be able to open them.

Each scenario is a home directory with the logs of one scripted run, and EXPECTED.json, which
says what was scripted. Kept are the lines' shapes, their ids, usage and the texts of the script.
Cut are copies of requests, system prompts, listings of tools and skills, injected context, the
frame around a subagent's report; places of the recording machine get other names.
"""

import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from session_memory.store import open_store
from session_memory.store.migrations import NEWEST
from session_memory.testing.claude import ClaudeHome, call, usage
from session_memory.testing.collecting import collect

DATABASES = Path(__file__).absolute().parent.parent / "tests" / "data" / "databases"
TARGET = Path(__file__).parent.parent / "tests" / "data" / "claude"
KEPT_OF_EXPECTED = ("agent", "version", "scenario", "truth", "script", "requests")
KEPT_OF_REQUEST = ("lane", "step", "model", "usage", "tools", "message_id", "request_id", "group")
KEPT_OF_COPIES = ("type", "sessionId", "id", "hash", "shapeHash", "timestamp", "version")
PLACES = (
    (re.compile(r"/home/[\w-]+/realcli/work-claude-"), "/home/mira/code/"),
    (re.compile(r"-home-[\w-]+?-realcli-work-claude-"), "-home-mira-code-"),
)
HAND_BACK = re.compile(r"\A.*The report follows:\n\s*(.*?)\nagentId: .*\Z", re.DOTALL)
ASIDE = re.compile(r" \(file state is current in your context[^)]*\)")


def main(samples: Path) -> None:
    scenarios = sorted(samples.glob("*/EXPECTED.json"))
    if not scenarios:
        sys.exit(f"no */EXPECTED.json in {samples}\n\n{__doc__}")
    if TARGET.exists():
        shutil.rmtree(TARGET)
    for expected in scenarios:
        scenario = TARGET / expected.parent.name
        scenario.mkdir(parents=True)
        document = json.dumps(without_runs(json.loads(expected.read_text())), indent=1)
        (scenario / "EXPECTED.json").write_text(renamed(document) + "\n")
        for path in sorted((expected.parent / "home").rglob("*")):
            if path.suffix in (".jsonl", ".json"):
                copy(path, scenario / renamed(str(path.relative_to(expected.parent))))


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix == ".json":
        target.write_text(source.read_text())
        return
    with target.open("wb") as file:
        for line in source.read_bytes().splitlines():
            record = without_prose(json.loads(line))
            text = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
            file.write(renamed(text).encode() + b"\n")


def without_runs(expected: dict[str, Any]) -> dict[str, Any]:
    """What was scripted, without the command lines and outputs of the recording machine."""
    kept = {name: expected[name] for name in KEPT_OF_EXPECTED if name in expected}
    kept["requests"] = [
        {name: request[name] for name in KEPT_OF_REQUEST if name in request}
        for request in expected["requests"]
    ]
    return kept


def without_prose(record: dict[str, Any]) -> dict[str, Any]:
    kind = record["type"]
    if kind.startswith("api-request"):
        return {name: record[name] for name in KEPT_OF_COPIES if name in record}
    if kind == "attachment":
        record["attachment"] = {"type": record["attachment"]["type"]}
        record.pop("rendered", None)
    details = record.get("toolUseResult")
    if isinstance(details, dict) and "agentId" in details:
        details["content"] = details["content"][-1:]
    message = record.get("message")
    if isinstance(message, dict) and isinstance(message.get("content"), list):
        for block in message["content"]:
            if block.get("type") == "tool_result":
                block["content"] = shortened(block["content"])
    return record


def shortened(content: Any) -> Any:
    """A tool's result: a subagent's report without its frame, other text without asides."""
    if isinstance(content, list):
        return [{**item, "text": shortened(item["text"])} for item in content]
    return ASIDE.sub("", HAND_BACK.sub(r"\1", content))


def renamed(text: str) -> str:
    for place, name in PLACES:
        text = place.sub(name, text)
    return text


def make_database() -> None:
    """A small store with a bit of everything; its sources have no place on this machine."""
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        home = ClaudeHome(Path("home"))
        log = home.session("alpha")
        log.prompt("make it work")
        log.answer(
            "I look.",
            call("Bash", command="pytest -q"),
            used=usage(20, read=100, write=10, one_hour=4),
        )
        log.result("1 failed", is_error=True)
        log.answer(call("Agent", "spawn", prompt="look"), used=usage(5))
        meta = {"toolUseId": "spawn", "spawnDepth": 1, "description": "Look"}
        agent = home.subagent(log, "a1", meta=meta)
        agent.prompt("look")
        agent.answer("looked", used=usage(7))
        log.raw(b"{broken\n")
        fork = home.fork(log, "beta")
        fork.prompt("go on")
        fork.answer("done", used=usage(9))
        log.spill("out.txt", b"spilled\n" * 100)
        log.raw(b'{"torn')
        with open_store("memory.db") as store:
            collect(store, home.write(), host="laptop")
            store.compact()
            store.backup(DATABASES / f"step-{NEWEST}.db")


if __name__ == "__main__":
    if sys.argv[1:] == ["--database"]:
        make_database()
    elif len(sys.argv) == 2:
        main(Path(sys.argv[1]))
    else:
        sys.exit(__doc__)
