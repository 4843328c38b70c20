"""A database as goose writes it, for tests."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

TABLES = """
    create table sessions (
        id text primary key, name text not null default '', description text not null default '',
        user_set_name boolean default false, session_type text not null default 'user',
        working_dir text not null, created_at timestamp, updated_at timestamp,
        extension_data text default '{}', total_tokens integer, input_tokens integer,
        output_tokens integer, accumulated_total_tokens integer,
        accumulated_input_tokens integer, accumulated_output_tokens integer,
        provider_name text, model_config_json text, goose_mode text not null default 'auto');
    create table messages (
        id integer primary key autoincrement, message_id text, session_id text not null,
        role text not null, content_json text not null, created_timestamp integer not null,
        timestamp timestamp, tokens integer, metadata_json text);
    create index idx_messages_session on messages (session_id);
"""
# What schemas 14 to 17 add.
NEWER_TABLES = """
    alter table sessions add column accumulated_cache_read_tokens integer;
    alter table sessions add column accumulated_cache_write_tokens integer;
    alter table sessions add column accumulated_cost real;
    alter table sessions add column parent_session_id text;
    create table usage_ledger (
        id integer primary key autoincrement, session_id text not null,
        created_timestamp integer not null, model text, input_tokens integer,
        output_tokens integer, total_tokens integer, cache_read_tokens integer,
        cache_write_tokens integer, cost real, cost_source text, is_compaction integer default 0);
"""
BEGUN = 1_790_000_000
SEEN = {"userVisible": True, "agentVisible": True}


class GooseHome:
    """Writes rows. Each write is a second later."""

    def __init__(self, home: Path) -> None:
        directory = home / ".local/share/goose/sessions"
        directory.mkdir(parents=True)
        self.home, self.path = home, directory / "sessions.db"
        self.now, self._ids = BEGUN, 0
        self.db = apsw.Connection(str(self.path))
        self.db.execute("pragma page_size = 1024; pragma synchronous = off")
        self.db.execute(TABLES)

    def close(self) -> None:
        self.db.close()

    def session(self, name: str = "20260403_1", kind: str = "user") -> str:
        model = json.dumps({"model_name": "gpt-5"})
        self.db.execute(
            "insert into sessions (id, name, session_type, working_dir, created_at, updated_at,"
            " provider_name, model_config_json) values (?, 'Mend it', ?, '/home/mira/app', ?, ?,"
            " 'openai', ?)",
            (name, kind, self._tick(), self._text(), model),
        )
        return name

    def message(
        self, session: str, role: str, *content: Any, name: str = "", **metadata: Any
    ) -> str:
        self._ids += 1
        name = name or f"msg_{self._ids}"
        self._tick()
        self.db.execute(
            "insert into messages (message_id, session_id, role, content_json, created_timestamp,"
            " metadata_json) values (?, ?, ?, ?, ?, ?)",
            (name, session, role, json.dumps(content), self.now, json.dumps({**SEEN, **metadata})),
        )
        values = (self._text(), session)
        self.db.execute("update sessions set updated_at = ? where id = ?", values)
        return name

    def use(self, session: str, sent: int, given: int) -> None:
        """Add to what a session used."""
        self.db.execute(
            "update sessions set accumulated_input_tokens = coalesce(accumulated_input_tokens, 0)"
            " + ?, accumulated_output_tokens = coalesce(accumulated_output_tokens, 0) + ?"
            " where id = ?",
            (sent, given, session),
        )

    def request(
        self, session: str, model: str, sent: int, given: int, read: int = 0, written: int = 0
    ) -> None:
        """Log a request as schema 15 does. What the ledger does not have yet is carried forward."""
        columns = "accumulated_input_tokens, accumulated_output_tokens"
        of_session = f"select {columns} from sessions where id = ?"
        [had] = self.db.execute(of_session, (session,)).fetchall()
        ledger = "select sum(input_tokens), sum(output_tokens) from usage_ledger"
        [known] = self.db.execute(f"{ledger} where session_id = ?", (session,)).fetchall()
        missing = [(one or 0) - (two or 0) for one, two in zip(had, known, strict=True)]
        if any(missing):
            self._log_used(session, None, *missing, 0, 0, "carried_forward")
        self.use(session, sent, given)
        self._log_used(session, model, sent, given, read, written, "provider_reported")

    def _log_used(self, session: str, *row: Any) -> None:
        self._tick()
        self.db.execute(
            "insert into usage_ledger (session_id, created_timestamp, model, input_tokens,"
            " output_tokens, cache_read_tokens, cache_write_tokens, cost_source)"
            " values (?, ?, ?, ?, ?, ?, ?, ?)",
            (session, self.now, *row),
        )

    def write_again(self, session: str) -> None:
        """Write all messages of a session again, as a compaction does."""
        columns = "message_id, session_id, role, content_json, created_timestamp, metadata_json"
        statement = f"select {columns} from messages where session_id = ? order by id"
        rows = self.db.execute(statement, (session,)).fetchall()
        self.db.execute("delete from messages where session_id = ?", (session,))
        for row in rows:
            self.db.execute(f"insert into messages ({columns}) values (?, ?, ?, ?, ?, ?)", row)

    def rows(self, table: str) -> list[dict[str, Any]]:
        cursor = self.db.execute(f"select * from {table} order by rowid")
        names = [column[0] for column in cursor.get_description()]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def _tick(self) -> str:
        self.now += 1
        return self._text()

    def _text(self) -> str:
        return datetime.fromtimestamp(self.now, UTC).strftime("%Y-%m-%d %H:%M:%S")


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def asked(name: str, tool: str, **arguments: Any) -> dict[str, Any]:
    value = {"name": tool, "arguments": arguments}
    return {"type": "toolRequest", "id": name, "toolCall": {"status": "success", "value": value}}


def answered(name: str, text: str, **more: Any) -> dict[str, Any]:
    value = {"content": [{"type": "text", "text": text}], "isError": False, **more}
    return {"type": "toolResponse", "id": name, "toolResult": {"status": "success", "value": value}}


def a_session(made: GooseHome) -> str:
    session = made.session()
    made.message(session, "user", said("make the test pass"))
    thought = {"type": "thinking", "thinking": "first the test", "signature": ""}
    made.message(session, "assistant", thought, asked("c1", "developer__shell", command="pytest"))
    failed = answered("c1", "1 failed", structuredContent={"exit_code": 1}, isError=True)
    made.message(session, "user", failed)
    edit = {"command": "str_replace", "path": "/w/a.py", "old_str": "1", "new_str": "2"}
    made.message(session, "assistant", asked("c2", "developer__text_editor", **edit))
    made.message(session, "user", answered("c2", "edited"))
    made.message(session, "assistant", said("It passes."))
    made.use(session, 1000, 20)
    return session
