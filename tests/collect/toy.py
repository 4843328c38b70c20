"""An agent whose log says, line by line, exactly what a record is: for tests of ``collect`` alone.

A line is a JSON object with the fields of `Record`; ``say`` is short for an event. The log of a
session is ``<session>.toy``, its timeline ``<session>.line``, a document ``<session>.doc``.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from session_memory.adapters import jsonl
from session_memory.adapters.agent import Agent
from session_memory.adapters.base import (
    Base,
    CallOutcome,
    ChildLink,
    Cursor,
    NativeEvent,
    NativeUsage,
    Readable,
    Record,
    SourceRef,
)
from session_memory.core.roles import DOCUMENT, LOG, TIMELINE

ROLES = {".toy": LOG, ".line": TIMELINE, ".doc": DOCUMENT}

_NESTED = {
    "usage": NativeUsage,
    "base": Base,
    "link": ChildLink,
}


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    return [home / ".toy"]


def discover(root: Path) -> Iterator[SourceRef]:
    for path in sorted(root.rglob("*")):
        plain = path.with_suffix("") if path.suffix == ".zst" else path
        if path.is_file() and plain.suffix in ROLES:
            at = path if path != plain else None
            name = f".toy/{plain.name}"
            yield SourceRef(plain, ROLES[plain.suffix], name, session=plain.stem, at=at)


def recognizes(head: bytes) -> bool:
    return head.startswith(b'{"toy"')


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    with source.open(cursor.offset) as stream:
        for offset, length, line in jsonl.lines(stream, cursor.offset):
            yield Cursor(offset + length), _record(source.ref, offset, length, line or b"{}")


def _record(ref: SourceRef, offset: int, length: int, line: bytes) -> Record:
    said: dict[str, Any] = {"session": ref.session, **json.loads(line)}
    said["events"] = [NativeEvent(**event) for event in said.get("events", [])]
    for name, kind in _NESTED.items():
        if name in said:
            said[name] = kind(**said[name])
    said["more_usage"] = [NativeUsage(**usage) for usage in said.get("more_usage", [])]
    said["outcomes"] = [CallOutcome(**outcome) for outcome in said.get("outcomes", [])]
    if ref.role == DOCUMENT:
        said["facts"] = said.get("facts", {})
    elif not said["events"]:
        said["bookkeeping"] = "note"
    return Record(offset=offset, length=length, **said)


AGENT = Agent(
    flavor="toy",
    version=1,
    roots=roots,
    discover=discover,
    recognizes=recognizes,
    read=read,
    bookkeeping=frozenset({"note"}),
)


class ToyLog:
    """Lines of one file, with what every line of a linear log has."""

    def __init__(self, path: Path, *, clock: int = 1_790_000_000_000) -> None:
        self.path = path
        self.lines: list[bytes] = []
        self.clock = clock

    def add(self, *events: dict[str, Any], **fields: Any) -> "ToyLog":
        self.clock += 1000
        number = len(self.lines)
        record: dict[str, Any] = {"ts": self.clock, "events": list(events), **fields}
        if self.path.suffix == ".toy":
            record = {"follows": True, "native_id": f"{self.path.stem}#{number}", **record}
        self.lines.append(msgspec.json.encode(record) + b"\n")
        return self

    def write(self, lines: int | None = None) -> Path:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(b"".join(self.lines[:lines]))
        return self.path


def prompt(text: str) -> dict[str, Any]:
    return {
        "kind": "user_msg",
        "role": "user",
        "summary": text,
        "text": text,
        "is_prompt": True,
        "native_kind": "prompt",
    }


def answer(text: str) -> dict[str, Any]:
    return {
        "kind": "assistant_msg",
        "role": "assistant",
        "summary": text,
        "model": "m1",
        "native_kind": "answer",
    }


def called(call_id: str, command: str = "ls") -> dict[str, Any]:
    return {
        "kind": "tool_call",
        "role": "assistant",
        "tool": "bash",
        "call_id": call_id,
        "arguments": {"command": command},
        "is_shell": True,
        "model": "m1",
        "native_kind": "call",
    }


def resulted(call_id: str, text: str = "ok", **fields: Any) -> dict[str, Any]:
    return {
        "kind": "tool_result",
        "role": "tool",
        "call_id": call_id,
        "text": text,
        "is_shell": True,
        "native_kind": "result",
        **fields,
    }


def went_back(text: str = "went back") -> dict[str, Any]:
    return {"kind": "human_intervention", "role": "user", "summary": text, "native_kind": "back"}
