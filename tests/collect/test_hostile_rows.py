"""Databases with rubbish in their cells: nothing fails, and what can be read is read."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import crush_home
import goose_home
import pytest
from effort import times
from opencode_home import OpencodeHome, text, tool

from session_memory.testing.collecting import check_sound, collect, new_store, rebuilt

pytestmark = pytest.mark.only("sqlite")

RUBBISH: tuple[Any, ...] = (
    *(None, 0, -1, 1 << 62, -(1 << 63), 1.5, float("inf"), "", "x", "\0", "[]", "{}", "null"),
    *('{"role":', "[" * 3000, '{"a":' * 900, '"\\ud800"', '{"type":7,"data":[]}', b"\xff\xfe"),
    *('[{"type":"text","data":{"text":5}}]', '{"role":"user","time":{"created":"x"}}'),
    *('{"role":"assistant","tokens":{"input":-5,"output":"x","cache":[]},"error":[1]}', "a/../b"),
    *('{"type":"tool","state":{"status":"completed","input":[],"time":{"start":{}}}}', "x" * 500),
    *('[{"type":"toolRequest","toolCall":[]},{"type":"toolResponse","toolResult":7}]', "#", "$$"),
)


def opencode(home: Path) -> Any:
    made = OpencodeHome(home)
    for name in ("ses_a", "ses_b"):
        session = made.session(name)
        made.prompt(session, "first")
        made.answer(session, text("one"), tool("c1", "ls", output="x"))
    return made


def crush(home: Path) -> Any:
    made = crush_home.CrushProject(home)
    crush_home.a_session(made)
    return made


def goose(home: Path) -> Any:
    made = goose_home.GooseHome(home)
    goose_home.a_session(made)
    return made


@pytest.mark.parametrize("make", [opencode, crush, goose])
def test_rubbish_in_any_cell_is_survived(make: Callable[[Path], Any], tmp_path: Path) -> None:
    for seed in range(times(6)):
        draw = random.Random(seed)
        made = make(tmp_path / str(seed))
        root = tmp_path / str(seed)
        tables = ("session", "message", "part") if make is opencode else ("sessions", "messages")
        with new_store() as store:
            collect(store, root)
            for _ in range(draw.randint(1, 6)):
                table = draw.choice(tables)
                columns = [row[1] for row in made.db.execute(f"pragma table_info({table})")]
                column, value = draw.choice(columns), draw.choice(RUBBISH)
                rowids = [row[0] for row in made.db.execute(f"select rowid from {table}")]
                # Some values break a rule of the table.
                statement = f"update or ignore {table} set {column} = ? where rowid = ?"
                try:
                    made.db.execute(statement, (value, draw.choice(rowids)))
                except Exception as error:
                    assert "constraint" in str(error) or "mismatch" in str(error), error
            collect(store, root)
            collect(store, root)
            check_sound(store)
            before = store.fingerprint()
            assert rebuilt(store).fingerprint() == before
        with new_store() as fresh:
            collect(fresh, root)
            check_sound(fresh)
        made.close()
