"""A database as Crush writes it, for tests. Its times are seconds."""

import json
from pathlib import Path
from typing import Any

import apsw

TABLES = """
    create table sessions (
        id text primary key, parent_session_id text, title text not null,
        message_count integer not null default 0, prompt_tokens integer not null default 0,
        completion_tokens integer not null default 0, cost real not null default 0.0,
        summary_message_id text, todos text, updated_at integer not null,
        created_at integer not null);
    create table messages (
        id text primary key, session_id text not null, role text not null,
        parts text not null default '[]', model text, provider text,
        is_summary_message integer default 0 not null, created_at integer not null,
        updated_at integer not null, finished_at integer);
    create index idx_messages_session_id on messages (session_id);
"""
BEGUN = 1_790_000_000


class CrushProject:
    """The database of a project. Each write is a second later, unless ``step`` says otherwise."""

    def __init__(self, project: Path) -> None:
        directory = project / ".crush"
        directory.mkdir(parents=True)
        self.project, self.path = project, directory / "crush.db"
        self.now, self.step, self._ids = BEGUN, 1, 0
        self.db = apsw.Connection(str(self.path))
        self.db.execute("pragma page_size = 1024; pragma synchronous = off")
        self.db.execute(TABLES)

    def close(self) -> None:
        self.db.close()

    def session(self, name: str = "s-1", parent: str | None = None, cost: float = 0.0) -> str:
        row = (name, parent, "Mend the test", cost, self._tick(), self.now)
        self.db.execute(
            "insert into sessions (id, parent_session_id, title, cost, updated_at, created_at)"
            " values (?, ?, ?, ?, ?, ?)",
            row,
        )
        return name

    def message(self, session: str, role: str, *parts: dict[str, Any], **more: Any) -> str:
        self._ids += 1
        # Random, as Crush's are: they tell nothing about the order.
        name = f"{(self._ids * 7919) % 9973:04}-m{self._ids}"
        row = {"id": name, "session_id": session, "role": role, "parts": json.dumps(parts)}
        row |= {"created_at": self._tick(), "updated_at": self.now, **more}
        if role == "assistant":
            row |= {"model": "gpt-5", "provider": "openai"}
        marks = ", ".join(f":{column}" for column in row)
        self.db.execute(f"insert into messages ({', '.join(row)}) values ({marks})", row)
        values = (self.now, session)
        self.db.execute("update sessions set updated_at = ? where id = ?", values)
        return name

    def prompt(self, session: str, text: str) -> str:
        return self.message(session, "user", said(text), part("finish", reason="stop"))

    def change(self, message: str, *parts: dict[str, Any]) -> None:
        values = (json.dumps(parts), self._tick(), message)
        self.db.execute("update messages set parts = ?, updated_at = ? where id = ?", values)

    def rows(self, table: str) -> list[dict[str, Any]]:
        cursor = self.db.execute(f"select * from {table} order by rowid")
        names = [column[0] for column in cursor.get_description()]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def _tick(self) -> int:
        self.now += self.step
        return self.now


def part(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def said(text: str) -> dict[str, Any]:
    return part("text", text=text)


def call(name: str, tool: str, arguments: Any, *, finished: bool = True) -> dict[str, Any]:
    given = json.dumps(arguments)
    return part("tool_call", id=name, name=tool, input=given, finished=finished)


def result(name: str, text: str, *, is_error: bool = False) -> dict[str, Any]:
    return part("tool_result", tool_call_id=name, name="bash", content=text, is_error=is_error)


def ended(reason: str = "end_turn", **more: Any) -> dict[str, Any]:
    return part("finish", reason=reason, time=BEGUN, **more)


def a_session(made: CrushProject) -> None:
    """A prompt, a call that fails, one that edits, and an answer."""
    session = made.session(cost=0.25)
    made.prompt(session, "make the test pass")
    thought = part("reasoning", thinking="first the test", started_at=1, finished_at=2)
    made.message(
        session, "assistant", thought, call("c1", "bash", {"command": "pytest"}), ended("tool_use")
    )
    made.message(session, "tool", result("c1", "1 failed\nExit code 1"), ended("stop"))
    edit = {"file_path": "/w/a.py", "old_string": "1", "new_string": "2"}
    made.message(session, "assistant", call("c2", "edit", edit), ended("tool_use"))
    made.message(session, "tool", result("c2", "edited"), ended("stop"))
    made.message(session, "assistant", said("It passes."), ended())
