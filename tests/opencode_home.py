"""A database as opencode writes it, for tests: sessions, prompts, answers and calls."""

import json
from pathlib import Path
from typing import Any

import apsw

TABLES = """
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
    create index by_session on message (session_id, time_created, id);
    create index by_message on part (message_id, id);
    create index parts_by_session on part (session_id);
    create table event (id text primary key, aggregate_id text, seq integer, type text, data text);
    create index event_types on event (aggregate_id, type, seq);
    create table session_message (
        id text primary key, session_id text, type text, seq integer, time_created integer,
        time_updated integer, data text);
    insert into project values ('p', '/home/mira/app', 'git');
"""
BEGUN = 1_790_000_000_000


class OpencodeHome:
    """Writes rows. ``now`` is the clock; each write moves it on by ``step`` milliseconds."""

    def __init__(self, home: Path, *, wal: bool = False, program: str = "opencode") -> None:
        directory = home / ".local/share" / program
        directory.mkdir(parents=True, exist_ok=True)
        self.home = home
        self.path = directory / f"{program}.db"
        self.now, self.step, self._ids = BEGUN, 1000, 0
        self.db = apsw.Connection(str(self.path))
        self.db.execute("pragma synchronous = off")
        if wal:
            self.db.execute("pragma journal_mode = wal")
        self.db.execute(TABLES)

    def close(self) -> None:
        self.db.close()

    def session(self, name: str = "ses_a", parent: str | None = None, title: str = "Mend") -> str:
        row = (name, "p", parent, "/home/mira/app", title, "1.18.33", None, self._tick(), self.now)
        self.db.execute("insert into session values (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        return name

    def prompt(self, session: str, text: str) -> str:
        message = self.message(session, {"role": "user", "agent": "build"})
        self.part(message, {"type": "text", "text": text})
        return message

    def answer(
        self, session: str, *parts: dict[str, Any], used: int = 10, done: bool = True
    ) -> str:
        tokens = {"input": used, "output": 2, "reasoning": 1, "cache": {"read": 5, "write": 0}}
        info = {"role": "assistant", "modelID": "gpt-5", "providerID": "openai", "tokens": {}}
        message = self.message(session, info)
        for part in parts:
            self.part(message, part)
        if done:
            self.finish(message, tokens=tokens, finish="stop")
        return message

    def finish(self, message: str, **more: Any) -> None:
        info = self.data("message", message)
        info["time"]["completed"] = self._tick()
        self.change("message", message, {**info, **more})

    def message(self, session: str, info: dict[str, Any]) -> str:
        name, at = self._id("msg"), self._tick()
        data = json.dumps({**info, "time": {"created": at}})
        self.db.execute("insert into message values (?, ?, ?, ?, ?)", (name, session, at, at, data))
        self._touch(session)
        self._event(session, "message.updated.1", info={**json.loads(data), "id": name})
        return name

    def part(self, message: str, data: dict[str, Any]) -> str:
        name, at, session = self._id("prt"), self._tick(), self._session_of(message)
        row = (name, message, session, at, at, json.dumps(data))
        self.db.execute("insert into part values (?, ?, ?, ?, ?, ?)", row)
        told = {**data, "id": name, "sessionID": session, "messageID": message}
        self._event(session, "message.part.updated.1", part=told, time=at)
        return name

    def change(self, table: str, name: str, data: dict[str, Any]) -> None:
        statement = f"update {table} set data = ?, time_updated = ? where id = ?"
        self.db.execute(statement, (json.dumps(data), self._tick(), name))
        if table == "message":
            info = {**data, "id": name}
            self._event(self._session_of(name), "message.updated.1", info=info)

    def data(self, table: str, name: str) -> dict[str, Any]:
        [(data,)] = self.db.execute(f"select data from {table} where id = ?", (name,))
        return dict(json.loads(data))

    def revert(self, session: str, message: str | None) -> None:
        revert = json.dumps({"messageID": message}) if message else None
        self.db.execute("update session set revert = ? where id = ?", (revert, session))
        self._touch(session)

    def remove_from(self, session: str, message: str) -> None:
        """Remove a message and all after it, as the next prompt does after a revert."""
        later = "select id from message where session_id = ? and id >= ? order by id"
        for (name,) in self.db.execute(later, (session, message)).fetchall():
            self.db.execute("delete from part where message_id = ?", (name,))
            self.db.execute("delete from message where id = ?", (name,))
            self._event(session, "message.removed.1", sessionID=session, messageID=name)
        self.revert(session, None)

    def fork(self, session: str, name: str, parent: str | None = None, **renamed: str) -> str:
        """A copy of a session with other ids, as opencode makes it.

        A fork of Kilo copies subagents, too (``parent``), and writes the new ids of the sessions
        into the copied parts (``renamed``).
        """
        self.session(name, parent, title="Mend (fork #1)")
        messages = "select id, time_created, data from message where session_id = ? order by id"
        for old, created, data in self.db.execute(messages, (session,)).fetchall():
            new = self._id("msg")
            row = (new, name, created, self._tick(), data)
            self.db.execute("insert into message values (?, ?, ?, ?, ?)", row)
            parts = "select data from part where message_id = ? order by id"
            for (part,) in self.db.execute(parts, (old,)).fetchall():
                for before, after in renamed.items():
                    part = part.replace(before, after)
                self.part(new, json.loads(part))
        return name

    def rows(self, table: str) -> list[dict[str, Any]]:
        cursor = self.db.execute(f"select * from {table} order by id")
        names = [column[0] for column in cursor.get_description()]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def _session_of(self, message: str) -> str:
        [(session,)] = self.db.execute("select session_id from message where id = ?", (message,))
        return str(session)

    def next_message(self, session: str, kind: str, **data: Any) -> str:
        """Write a message of opencode's next interface."""
        name, at = self._id("msg"), self._tick()
        seq = self._ids
        told = json.dumps({"time": {"created": at}, **data})
        row = (name, session, kind, seq, at, at, told)
        self.db.execute("insert into session_message values (?, ?, ?, ?, ?, ?, ?)", row)
        self._touch(session)
        return name

    def _event(self, session: str, kind: str, **data: Any) -> None:
        count = "select count(*) from event where aggregate_id = ?"
        [(seq,)] = self.db.execute(count, (session,))
        row = (self._id("evt"), session, seq, kind, json.dumps(data))
        self.db.execute("insert into event values (?, ?, ?, ?, ?)", row)

    def _touch(self, session: str) -> None:
        values = (self.now, session)
        self.db.execute("update session set time_updated = ? where id = ?", values)

    def _id(self, prefix: str) -> str:
        self._ids += 1
        return f"{prefix}_{self._ids:06}"

    def _tick(self) -> int:
        self.now += self.step
        return self.now


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said, "time": {"start": 1, "end": 2}}


def tool(call: str, command: str, status: str = "completed", **state: Any) -> dict[str, Any]:
    """A call of the shell, with the fields of its state."""
    state = {"status": status, "input": {"command": command}, **state}
    return {"type": "tool", "tool": "bash", "callID": call, "state": state}
