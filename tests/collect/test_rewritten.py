"""Documents that an agent rewrites as a whole, collected again and again."""

import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest

from session_memory.collect import reading, rewritten
from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.config import Config, RetentionConfig
from session_memory.core.time import now_ms
from session_memory.retain.native_files import restore_native
from session_memory.retain.retention_run import retain
from session_memory.store import Store, open_store
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    collected,
    contents,
    events_of,
    new_store,
    rebuilt,
    usage_of,
)

# A server gets every statement from the few that run on both databases.
pytestmark = [pytest.mark.only("sqlite"), pytest.mark.usefixtures("on_the_database")]
BOTH = pytest.mark.only("sqlite", "postgresql")

AT = "2026-02-15T06:49:16.723Z"
UID = "gemini:s1"


def prompt(own: str, text: str) -> dict[str, Any]:
    return {"id": own, "timestamp": AT, "type": "user", "content": text}


def answer(own: str, text: str, **fields: Any) -> dict[str, Any]:
    tokens = {"input": 100, "cached": 60, "output": 7, "thoughts": 3, "tool": 0, "total": 110}
    model = {"model": "gemini-2.5-pro", "tokens": tokens}
    return {"id": own, "timestamp": AT, "type": "gemini", "content": text, **model, **fields}


def call(own: str, status: str, output: str = "") -> dict[str, Any]:
    response = {"functionResponse": {"id": own, "response": {"output": output}}}
    asked = {"id": own, "name": "run_shell_command", "args": {"command": "make"}, "status": status}
    return {**asked, "result": [response]} if output else asked


class Document:
    """A session of an old Gemini CLI, which rewrites its document for each message."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.path = home / ".gemini" / "tmp" / "0b5" / "chats" / "session-2026-02-15-s1.json"
        self.path.parent.mkdir(parents=True)
        self.written = 0

    def write(self, *messages: dict[str, Any], cut: int | None = None) -> bytes:
        self.written += 1
        head = {"sessionId": "s1", "projectHash": "0b5", "startTime": AT}
        native = {**head, "lastUpdated": f"generation {self.written}", "messages": messages}
        data = json.dumps(native, indent=2).encode()
        self.path.write_bytes(data[:cut])
        os.utime(self.path, ns=(self.written * 10**9, self.written * 10**9))
        return data


@pytest.fixture
def document(tmp_path: Path) -> Document:
    return Document(tmp_path / "home")


def summaries(store: Store, uid: str = UID) -> list[tuple[str, str]]:
    return [(event.kind, event.summary) for event in events_of(store, uid)]


def check_restored(store: Store, target: Path, data: bytes) -> None:
    (file,) = restore_native(store, None, target)
    assert file.path.read_bytes() == data
    assert file.bytes == len(data)


TALK = [
    message
    for number in range(1, 9)
    for message in (prompt(f"p{number}", f"ask {number}"), answer(f"a{number}", f"say {number}"))
]


@BOTH
def test_only_what_is_new_is_stored_and_the_last_generation_comes_back(
    document: Document, tmp_path: Path
) -> None:
    long = [prompt("p0", "read this: " + " ".join(map(str, range(9000))))]
    with new_store() as store:
        sizes = []
        for end in range(0, len(TALK) + 1, 4):
            data = document.write(*long, *TALK[:end])
            report = collect(store, document.home).report
            sizes.append(report.bytes)
            assert report.events == (4 if end else 1)
        assert sizes[0] > 40_000 and max(sizes[1:]) < 2000
        check_sound(store)
        check_restored(store, tmp_path / "again", data)
        assert len(usage_of(store, UID)) == 8
        before = contents(store)
        check_same(before, contents(rebuilt(store)))
        with collected(document.home) as fresh:
            assert summaries(fresh) == summaries(store)


def test_a_touched_document_is_unchanged(document: Document) -> None:
    document.write(*TALK)
    with collected(document.home) as store:
        before = contents(store)
        os.utime(document.path, ns=(10**18, 10**18))
        report = collect(store, document.home).report
        assert (report.events, report.bytes, report.problems) == (0, 0, 0)
        check_same(before, contents(store))


@BOTH
def test_a_message_that_changed_gives_what_is_new_in_it(document: Document, tmp_path: Path) -> None:
    ask = prompt("p1", "build it")
    with new_store() as store:
        for calls in (
            [],
            [call("c1", "executing")],
            [call("c1", "success", "made"), call("c2", "error", "no")],
        ):
            data = document.write(ask, answer("a1", "I build.", toolCalls=calls))
            collect(store, document.home)
        assert summaries(store)[1:] == [
            ("assistant_msg", "I build."),
            ("tool_call", "make"),
            ("tool_result", "made"),
            ("tool_call", "make"),
            ("error", "no"),
        ]
        assert [usage.output_tokens for usage in usage_of(store, UID)] == [10]
        check_sound(store)
        check_restored(store, tmp_path / "again", data)


def test_messages_that_a_document_lost_are_kept_on_a_branch(document: Document) -> None:
    with new_store() as store:
        document.write(*TALK[:6])
        collect(store, document.home)
        document.write(*TALK[:2], prompt("p9", "another way"), answer("a9", "as you wish"))
        collect(store, document.home)
        on_path = [event.summary for event in events_of(store, UID) if event.branch is None]
        assert on_path[:2] == ["ask 1", "say 1"]
        assert on_path[-2:] == ["another way", "as you wish"]
        left = [event.summary for event in events_of(store, UID) if event.branch is not None]
        assert left == ["ask 2", "say 2", "ask 3", "say 3"]
        check_sound(store)


@BOTH
def test_a_document_that_is_half_written_is_no_end(document: Document, tmp_path: Path) -> None:
    with new_store() as store:
        document.write(*TALK[:6])
        collect(store, document.home)
        before = summaries(store)
        for cut in (0, 40, 700, 1200):
            data = document.write(*TALK, cut=cut)[:cut]
            collect(store, document.home)
            assert summaries(store)[:6] == before
            assert all(event.branch is None for event in events_of(store, UID))
            check_restored(store, tmp_path / f"cut {cut}", data)
        document.write(*TALK)
        collect(store, document.home)
        with collected(document.home) as fresh:
            assert summaries(fresh) == summaries(store)
        check_sound(store)


@BOTH
def test_a_sync_that_ends_after_any_chunk_is_continued(
    document: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("session_memory.collect.file_pieces.SHORT_LINES", 1)
    monkeypatch.setattr("session_memory.collect.file_pieces.WINDOW", 1)
    monkeypatch.setattr("session_memory.collect.batches.BATCH_CHUNKS", 1)
    document.write(*TALK[:2])
    with new_store() as store:
        collect(store, document.home)
        data = document.write(*TALK)
        chunks = reading.SourceReading.chunks
        for number in (1, 3, 6):

            def some(self: Any, task: Any, most: int = number) -> Any:
                for count, chunk in enumerate(chunks(self, task)):
                    if count == most:
                        raise OSError("the disk is gone")
                    yield chunk

            with monkeypatch.context() as patch:
                patch.setattr(reading.SourceReading, "chunks", some)
                collect(store, document.home)
            assert len(summaries(store)) < len(TALK)
        collect(store, document.home)
        assert [said for _, said in summaries(store)] == [one["content"] for one in TALK]
        check_sound(store)
        check_restored(store, tmp_path / "again", data)


def test_secrets_are_masked_and_a_message_is_stored_once(
    document: Document, tmp_path: Path
) -> None:
    secrets = [f"export API_TOKEN=sk-proj-{'Ab3dE5gH7jK9mN1p' * 2}{number}x" for number in range(3)]
    config = Config(redact=True)
    said = [prompt(f"p{number}", text) for number, text in enumerate(secrets)]
    with new_store() as store:
        for end in range(1, len(said) + 1):
            document.write(*said[:end])
            sync(store, config, roots(config, (document.home,)), host="here")
        kept = b"".join(b"".join(store.raw.pieces(row.id)) for row in store.sources.every())
        assert kept.count(b'{"message"') == len(said)
        check_sound(store)
        (file,) = restore_native(store, None, tmp_path / "again")
        again = file.path.read_bytes()
        assert len(again) == document.path.stat().st_size
        assert again != document.path.read_bytes()
        assert len(json.loads(again)["messages"]) == len(said)


@pytest.mark.parametrize("archived", [True, False])
def test_an_evicted_session_whose_document_grows_comes_back(
    document: Document, tmp_path: Path, archived: bool
) -> None:
    limits = RetentionConfig(archive_dir=str(tmp_path / "archive"), archive=archived)
    config = Config(retention=limits)
    document.write(*TALK[:4])
    with new_store() as store:
        collect(store, document.home)
        with store.transaction():
            store.db.execute("update sessions set analyzed_revision = revision, analyzed_at = 1")
        retain(store, config, now_ms() + 400 * 86_400_000, lambda uids: None)
        assert store.raw.stored_bytes() == (0, 0)
        data = document.write(*TALK)
        sync(store, config, roots(config, (document.home,)), host="here")
        assert [said for _, said in summaries(store)] == [one["content"] for one in TALK]
        check_sound(store)
        check_restored(store, tmp_path / "again", data)


def test_a_document_that_is_too_long_is_a_problem(
    document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewritten, "LONGEST", 500)
    document.write(*TALK)
    with collected(document.home) as store:
        ((_, problem),) = [(p.reason, p.detail) for p in store.problems.every()]
        assert "too long" in problem


class Killed(BaseException):
    """Nothing catches it, as nothing can be done when a process is killed."""


@pytest.mark.parametrize("write", [1, 4, 7, 10, 13, 16])
def test_killed_while_a_rewritten_document_is_collected_the_next_run_goes_on(
    document: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: int
) -> None:
    place = str(tmp_path / "memory.db")
    with new_store() as unharmed:
        document.write(*TALK[:6])
        collect(unharmed, document.home)
        with open_store(place) as store:
            collect(store, document.home)
        document.write(*TALK[:4], answer("a9", "another answer"), *TALK[8:])
        collect(unharmed, document.home)
        with (
            open_store(place) as store,
            monkeypatch.context() as patched,
            pytest.raises(Killed),
        ):
            _kill_at(patched, type(store.db), write)
            collect(store, document.home)
        with open_store(place) as store:
            collect(store, document.home)
            check_sound(store)
            check_same(contents(unharmed), contents(store))


def _kill_at(patched: pytest.MonkeyPatch, driver: type, write: int) -> None:
    """End the program at its write with this number."""
    numbers = itertools.count(1)

    def counted(method: Any) -> Any:
        def call(*words: Any, **named: Any) -> Any:
            if next(numbers) == write:
                raise Killed
            return method(*words, **named)

        return call

    for name in ("execute", "_many"):
        patched.setattr(driver, name, counted(getattr(driver, name)))
