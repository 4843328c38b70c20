"""A changed detector makes stored digests outdated, and a new one needs no other change."""

import json
import os
import re
import shutil
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from forking import Done, run_in_new_python

import session_memory
from session_memory.learn.detect import detectors
from session_memory.testing.claude import ClaudeHome

from .sessions import two_timeouts

PACKAGE = Path(session_memory.__file__).parent
PAGE = Path(__file__).parent.parent.parent / "docs" / "learning.md"


def test_a_changed_detector_makes_stored_digests_outdated(
    claude: ClaudeHome, tmp_path: Path
) -> None:
    """A copy of the package with another threshold runs as a program of its own."""
    home = two_timeouts(claude).write()
    copy = tmp_path / "changed" / "session_memory"
    # With what is compiled, which is valid as long as a module has not changed.
    shutil.copytree(PACKAGE, copy)
    environment = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "SESSION_MEMORY_STORE": str(tmp_path / "memory.db"),
        "PYTHONPATH": str(copy.parent),
    }

    def run(*commands: str) -> list[Done]:
        return run_in_new_python(*commands, env=environment, cwd=tmp_path)

    def analyzed(*done: Done) -> list[int]:
        return [int(json.loads(one.stdout)["analyzed"]) for one in done]

    assert analyzed(*run("sync", "analyze --json", "analyze --json")[1:]) == [2, 0]
    module = copy / "learn" / "detect" / "timeout.py"
    module.write_text(module.read_text("utf-8").replace("OFTEN = 2", "OFTEN = 1"), "utf-8")
    note = "An older version made 2 digests. Make them again:"
    listed, told, checked, *again, listed_again, told_again = run(
        *("sessions", "digest one", "doctor"),
        *("analyze --json", "analyze --json"),
        *("sessions", "digest one --json"),
    )
    assert note in listed.stderr
    assert "An older version made the stored digest." in told.stderr
    assert "2 digests made by an older version" in checked.stdout
    assert analyzed(*again) == [2, 0]
    assert note not in listed_again.stderr
    signals = json.loads(told_again.stdout)["signals"]
    assert "timeout" in {signal["type"] for signal in signals}


@pytest.mark.parametrize(("number", "type_"), [(0, "long_session"), (1, "reads_in_a_row")])
def test_a_detector_on_the_page_passes_its_test_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, type_: str
) -> None:
    section = PAGE.read_text("utf-8").partition("## Add a detector")[2]
    blocks = re.findall(r"^   ```python\n(.*?)^   ```", section, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    code, test = blocks[2 * number : 2 * number + 2]
    name = f"session_memory.learn.detect.{type_}"
    module = ModuleType(name)
    exec(textwrap.dedent(code), module.__dict__)
    monkeypatch.setitem(sys.modules, name, module)
    # The counter of a detector runs only if the detector is one of those found by their files.
    monkeypatch.setitem(detectors(), type_, module.DETECTOR)
    written: dict[str, Any] = {"__name__": "on_the_page", "__package__": __package__}
    exec(textwrap.dedent(test), written)
    (function,) = (given for made, given in written.items() if made.startswith("test_"))
    cases = next(mark for mark in function.pytestmark if mark.name == "parametrize")
    for place, case in enumerate(cases.args[1]):
        function(ClaudeHome(tmp_path / str(place)), *case)
