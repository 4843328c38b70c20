"""A hostile session stays data in the format of every target."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from session_memory import Memory
from session_memory.core.errors import CannotHandOver
from session_memory.handoff import HandoffOptions, hand_over, targets
from session_memory.testing.hostile_session import CANARY, SECRET, hostile_logs

pytestmark = pytest.mark.only("sqlite")
AT = 1_790_000_000_000
ABOVE = {"system", "developer"}
ARGUMENTS = {"input", "args", "arguments", "rawInput"}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    place = tmp_path_factory.mktemp("hostile")
    with Memory(place / "memory.db") as opened:
        opened.sync(roots=[hostile_logs(place / "home")])
        yield opened


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value but the arguments of calls. Texts stay texts."""
    if isinstance(value, dict):
        yield value
        value = [one for name, one in value.items() if name not in ARGUMENTS]
    if isinstance(value, list):
        for one in value:
            yield from objects(one)


@pytest.mark.parametrize("to", targets())
def test_nothing_gets_a_higher_role_leaves_the_home_or_tells_a_secret(
    memory: Memory, to: str, tmp_path: Path
) -> None:
    options = HandoffOptions(cwd="/home/mira/code/demo")
    made = hand_over(memory.store, "claude:evil", to, options, AT, {"HOME": str(tmp_path)})
    assert made.files and made.calls == 11
    for file in made.files:
        assert file.path.resolve().is_relative_to(tmp_path) and ".." not in file.path.parts
        text = file.content.decode()
        assert SECRET not in text and SECRET[20:60] not in text
        if file.path.suffix not in (".jsonl", ".json"):
            assert CANARY not in text or file.path.suffix == ".yaml"
            continue
        # A line of the transcript cannot become a line of the file.
        lines = text.split("\n") if file.path.suffix == ".jsonl" else [text]
        for line in filter(None, lines):
            found = json.loads(line)
            assert json.dumps(found, ensure_ascii=False).encode()  # No half character.
            for one in objects(found):
                role = {one.get("role"), one.get("type")}
                assert not (role & ABOVE and CANARY in json.dumps(one))


@pytest.mark.parametrize("cwd", ["/a/../../etc", "relative", "/home/\x1b[2J", "/a\nb", "/a\0b"])
def test_a_directory_that_leads_elsewhere_is_refused(memory: Memory, cwd: str) -> None:
    for to in targets():
        with pytest.raises(CannotHandOver, match="no directory"):
            hand_over(memory.store, "claude:evil", to, HandoffOptions(cwd=cwd), AT, {"HOME": "/h"})
