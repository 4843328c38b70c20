"""A diff that is said to be exact is: ``git apply`` makes of the old file the new one's bytes."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
