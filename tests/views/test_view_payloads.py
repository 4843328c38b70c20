"""Payloads: the native record behind an event, whatever is in it."""

import json
from pathlib import Path

import pytest

from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.config import Config
from session_memory.derive.raw_records import parsed_ref
from session_memory.store import Store
from session_memory.testing.collecting import new_store
from session_memory.views.payloads import decoded
from session_memory.views.session import EventSelection, show_session

# Others send a server the statements that these would send it.
pytestmark = pytest.mark.only("sqlite")


def test_a_reference_names_source_place_and_length() -> None:
    assert parsed_ref("0123abcd@100+25#3") == ("0123abcd", 100, 25, 3)
    assert parsed_ref("") == ("", 0, 0, 0)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"a": [1, null]}', {"a": [1, None]}),
        (b'{"a": NaN}', {"a": "NaN"}),
        (b'{"a": "\\ud800"}', {"a": "\ud800"}),
        (b'{"chunk": 1}\n{"chunk": 2}\n', [{"chunk": 1}, {"chunk": 2}]),
        (b'{"a": 1}\n', {"a": 1}),
        (b"no json", "no json"),
        (b"\xff\x00", "\\xff\x00"),
        (b'{"a": ' + b"9" * 5000 + b"}", '{"a": ' + "9" * 5000 + "}"),
        (b"[" * 100_000, "[" * 100_000),
    ],
)
def test_every_record_becomes_something_that_can_be_written_as_json(body, value) -> None:
    assert decoded(body) == value
    json.dumps(decoded(body), allow_nan=False)


def collected(directory: Path, records: list[dict]) -> Store:
    log = directory / "projects" / "-p" / "long.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    store = new_store()
    config = Config()
    sync(store, config, roots(config, (directory,)))
    return store


def test_every_payload_is_its_own_record_across_packs(on_the_database, tmp_path) -> None:
    # Larger than several packs, with one record that spans more than one of them.
    texts = [f"{number} " + "x" * (2_500_000 if number == 5 else 90_000) for number in range(12)]
    records = [
        {"type": "user", "uuid": f"u{number}", "sessionId": "long", "message": {"content": text}}
        for number, text in enumerate(texts)
    ]
    with collected(tmp_path, records) as store:
        view = show_session(store, "claude:long", EventSelection(full=True))
    found = [shown.payload.record for shown in view.events if shown.payload]
    assert found == records


def test_without_full_no_record_is_read(on_the_database, tmp_path, monkeypatch) -> None:
    record = {"type": "user", "uuid": "u", "sessionId": "long", "message": {"content": "hi"}}
    with collected(tmp_path, [record]) as store:
        monkeypatch.setattr("session_memory.store.raw.Raw.unpacked", None)
        (shown,) = show_session(store, "claude:long", EventSelection()).events
    assert shown.payload is None and "payload" not in shown.to_dict()
