"""Claude Code logs for tests: tiny, deterministic, and as large as a test asks for."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

PROJECT = ".claude/projects/-work-app"
WORDS = ("amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "haven", "inlet", "jetty")


def uuid(*parts: object) -> str:
    """The same id for the same parts, in every process."""
    return str(UUID(int=random.Random(repr(parts)).getrandbits(128), version=4))


def at(second: float) -> str:
    minutes, rest = divmod(second, 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"2026-07-{1 + hours // 24:02}T{hours % 24:02}:{minutes:02}:{rest:06.3f}Z"


def encoded(record: Any) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def user(session: str, n: int, text: str = "go on", **more: Any) -> dict[str, Any]:
    """A prompt, record number ``n`` of its session, linked to the one before it."""
    message = {"role": "user", "content": text}
    return _chained("user", session, n) | {"message": message} | more


def assistant(session: str, n: int, text: str = "done", **more: Any) -> dict[str, Any]:
    """An answer that used 10 input and 5 output tokens."""
    return _response(session, n, [{"type": "text", "text": text}], "end_turn") | more


def call(session: str, n: int, tool: str = "Bash", **arguments: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": f"toolu_{n}", "name": tool, "input": arguments}
    return _response(session, n, [block], "tool_use")


def result(session: str, n: int, text: str = "ok", **more: Any) -> dict[str, Any]:
    """The result of the call one record before."""
    block = {"type": "tool_result", "tool_use_id": f"toolu_{n - 1}", "content": text}
    message = {"role": "user", "content": [block]}
    return _chained("user", session, n) | {"message": message} | more


def _chained(kind: str, session: str, n: int) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": uuid(session, n),
        "parentUuid": uuid(session, n - 1) if n else None,
        "sessionId": session,
        "timestamp": at(_start(session) + n),
        "cwd": "/srv/app",
        "version": "2.1.200",
        "gitBranch": "main",
        "isSidechain": False,
    }


def _start(session: str) -> int:
    return random.Random(session).randrange(20 * 86_400)


def _response(session: str, n: int, content: list[dict[str, Any]], stop: str) -> dict[str, Any]:
    message = {
        "id": f"msg_{uuid(session, n, 'response')}",
        "role": "assistant",
        "model": "claude-test-1",
        "content": content,
        "stop_reason": stop,
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100},
    }
    return _chained("assistant", session, n) | {"message": message, "requestId": f"req_{n}"}


def rounds(session: str, count: int, start: int = 0, output: int = 200) -> list[dict[str, Any]]:
    """``count`` rounds of prompt, call, result and answer, from record ``start`` on."""
    chance = random.Random(f"{session}{start}")
    records = []
    for n in range(start, start + 4 * count, 4):
        text = " ".join(chance.choices(WORDS, k=output // 6))
        records += [
            user(session, n, f"look at {chance.choice(WORDS)}"),
            call(session, n + 1, command=f"cat {chance.choice(WORDS)}.txt"),
            result(session, n + 2, text, toolUseResult={"stdout": text, "stderr": ""}),
            assistant(session, n + 3, f"it says {chance.choice(WORDS)}"),
        ]
    return records


def written(path: Path, records: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(encoded, records)))
    return path


def append(path: Path, records: list[Any]) -> None:
    with path.open("ab") as file:
        file.write(b"".join(map(encoded, records)))


def log(root: Path, session: str, records: list[Any], project: str = PROJECT) -> Path:
    return written(root / project / f"{session}.jsonl", records)


def fork(records: list[dict[str, Any]], session: str) -> list[dict[str, Any]]:
    """The history of another session as a fork begins with it: only ``sessionId`` is its own."""
    return [record | {"sessionId": session} for record in records]


def subagent(
    root: Path, parent: str, agent: str, records: list[dict[str, Any]], project: str = PROJECT
) -> Path:
    """A subagent's log beside its ``.meta.json``; the path of the log."""
    own = [
        record | {"sessionId": parent, "agentId": agent, "isSidechain": True} for record in records
    ]
    path = root / project / parent / "subagents" / f"agent-{agent}.jsonl"
    written(path, own)
    meta = {"agentType": "explore", "description": f"agent {agent}", "toolUseId": "toolu_1"}
    whole = path.with_suffix(".new")
    whole.write_text(json.dumps(meta))
    whole.rename(path.with_name(f"agent-{agent}.meta.json"))
    return path


def corpus(root: Path, sessions: int, output: int) -> list[tuple[Path, bytes]]:
    """What the files of a busy week hold: sessions, forks of forks, subagents, spilled output.

    Returned, not written: ``(path, content)``, so that a test can write halves of it.
    """
    return list(_corpus(root, sessions, output))


def _corpus(root: Path, sessions: int, output: int) -> Iterator[tuple[Path, bytes]]:
    earlier: list[dict[str, Any]] = []
    for number in range(sessions):
        session = uuid("corpus", number)
        place = root / f".claude/projects/-work-app{number % 3}"
        records = rounds(session, 3 + number % 5, output=output)
        if number % 4 in (2, 3) and earlier:
            # Every fourth session is a fork, and every other fork one of a fork.
            start = len(earlier) // 2
            records = fork(earlier[:start], session) + rounds(session, 2, start=start)
        earlier = records
        yield place / f"{session}.jsonl", _joined(records)
        if number % 3 == 0:
            agent = f"a{number:03}"
            own = rounds(f"{session}{agent}", 2, output=output)
            below = place / session / "subagents" / f"agent-{agent}"
            yield (
                below.with_suffix(".jsonl"),
                _joined(
                    [r | {"sessionId": session, "agentId": agent, "isSidechain": True} for r in own]
                ),
            )
            meta = {"description": agent, "toolUseId": "toolu_1", "spawnDepth": 1}
            yield below.with_suffix(".meta.json"), encoded(meta)
        if number % 7 == 0:
            yield place / session / "tool-results" / "b1.txt", b"spilled " * 500


def _joined(records: list[dict[str, Any]]) -> bytes:
    return b"".join(map(encoded, records))


def put(files: list[tuple[Path, bytes]]) -> None:
    for path, content in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
