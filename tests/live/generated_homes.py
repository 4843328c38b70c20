"""Homes of mycode and databases of power-loop with sessions that use every feature of theirs."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

Line = dict[str, Any]

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
MODELS = ("claude-sonnet-4-5", "gpt-5.5")
REPOSITORIES = ("kiln", "loom", "mill")
ERROR = "ModuleNotFoundError: No module named 'glaze'"


class Clock:
    """Times that go on by a second, from another hour for each session."""

    def __init__(self, number: int) -> None:
        self.now = START + timedelta(hours=number)

    def tick(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


# ---------------------------------------------------------------- mycode


def write_mycode_home(home: Path, count: int) -> list[str]:
    """``count`` sessions below ``home/.mycode``. Every other one is of release 0.21."""
    names = [f"{number:032x}" for number in range(count)]
    for number, name in enumerate(names):
        directory = home / ".mycode" / "sessions" / name
        directory.mkdir(parents=True)
        clock = Clock(number)
        begun = clock.now
        lines = [_text(line) for line in _mycode_lines(number, clock)]
        if number % 10 == 3:
            lines.insert(2, "{torn")
        (directory / "messages.jsonl").write_text("".join(f"{line}\n" for line in lines))
        (directory / "meta.json").write_text(json.dumps(_mycode_meta(number, name, begun, clock)))
    return names


def _text(line: Line) -> str:
    return json.dumps(line)


def _mycode_meta(number: int, name: str, begun: datetime, clock: Clock) -> Line:
    meta = {
        "cwd": f"/src/{REPOSITORIES[number % 3]}",
        "title": "New chat" if number % 5 == 0 else f"fire the {number}th kiln",
        "created_at": begun.isoformat(),
        "updated_at": clock.now.isoformat(),
    }
    if number % 2 == 0:
        meta |= {"id": name, "provider": "anthropic", "model": MODELS[0], "api_base": None}
        meta["message_format_version"] = 5
    return meta


def _mycode_lines(number: int, clock: Clock) -> Iterator[Line]:
    is_old = number % 2 == 0
    usage = _old_usage if is_old else _new_usage

    def said(role: str, *blocks: Line, **meta: Any) -> Line:
        return {
            "role": role,
            "content": list(blocks),
            "meta": {**meta, "created_at": clock.tick().isoformat()},
        }

    def answered(step: int, *blocks: Line) -> Line:
        facts = {"model": MODELS[number % 2], "provider": "anthropic"}
        facts["provider_message_id"] = f"msg_{number}_{step}"
        return said("assistant", *blocks, **facts, usage=usage(number, step))

    def result(call: str, text: str, is_error: bool) -> Line:
        shape = {"model_text": text, "display_text": text} if is_old else {"output": text}
        return {"type": "tool_result", "tool_use_id": call, "is_error": is_error, **shape}

    yield said("user", _words(f"fire the {number}th kiln"), _attached("a long file"))
    call = f"toolu_{number}"
    yield answered(1, {"type": "thinking", "text": "hm"}, _call(call, "pytest -q"))
    failed = f"{ERROR}\n1 failed in 0.1s\n\n[exit code: 1]"
    yield said("user", result(call, failed, True))
    yield answered(2, _call(f"{call}b", "pip install glaze"))
    yield {**said("user", result(f"{call}b", "done", False)), "ts": 7, "extra": {"kept": True}}
    yield answered(3, _words("Fired."))
    if number % 3 == 0:
        marks = {"compacted_count": 6} if is_old else {}
        used = usage(number, 4)
        yield said("compact", _words("It was fired."), model=MODELS[0], usage=used, **marks)
        yield said("user", _words("and again"))
        yield answered(5, _words("Again."))
    if number % 4 == 1:
        yield {"role": "rewind", "meta": {"rewind_to": 1, "created_at": clock.tick().isoformat()}}
        yield said("user", _words("hotter"))
    if number % 7 == 0:
        yield {"role": "user", "content": [], "meta": {}}
    if number % 6 == 5:
        yield answered(6, _call(f"{call}c", "sleep 1000"))


def _words(text: str) -> Line:
    return {"type": "text", "text": text}


def _attached(text: str) -> Line:
    return {"type": "text", "text": text, "meta": {"attachment": True, "path": "a.txt"}}


def _call(name: str, command: str) -> Line:
    return {"type": "tool_use", "id": name, "name": "bash", "input": {"command": command}}


def _old_usage(number: int, step: int) -> Line:
    """0.4 wrote the provider's own figures; Anthropic's input is without cached tokens."""
    return {
        "input_tokens": 100 + number,
        "output_tokens": 10 + step,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 50,
    }


def _new_usage(number: int, step: int) -> Line:
    sent = 1150 + number
    figures = {"input_tokens": sent, "output_tokens": 10 + step, "total_tokens": sent + 10 + step}
    return {**figures, "cache_read_tokens": 1000, "cache_write_tokens": 50}


# ---------------------------------------------------------------- power-loop


def write_power_loop_database(path: Path, count: int) -> list[str]:
    """``count`` sessions, written by power-loop's own store, with dates of their own."""
    theirs = pytest.importorskip("power_loop.runtime.session_store")
    lifecycles = [theirs.SubagentLifecycle(name) for name in ("ephemeral", "linked", "detached")]
    kinds = {False: theirs.SessionKind.ROOT, True: theirs.SessionKind.SUBAGENT}
    store = theirs.SessionStore.open(str(path))
    names: list[str] = []
    for number in range(count):
        is_child = number % 4 in (1, 2)
        names.append(
            store.create_session(
                session_id=f"sess_{number:024x}",
                system_prompt="You tend a loom." if number % 2 else None,
                model=MODELS[1],
                config={"temperature": number / 10} if number % 3 else None,
                metadata={"cwd": f"/src/{REPOSITORIES[number % 3]}", "ticket": number},
                parent_session_id=names[number - 1] if is_child else None,
                spawn_tool_call_id=f"call_{number - 1}" if is_child else None,
                kind=kinds[is_child],
                lifecycle=lifecycles[number % 3],
            )
        )
        _talk(store, names[-1], number)
    store.close()
    _date(path, names)
    return names


def _talk(store: Any, name: str, number: int) -> None:
    call = {"name": "bash", "arguments": json.dumps({"command": "pytest -q"})}
    calls = [{"id": f"call_{number}", "type": "function", "function": call}]
    store.append_message(name, role="user", content=f"weave {number}", round_index=0)
    store.append_message(name, role="assistant", content="I look.", tool_calls=calls, round_index=0)
    output = f"{ERROR}\n1 failed in 0.1s"
    result = {"tool_call_id": f"call_{number}", "name": "bash", "meta": {"ok": False, "ms": 3}}
    store.append_message(name, role="tool", content=output, round_index=0, **result)
    store.append_message(name, role="assistant", content="Woven.", round_index=1)
    for step in range(2):
        figures = {"prompt_tokens": 500 + number, "completion_tokens": 20, "total_tokens": None}
        store.record_usage(name, round_index=step, **figures)
    if number % 3 == 0:
        tokens = {"before_tokens": 400, "after_tokens": 20, "round_index": 1}
        note = {"note_content": "It was woven.", "note_meta": {"by": "a test"}}
        store.record_compaction(name, from_seq=1, to_seq=3, **tokens, **note)
        store.append_message(name, role="user", content="and again", round_index=2)
    if number % 5 == 4:
        second = [{"id": f"open_{number}", "type": "function", "function": call}]
        store.append_message(name, role="assistant", tool_calls=second, round_index=2)
    store.set_round_index(name, number % 7)
    if number % 8 == 3:
        store.archive_session(name)


def _date(path: Path, names: list[str]) -> None:
    """Give every row a time of its own; all were written within a second."""
    db = apsw.Connection(str(path))
    with db:
        for number, name in enumerate(names):
            begun = int(Clock(number).now.timestamp() * 1000)
            change = "update {} set created_at = ? + {} * 1000 where session_id = ?"
            db.execute(change.format("messages", "seq"), (begun, name))
            db.execute(change.format("compactions", "note_seq"), (begun, name))
            db.execute(change.format("usage_rounds", "(2 + 2 * round_index)"), (begun, name))
            sessions = "update sessions set created_at = ?, updated_at = ? where session_id = ?"
            db.execute(sessions, (begun, begun + 60_000 * number, name))
    db.close()
