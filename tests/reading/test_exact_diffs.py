"""A diff that is said to be exact is: ``git apply`` makes of the old file the new one's bytes."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.core.large_diffs import large_hunks
from session_memory.core.patches import applied, compared
from session_memory.testing.claude import ClaudeHome, call

from .hostile import collected

LINES = st.lists(st.sampled_from(["a", "\tb", "c\r", "", "d\x0ce", "f\u2028g"]), max_size=9)
TEXTS = st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"]))


def created(log, path: str, content: str) -> None:
    log.answer(call("Write", file_path=path, content=content))
    noted = {"type": "create", "filePath": path, "content": content, "originalFile": None}
    log.result("done", toolUseResult=noted)


@pytest.mark.parametrize(
    "content",
    ["all:\n\techo hi\n", "\tno end", "dos\r\n\tlines\r\n", "page\x0cbreak\u2028\n"],
    ids=["tabs", "no newline at the end", "carriage returns", "other line ends"],
)
def test_what_diff_prints_is_what_git_applies(run, tmp_path: Path, content: str) -> None:
    home = ClaudeHome(tmp_path / "home", cwd="/w")
    created(home.session("cafe0000"), "/w/Makefile", content)
    home.write()
    collected(home.path, tmp_path / "memory.db")
    patch = run("diff", "cafe").stdout_bytes
    work = tmp_path / "work"
    work.mkdir()
    if content.isascii() and "\x0c" not in content:
        subprocess.run(["git", "apply", "-"], input=patch, cwd=work, check=True)
        assert (work / "Makefile").read_bytes() == content.encode()
    else:
        # What one cannot see is shown as an escape: only the JSON has it as it was.
        assert b"+page\\x0cbreak\\u2028\n" in patch


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_numbered_hunks_lead_exactly_from_old_to_new(old: str, new: str) -> None:
    lines = compared(old, new, numbered=True)
    assert (lines == ()) == (old == new)
    if old and new and lines and lines[0].split()[1].startswith("-1"):
        assert applied(old, lines) == new


def by_number(old: list[str], hunks: list[str]) -> list[str]:
    """Apply hunks where their line numbers say, and check the old lines and the counts."""
    new: list[str] = []
    at = 0
    while hunks:
        numbers = [part.split(",") for part in hunks[0].strip("@ ").split()]
        (start, *size), (new_start, *new_size) = ((n[0][1:], *n[1:]) for n in numbers)
        length, new_length = (int(one[0]) if one else 1 for one in (size, new_size))
        begin = int(start) - (length > 0)
        new += old[at:begin]
        assert len(new) == int(new_start) - (new_length > 0)
        end = next((n for n, line in enumerate(hunks) if n and line.startswith("@@")), len(hunks))
        body, hunks = hunks[1:end], hunks[end:]
        assert [line[1:] for line in body if line[0] != "+"] == old[begin : begin + length]
        new += (added := [line[1:] for line in body if line[0] != "-"])
        assert len(added) == new_length
        at = begin + length
    return new + old[at:]


LONG = st.lists(st.sampled_from("abcdefghijklmnop"), max_size=40)


@settings(deadline=None)
@given(LONG, LONG, st.integers(0, 60))
def test_hunks_of_long_texts_give_the_new_text(old: list[str], new: list[str], most: int) -> None:
    lines = large_hunks(old, new, most=most, context=3)
    assert (lines == []) == (old == new)
    assert by_number(old, lines) == new


def test_a_change_of_a_long_file_shows_only_the_changed_lines() -> None:
    old = ["}" if n % 3 else f"line {n}" for n in range(5_000)]
    new = [*old[:10], "first", *old[10:2_451], *old[2_452:4_900], "last", *old[4_900:]]
    lines = compared("\n".join(old), "\n".join(new), numbered=True)
    changed = [line for line in lines if line[0] in "+-"]
    assert changed == ["+first", "-line 2451", "+last"]
