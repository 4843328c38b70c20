"""Errors are known by what went wrong, not by where or when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.learn.digest.error_lines import SAMPLE, error_line
from session_memory.learn.digest.fingerprints import fingerprint, normalized

PYTEST = """\
F                                                                        [100%]
=================================== FAILURES ===================================
    def test_add():
>       assert add(2, 3) == 5
E       assert -1 == 5

test_calc.py:5: AssertionError
=========================== short test summary info ============================
FAILED test_calc.py::test_add - assert -1 == 5
1 failed in 0.03s
"""
TRACEBACK = """\
Traceback (most recent call last):
  File "/home/mira/app.py", line 3, in <module>
    import requests
ModuleNotFoundError: No module named 'requests'
"""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("open /home/a/x.txt: no such file", "open /srv/b/c/y.log: no such file"),
        ("src/a.ts(3,5): error TS2345: bad", "lib/deep/b.ts(33,15): error TS2345: bad"),
        ("connect ECONNREFUSED 127.0.0.1:5432", "connect ECONNREFUSED 10.0.0.7:6543"),
        ("listen EADDRINUSE :::3000", "listen EADDRINUSE :::8080"),
        (
            "no row 6f1d5a0e-3c1b-4d7e-9b52-0a4c2f8e7d16",
            "no row 11111111-2222-4333-8444-555555555555",
        ),
        ("at 0xdeadbeef", "at 0x7f001122"),
        ("commit 9a8b7c6d5e is gone", "commit 1f2e3d4c5b is gone"),
        ("took 12.5s at 2026-07-01T10:00:00Z", "took 3s at 2025-01-31T23:59:59.123+02:00"),
        ("cannot open 'tmpab12cd'", "cannot open 'tmpzz99xx'"),
        (r"C:\Users\mira\app\a.py is missing", r"D:\work\b.py is missing"),
        ("\x1b[31mfatal: bad\x1b[0m", "fatal: bad"),
        (
            "lint/correctness/noUnusedVariables: This variable a is unused.",
            "lint/correctness/noUnusedVariables: This import is unused.",
        ),
        (
            "12:5  error  'cart' is assigned but never used  @typescript-eslint/no-unused-vars",
            "3:17 error 'shop' is defined but never used @typescript-eslint/no-unused-vars",
        ),
        ("× eslint(no-debugger): one", "× eslint(no-debugger): another"),
        ("F401 [*] `os` imported but unused", "src/a.py:1:8: F401 `re` imported but unused"),
        ("(eval):1: command not found: python", "bash: line 1: python: command not found"),
        ("sh: 1: python: not found", "zsh:1: command not found: python"),
        ("zsh:1: no matches found: src/*.py", "(eval):1: no matches found: --include=*.ts"),
    ],
)
def test_what_differs_from_one_time_to_the_next_is_left_out(one: str, other: str) -> None:
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("No module named 'requests'", "No module named 'httpx'"),
        ("error TS2345: bad", "error TS2307: bad"),
        ("error[E0308]: mismatched types", "error[E0382]: borrow of moved value"),
        ("bash: foo: command not found", "bash: bar: command not found"),
        ("zsh:1: command not found: foo", "(eval):1: command not found: bar"),
        ("F401 [*] `os` imported but unused", "F811 redefinition of unused `os`"),
        (
            "lint/correctness/noUnusedVariables: bad",
            "lint/correctness/noUnusedImports: bad",
        ),
    ],
)
def test_what_tells_errors_apart_stays(one: str, other: str) -> None:
    assert fingerprint(one) != fingerprint(other)


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (
            "Exit code 2\nls: cannot access '/x': No such file",
            "ls: cannot access '/x': No such file",
        ),
        (
            "Wall time: 0.2 seconds\nOutput:\nbash: rg: command not found",
            "bash: rg: command not found",
        ),
        (TRACEBACK, "ModuleNotFoundError: No module named 'requests'"),
        (PYTEST, "assert -1 == 5"),
        (
            "Compiling\nerror[E0308]: mismatched types\n --> a.rs:3",
            "error[E0308]: mismatched types",
        ),
        (
            "<tool_use_error>String to replace not found.\nString: x</tool_use_error>",
            "String to replace not found.",
        ),
        ("npm warn config\nnpm ERR! code ELIFECYCLE", "npm ERR! code ELIFECYCLE"),
        (
            "Grep failed due to the following issue:\n`path` is missing",
            "Grep failed due to the following issue: `path` is missing",
        ),
        ("failed in sandbox None with execution error: timed out", "timed out"),
        ("[fmt] $ gofmt -w .\n[fmt] Finished in 9ms\n[lint] bad file", "bad file"),
        ("Exit code 1", ""),
        ("", ""),
    ],
)
def test_the_line_a_person_would_search_for_is_found(output: str, line: str) -> None:
    assert error_line(output) == line


def test_a_long_output_is_looked_at_from_both_ends_and_answered_briefly() -> None:
    output = "noise\n" * 200_000 + "ValueError: " + "x" * 5_000
    assert error_line(output).startswith("ValueError: xxx")
    assert len(error_line(output)) <= SAMPLE


@given(st.text())
def test_any_text_has_a_fingerprint_and_a_normal_form_that_stays(text: str) -> None:
    assert len(fingerprint(error_line(text))) == 16
    once = normalized(text)
    assert fingerprint(text) == fingerprint(text)
    assert len(once) <= SAMPLE
