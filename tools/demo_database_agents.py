"""Invented sessions of agents that keep a SQLite database: opencode, goose and Crush.

Only the tables and columns that are read, and in small pages, so that a database takes 10 kB.
"""

import json
import struct
import tempfile
from pathlib import Path
from typing import Any

import apsw
from demo_shared import SEED_LIBRARY, TIDEWATCH, Clock, Files, Ids, Line

_PAGE = 512
# What SQLite notes in the header of a file: its own version, and a count of changes. They are the
# only bytes that depend on the version of SQLite that wrote the file.
_CHANGES, _VERSION = slice(24, 28), slice(92, 100)
_NOTED_VERSION = struct.pack(">II", 1, 3_045_000)


class Database:
    """A database that becomes the bytes of a file."""

    def __init__(self, tables: str) -> None:
        self._directory = tempfile.TemporaryDirectory()
        self._path = Path(self._directory.name) / "made.db"
        self._db = apsw.Connection(str(self._path))
        self._db.execute(f"pragma page_size = {_PAGE}; pragma synchronous = off; {tables}")

    def add(self, table: str, **row: Any) -> None:
        values = [json.dumps(one) if isinstance(one, dict | list) else one for one in row.values()]
        marks = ", ".join("?" * len(row))
        self._db.execute(f"insert into {table} ({', '.join(row)}) values ({marks})", values)

    def bytes(self) -> bytes:
        self._db.execute("vacuum")
        self._db.close()
        made = bytearray(self._path.read_bytes())
        self._directory.cleanup()
        made[_CHANGES], made[_VERSION] = struct.pack(">I", 1), _NOTED_VERSION
        return bytes(made)


def new_year() -> Files:
    """opencode 1.18.33: a failing test, an edit, a passing test."""
    db, new, at = Database(OPENCODE), Ids("opencode"), Clock("2026-10-28T20:14:07.000+00:00")
    session, model = "ses_7c04e1b9affe3XqTtLw2Rk", "claude-sonnet-5"
    begun = at.ms(0)
    parts = 0

    def part(message: str, **data: Any) -> None:
        nonlocal parts
        parts += 1
        ms, own = at.ms(0.4), f"prt_{parts:04}{new.short('', 8)}"
        times = {"time_created": ms, "time_updated": ms}
        db.add("part", id=own, message_id=message, session_id=session, data=data, **times)

    def message(number: int, info: Line, *told: Line) -> None:
        created, own = at.ms(), f"msg_{number:04}{new.short('', 8)}"
        for each in told:
            part(own, **each)
        ended = at.ms()
        is_answer = info["role"] == "assistant"
        time = {"created": created, **({"completed": ended} if is_answer else {})}
        times = {"time_created": created, "time_updated": ended}
        db.add("message", id=own, session_id=session, data={**info, "time": time}, **times)

    def answer(number: int, finish: str, used: tuple[int, int, int, int], *told: Line) -> None:
        sent, read, written, given = used
        cost = (2 * sent + 0.2 * read + 2.5 * written + 10 * given) / 1_000_000
        tokens: Line = {"input": sent, "output": given, "reasoning": 0}
        tokens["cache"] = {"read": read, "write": written}
        about: Line = {"role": "assistant", "agent": "build", "mode": "build", "modelID": model}
        about |= {"providerID": "anthropic", "finish": finish, "cost": round(cost, 6)}
        message(number, {**about, "tokens": tokens}, *told)

    def tool(name: str, given: Line, output: str, code: int | None = None) -> Line:
        metadata = {} if code is None else {"exit": code, "output": output}
        state: Line = {"status": "completed", "input": given, "output": output}
        state |= {"metadata": metadata, "time": {"start": at.ms(1), "end": at.ms(1.8)}}
        return {"type": "tool", "tool": name, "callID": new.short("toolu_"), "state": state}

    ask = "A packet harvested on 1 January shows the year before on its page. Find out why."
    message(1, {"role": "user", "agent": "build"}, {"type": "text", "text": ask})
    test = {"command": "TZ=America/Lima npx vitest run page", "description": "Test of the page"}
    failed = "   × shows the year of the harvest\n     → expected 2024 to be 2025\n"
    failed += "      Tests  1 failed | 3 passed (4)\n"
    say = {"type": "text", "text": "Perhaps the time zone: I run the test in Lima."}
    used = (10, 0, 11_310, 118)
    answer(2, "tool-calls", used, say, tool("bash", test, failed, code=1))
    edit = {"filePath": f"{SEED_LIBRARY}/src/page.ts"}
    edit |= {"oldString": "harvested.getFullYear()", "newString": "harvested.getUTCFullYear()"}
    answer(3, "tool-calls", (8, 11_310, 260, 104), tool("edit", edit, "Edit applied successfully."))
    passed = "      Tests  4 passed (4)\n"
    told = tool("bash", test, passed, code=0)
    answer(4, "tool-calls", (8, 11_570, 190, 66), told)
    said = (
        "West of Greenwich 1 January 00:00 UTC is still the old year. The page uses the UTC year."
    )
    answer(5, "stop", (8, 11_760, 130, 47), {"type": "text", "text": said})
    db.add("project", id="seeds", worktree=SEED_LIBRARY, vcs="git")
    db.add(
        "session",
        id=session,
        project_id="seeds",
        directory=SEED_LIBRARY,
        title="Year of a packet from 1 January",
        version="1.18.33",
        time_created=begun,
        time_updated=at.ms(0),
    )
    return {".local/share/opencode/opencode.db": db.bytes()}


def old_answers() -> Files:
    """goose: a command that the person declined, and one that was allowed."""
    db, new, at = Database(GOOSE), Ids("goose"), Clock("2026-06-25T07:02:18.000+00:00")
    session, model = "20260625_1", "gpt-5.4-mini"
    begun = at.sql(0)

    def message(role: str, *content: Line) -> None:
        created = at.ms(5) // 1000
        row = {"message_id": new.short("msg_"), "session_id": session, "role": role}
        seen = {"userVisible": True, "agentVisible": True}
        db.add(
            "messages",
            **row,
            content_json=content_of(content),
            created_timestamp=created,
            metadata_json=seen,
        )

    def content_of(content: tuple[Line, ...]) -> str:
        return json.dumps(list(content))

    def request(sent: int, read: int, given: int) -> None:
        used = {"input_tokens": sent, "output_tokens": given, "cache_read_tokens": read}
        about = {"session_id": session, "model": model, "cost_source": "provider_reported"}
        db.add("usage_ledger", **about, **used, created_timestamp=at.ms(0) // 1000)

    def calls(say: str, command: str, output: str, code: int, *used: int) -> None:
        call = new.short("call_")
        value = {"name": "developer__shell", "arguments": {"command": command}}
        asked = {
            "type": "toolRequest",
            "id": call,
            "toolCall": {"status": "success", "value": value},
        }
        message("assistant", {"type": "text", "text": say}, asked)
        request(*used)
        told: Line = {"content": [{"type": "text", "text": output}], "isError": False}
        told["structuredContent"] = {"exit_code": code}
        if code < 0:
            del told["structuredContent"]
        answer = {"status": "success", "value": told}
        message("user", {"type": "toolResponse", "id": call, "toolResult": answer})

    ask = "The cache directory has 300 MB. What is in it, and what can go?"
    message("user", {"type": "text", "text": ask})
    look = "du -sh ~/.cache/tidewatch/* | sort -h | tail -n 3"
    found = "1.2M\tstations\n18M\tcharts\n281M\tanswers-2025\n"
    calls("I look at the sizes.", look, found, 0, 6_120, 0, 71)
    declined = "The user has declined to run this tool. DO NOT attempt to call this tool again."
    command = "rm -r ~/.cache/tidewatch/answers-2025"
    calls("answers-2025 is not read by any code.", command, declined, -1, 6_310, 5_888, 64)
    said = "I left it. answers-2025 (281 MB) holds answers from before the cache was rewritten; no "
    message("assistant", {"type": "text", "text": f"{said}code reads it, so it can go."})
    request(6_420, 6_144, 58)
    db.add(
        "sessions",
        id=session,
        name="What fills the cache",
        working_dir=TIDEWATCH,
        created_at=begun,
        updated_at=at.sql(0),
        provider_name="openai",
        model_config_json={"model_name": model},
    )
    return {".local/share/goose/sessions/sessions.db": db.bytes()}


def slow_index() -> Files:
    """Crush: a measurement, an edit, the measurement again. The project has the database."""
    db, new, at = Database(CRUSH), Ids("crush"), Clock("2026-08-21T11:37:45.000+00:00")
    session, begun = new(), at.ms(0) // 1000
    messages = 0

    def message(role: str, *parts: tuple[str, Line], **more: Any) -> None:
        nonlocal messages
        messages += 1
        now = at.ms(6) // 1000
        told = [{"type": kind, "data": data} for kind, data in parts]
        times = {"created_at": now, "updated_at": now}
        db.add("messages", id=new(), session_id=session, role=role, parts=told, **times, **more)

    def answers(reason: str, *parts: tuple[str, Line]) -> None:
        about = {"model": "gpt-5.4", "provider": "openai"}
        message("assistant", *parts, ("finish", {"reason": reason}), **about)

    def calls(name: str, given: Line, output: str, *before: tuple[str, Line]) -> None:
        call = new.short("call_")
        asked = {"id": call, "name": name, "input": json.dumps(given), "finished": True}
        answers("tool_use", *before, ("tool_call", asked))
        told = {"tool_call_id": call, "name": name, "content": output, "is_error": False}
        message("tool", ("tool_result", told), ("finish", {"reason": "stop"}))

    ask = "The index page takes three seconds. Where does the time go?"
    message("user", ("text", {"text": ask}), ("finish", {"reason": "stop"}))
    profile = {"command": "python -m cProfile -s cumtime -m tidewatch.web --once / | head -n 4"}
    slow = "3.12 seconds\n  40  3.02  fetch.py:6(tides)\n"
    calls("bash", profile, slow, ("text", {"text": "I measure one request."}))
    old = "tides = all_stations()"
    edit = {"file_path": "tidewatch/web.py", "old_string": old}
    calls("edit", {**edit, "new_string": "names = station_names()"}, "Content replaced.")
    calls("bash", profile, "0.09 seconds\n")
    said = (
        "It fetched the tides of 40 stations to show their names. It asks for the names alone now:"
    )
    answers("end_turn", ("text", {"text": f"{said} 0.09 instead of 3.1 seconds."}))
    db.add(
        "sessions",
        id=session,
        title="Slow index page",
        message_count=messages,
        prompt_tokens=13_480,
        completion_tokens=96,
        cost=0.0517,
        created_at=begun,
        updated_at=at.ms(0) // 1000,
    )
    return {"code/tidewatch/.crush/crush.db": db.bytes()}


OPENCODE = """
    create table project (id text primary key, worktree text, vcs text);
    create table session (
        id text primary key, project_id text, parent_id text, directory text, title text,
        version text, revert text, time_created integer, time_updated integer);
    create table message (
        id text primary key, session_id text, time_created integer, time_updated integer,
        data text);
    create table part (
        id text primary key, message_id text, session_id text, time_created integer,
        time_updated integer, data text);
"""
GOOSE = """
    create table sessions (
        id text primary key, name text, description text default '', user_set_name boolean
        default false, session_type text default 'user', working_dir text, created_at timestamp,
        updated_at timestamp, provider_name text, model_config_json text, accumulated_cost real,
        parent_session_id text);
    create table messages (
        id integer primary key, message_id text, session_id text, role text, content_json text,
        created_timestamp integer, metadata_json text);
    create table usage_ledger (
        id integer primary key, session_id text, created_timestamp integer, model text,
        input_tokens integer, output_tokens integer, cache_read_tokens integer,
        cache_write_tokens integer, cost_source text);
"""
CRUSH = """
    create table sessions (
        id text primary key, parent_session_id text, title text, message_count integer,
        prompt_tokens integer, completion_tokens integer, cost real, updated_at integer,
        created_at integer);
    create table messages (
        id text primary key, session_id text, role text, parts text, model text, provider text,
        is_summary_message integer default 0, created_at integer, updated_at integer);
"""

DATABASE_STORIES = (new_year, old_answers, slow_index)
