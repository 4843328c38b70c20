"""A watch goes on when an adapter of another package yields wrong values, or ends the program."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Memory
from .watching import Watching, until

COLLECT = Path(__file__).parents[1] / "collect"
PLUGIN = """
import msgspec
import toy
from session_memory.adapters.base import Cursor

def read(source, cursor):
    for found, record in toy.read(source, cursor):
        text = record.events[0].summary if record.events else ""
        if text == "time":
            record.ts = 2**80
        elif text == "text":
            record = text
        elif text == "beyond":
            found = Cursor(10**6)
        elif text == "exit":
            raise SystemExit(5)
        yield found, record

AGENT = msgspec.structs.replace(toy.AGENT, read=read)
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy as an installed package. What it yields for some lines is wrong."""
    site = tmp_path / "site"
    about = site / "wrong_toy-1.dist-info"
    about.mkdir(parents=True)
    (site / "wrong_toy.py").write_text(PLUGIN)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: wrong-toy\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[session_memory.adapters]\ntoy = wrong_toy\n")
    path = (str(site), str(COLLECT), os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, path)))


def said(number: int, text: str) -> str:
    event = f'{{"kind":"assistant_msg","role":"assistant","summary":"{text}"}}'
    return f'{{"native_id":"m{number}","follows":true,"events":[{event}]}}\n'


def test_wrong_values_do_not_end_a_watch(
    plugin: None, memory: Memory, watch: Callable[..., Watching]
) -> None:
    log, other = memory.root / "one.toy", memory.root / "two.toy"
    log.write_text(said(0, "fine"))
    other.write_text(said(9, "another"))
    following = watch(fresh=True)
    for number, text in enumerate(("time", "text", "fine again", "beyond", "waits"), start=1):
        with log.open("a") as file:
            file.write(said(number, text))
        with other.open("a") as file:
            file.write(said(number + 10, "more"))
        following.has_events("toy:two", number + 1)
    with memory.opened() as store:
        until(lambda: store.problems.count() == 3, "that the problems are stored")
        cursor, time, text = (one.detail for one in store.problems.every())
    assert "WrongCursor: 1000000 is beyond the end of the data" in cursor
    assert time.endswith("gave a wrong record: Expected `int` <= 253402300799999 - at `$.ts`")
    assert text.endswith("gave a wrong record: 'text' is not a Record")
    assert memory.summaries("toy:one") == ["fine", "fine again"]
    assert not [one for one in following.stop() if one["event"] == "error"]
    assert following.process.returncode == 0


@pytest.mark.only("sqlite")
def test_an_adapter_that_ends_the_program_does_not_end_a_watch(
    plugin: None, memory: Memory, watch: Callable[..., Watching]
) -> None:
    log, other = memory.root / "one.toy", memory.root / "two.toy"
    log.write_text(said(0, "fine"))
    following = watch(fresh=True)
    with log.open("a") as file:
        file.write(said(1, "exit"))
    with memory.opened() as store:
        until(lambda: store.problems.count() == 1, "that the failure is noted")
        assert "SystemExit: 5" in store.problems.every()[0].detail
    other.write_text(said(9, "another"))
    following.has_events("toy:two", 1)
    following.stop()
    assert following.process.returncode == 0
