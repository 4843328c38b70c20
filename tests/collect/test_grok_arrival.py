"""Grok sessions that arrive in pieces, in any order, give the store that they give at once."""

import random
from pathlib import Path

import pytest

from session_memory.store import open_store
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    collected,
    contents,
)

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.

DRIVEN = Path(__file__).parent.parent / "data" / "grok_driven"
STEPS = 5


def pieces(body: bytes, is_log: bool, chance: random.Random) -> list[bytes]:
    """What the file holds at each step: a log grows anywhere, a document comes at some time."""
    if is_log:
        cuts = sorted(chance.randrange(len(body) + 1) for _ in range(STEPS - 1))
    else:
        cuts = sorted(chance.choice((0, len(body))) for _ in range(STEPS - 1))
    return [body[:cut] for cut in (*cuts, len(body))]


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("scenario", sorted(path.name for path in DRIVEN.iterdir()))
def test_pieces_in_any_order_give_the_same_store(scenario: str, tmp_path: Path) -> None:
    chance = random.Random(scenario)
    home = DRIVEN / scenario / "home"
    growing = {
        tmp_path / path.relative_to(home): pieces(
            path.read_bytes(), path.suffix == ".jsonl", chance
        )
        for path in sorted(home.rglob("*"))
        if path.is_file()
    }
    with open_store(":memory:", durability="normal") as store:
        for step in range(STEPS):
            for path, bodies in growing.items():
                if bodies[step]:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(bodies[step])
            collect(store, tmp_path)
        check_sound(store)
        with collected(tmp_path) as at_once:
            check_same(contents(store), contents(at_once))
