"""An edit that is still in the checkout is no fix of an error that came back."""

import os
from pathlib import Path

import pytest

from session_memory.hooks.in_place import is_in_place

pytestmark = pytest.mark.only("sqlite")

LINES = ["-import os as peel", "+from orchard import peel_off", "+}"]
PATH = "/Users/other/code/orchard/src/kumquat.py"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import sys\n  from orchard import peel_off\n", True),
        ("from orchard import peel_off\nimport os as peel\n", False),
        ("from orchard import peel\n}\n", False),
        ("", False),
    ],
)
def test_all_added_lines_and_no_removed_ones(tmp_path: Path, text: str, expected: bool) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "kumquat.py").write_text(text)
    assert is_in_place(str(tmp_path), PATH, LINES) is expected
    assert is_in_place(str(tmp_path), f"x.py, {PATH}", LINES) is expected
    assert not is_in_place(str(tmp_path), PATH, ["-import os as peel", "+}"])


def test_odd_paths_are_no_files(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    (checkout / "src").mkdir(parents=True)
    (tmp_path / "kumquat.py").write_text("from orchard import peel_off\n")
    os.mkfifo(checkout / "src" / "pipe.py")
    (checkout / "src" / "link.py").symlink_to(tmp_path / "kumquat.py")
    for path in ("../kumquat.py", "src/../../kumquat.py", "src/pipe.py", "src/link.py", "src", ""):
        assert not is_in_place(str(checkout), path, LINES)
    for path in ("\0", "/" * 5_000, "a/" * 5_000 + "kumquat.py"):
        assert not is_in_place(str(checkout), path, LINES)
