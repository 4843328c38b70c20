"""The errors that an output shows, as each runner prints them."""

import pytest

from session_memory.learn.digest.error_lines import MOST_ERRORS, error_line, error_lines
from session_memory.learn.digest.output_errors import errors_in_output

BIOME = """\
$ biome check --error-on-warnings
 at web/src/App.tsx:60:2 lint/correctness/useExhaustiveDependencies  FIXABLE  ━━━━━━━━

  ! This hook specifies more dependencies than necessary: logs.

    59 │ // scroll
  > 60 │ useEffect(() => {

web/src/b.ts format ━━━━━━━━━━

  × Formatter would have printed the following content:

Found 2 errors.
error: script "lint" exited with code 1
husky - pre-commit script failed (code 1)
"""
BUN = """\
bun test v1.3.5
[Parser] Warning: could not parse
error: Item 3 failed
(pass) runs all items
error: expect(received).toBe(expected)

Expected: 200
Received: 500
      at <anonymous> (/home/mira/a.test.ts:3:2)
(fail) routes > returns the history [3.10ms]

 12 pass
 1 fail
"""
MOCHA = """\
  1 failing

  1) Sessions
       shows the time:

      AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:
+ actual - expected

+ '12:00'
- '09:00'
"""
ACTIONS = """\
check\tRun make check\t2026-07-04T10:00:00.1234567Z F401 [*] `pytest` imported but unused
check\tRun make check\t2026-07-04T10:00:00.1234567Z  --> tests/test_a.py:3:8
check\tRun make check\t2026-07-04T10:00:01.1234567Z ##[error]Process completed with exit code 2.
"""


def found(text: str) -> list[tuple[str, str, str]]:
    return [(error.tool, error.text, error.path) for error in error_lines(text)]


@pytest.mark.parametrize(
    ("output", "errors"),
    [
        (
            "src/a.ts(3,5): error TS2345: bad\nsrc/b.ts(1,1): error TS2304: no x",
            [
                ("tsc", "src/a.ts(3,5): error TS2345: bad", "src/a.ts"),
                ("tsc", "src/b.ts(1,1): error TS2304: no x", "src/b.ts"),
            ],
        ),
        (
            BIOME,
            [
                (
                    "biome",
                    "lint/correctness/useExhaustiveDependencies: This hook specifies more"
                    " dependencies than necessary: logs.",
                    "web/src/App.tsx",
                ),
                (
                    "biome",
                    "format: Formatter would have printed the following content:",
                    "web/src/b.ts",
                ),
            ],
        ),
        (
            MOCHA,
            [
                (
                    "mocha",
                    "Sessions shows the time: AssertionError [ERR_ASSERTION]: Expected values to"
                    " be strictly equal: + '12:00' - '09:00'",
                    "",
                )
            ],
        ),
        (ACTIONS, [("ruff", "F401 [*] `pytest` imported but unused", "tests/test_a.py")]),
        (
            "/src/a.js\n  3:7  error  'x' is never used  no-unused-vars\n\n✖ 1 problem (1 error)",
            [("eslint", "3:7 error 'x' is never used no-unused-vars", "/src/a.js")],
        ),
        (
            "error[E0308]: mismatched types\n --> src/main.rs:3:5\n\nerror: could not compile `x`",
            [("rustc", "error[E0308]: mismatched types", "src/main.rs")],
        ),
        (
            "# ./...\n./sts.go:12:3: undefined: foo\nFAIL example.com/sts [build failed]",
            [("", "./sts.go:12:3: undefined: foo", "./sts.go")],
        ),
        (
            "[lint:go] sts/sts.go:187:10: ST1005: no capitals (staticcheck)\n1 issues:",
            [
                (
                    "ruff",
                    "[lint:go] sts/sts.go:187:10: ST1005: no capitals (staticcheck)",
                    "sts/sts.go",
                )
            ],
        ),
        (
            "--- FAIL: TestElide (0.00s)\n    tokens_test.go:33: got 41, want 40\nFAIL",
            [("go", "TestElide: tokens_test.go:33: got 41, want 40", "")],
        ),
        (
            "A.java:3: error: cannot find symbol\n1 error",
            [("", "A.java:3: error: cannot find symbol", "A.java")],
        ),
        (
            "[ERROR] /src/A.java:[12,3] cannot find symbol\n[ERROR] -> [Help 1]",
            [("maven", "[ERROR] /src/A.java:[12,3] cannot find symbol", "/src/A.java")],
        ),
        (
            "P.cs(3,5): error CS0103: The name 'x' does not exist [P.csproj]\nBuild FAILED.",
            [("dotnet", "P.cs(3,5): error CS0103: The name 'x' does not exist [P.csproj]", "P.cs")],
        ),
        ("PHP Fatal error:  Uncaught Error: no x in a.php:3", None),
        (
            "    tokens_test.go:33: got 41, want 40\n--- FAIL: TestElide (0.00s)\n"
            "    --- PASS: TestElide/empty (0.00s)\nFAIL",
            [("go", "TestElide: tokens_test.go:33: got 41, want 40", "")],
        ),
        (
            "FAILED tests/test_a.py::test_b - assert 3 == 4\n1 failed, 1 passed in 0.02s",
            [("pytest", "FAILED tests/test_a.py::test_b - assert 3 == 4", "tests/test_a.py")],
        ),
        (
            "E       assert 3 == 4\n\ntests/test_a.py:8: AssertionError\n"
            "FAILED tests/test_a.py::test_b - assert 3 == 4",
            [("pytest", "assert 3 == 4", "")],
        ),
        (
            '/src/a.py\n  /src/a.py:10:5 - error: "x" is no known attribute (rule)\n1 error',
            [("pyright", '/src/a.py:10:5 - error: "x" is no known attribute (rule)', "/src/a.py")],
        ),
        (
            "src/a.css\n 10:5  ✖  Unexpected unknown property  property-no-unknown\n\n1 problem",
            [("eslint", "10:5 ✖ Unexpected unknown property property-no-unknown", "src/a.css")],
        ),
        (
            "error: Formatting issues found\nsrc/a.tsx (0ms)\n\nFound formatting issues in 1 file",
            [("oxfmt", "error: Formatting issues found", "")],
        ),
        (
            "Diff in src/main.rs:12:\n fn main() {\n-    let x=1;",
            [("rustfmt", "Diff in src/main.rs", "src/main.rs")],
        ),
        (
            "  × Formatter would have printed the following content:\n  65  65 │ 1\nFound 1 error.",
            [("biome", "format: Formatter would have printed the following content:", "")],
        ),
        (
            "Failed to compile.\n\n./src/page.tsx:10:5\nType error: Property 'x' does not exist.",
            [("", "Type error: Property 'x' does not exist.", "")],
        ),
        (
            "ERROR in ./src/a.js 1:0-20\nModule not found: Can't resolve './b'\nwebpack compiled",
            [("", "ERROR in ./src/a.js 1:0-20 Module not found: Can't resolve './b'", "")],
        ),
        (
            "FAILURE: Build failed with an exception.\n\n* Where:\nBuild file 'a' line: 3\n\n"
            "* What went wrong:\nPlugin 'x' was not found\n\nBUILD FAILED in 1s",
            [("gradle", "* What went wrong: Plugin 'x' was not found", "")],
        ),
        (
            "main.c:(.text+0x5): undefined reference to `x'\n"
            "collect2: error: ld returned 1 exit status",
            [("", "main.c:(.text+0x5): undefined reference to `x'", "")],
        ),
        (
            "mise ERROR error parsing config file: ~/x/mise.toml\n"
            "mise ERROR Config files in ~/x/mise.toml are not trusted.\n"
            "mise ERROR Run with --verbose for more information",
            [
                ("", "mise ERROR error parsing config file: ~/x/mise.toml", ""),
                ("", "mise ERROR Config files in ~/x/mise.toml are not trusted.", ""),
            ],
        ),
        ('zsh:1: unmatched "', [("shell", 'zsh:1: unmatched "', "")]),
        ("bash: line 1: warning: here-document delimited by end-of-file", []),
        (
            "│ Error: Unsupported argument\n│ \n│   on main.tf line 3, in resource\n",
            [("", "Error: Unsupported argument", "main.tf")],
        ),
        (
            "\u2009ERR_PNPM_NO_LOCKFILE\u2009 There is no lockfile",
            [("pnpm", "ERR_PNPM_NO_LOCKFILE There is no lockfile", "")],
        ),
        (
            "! [rejected] main -> main (fetch first)\nerror: failed to push some refs to 'x'",
            [("git", "! [rejected] main -> main (fetch first)", "")],
        ),
        (
            "make: *** No rule to make target `doc'.  Stop.",
            [("make", "make: *** No rule to make target `doc'. Stop.", "")],
        ),
        ("zsh:1: command not found: gh", [("shell", "zsh:1: command not found: gh", "")]),
        ("curl: (7) Failed to connect", [("", "curl: (7) Failed to connect", "")]),
        ("0 issues.\n12 passed\nChecked 3 files", []),
    ],
)
def test_each_runner_is_read_in_its_own_form(
    output: str, errors: list[tuple[str, str, str]] | None
) -> None:
    if errors is None:
        assert len(found(output)) == 1
    else:
        assert found(output) == errors


def test_a_failed_test_has_the_message_that_belongs_to_it() -> None:
    (error,) = error_lines(BUN)
    assert error.text.startswith("routes > returns the history: ")
    assert "Item 3" not in error.text


@pytest.mark.parametrize(
    "output",
    ["1 fail", "Found 3 errors.", 'error: script "test" exited with code 1', "husky - failed"],
)
def test_a_status_is_an_error_only_if_nothing_else_is_said(output: str) -> None:
    assert error_lines(output) == []
    assert error_line(output) == output
    assert error_line(f"{output}\nTypeError: x is undefined") == "TypeError: x is undefined"


def test_the_errors_of_one_output_are_limited() -> None:
    output = "\n".join(f"a{chr(97 + n % 26)}{n}.ts(1,1): error TS1005: x{n}" for n in range(99))
    assert len(error_lines(output)) == MOST_ERRORS


def test_prettier_names_the_files_that_are_not_formatted() -> None:
    output = (
        "Checking formatting...\n[warn] src/cart.ts\n[lint] [warn] src/shop.ts\n"
        "[warn] Code style issues found in 2 files. Run Prettier with --write to fix.\n"
    )
    assert [(tool, path) for tool, _, path in found(output)] == [
        ("prettier", "src/cart.ts"),
        ("prettier", "src/shop.ts"),
    ]


@pytest.mark.parametrize(
    "output", ["2947 expect() calls\nRan 12 tests.", "Checking formatting...", "build_exit=0"]
)
def test_what_a_program_prints_anyway_is_no_error(output: str) -> None:
    assert (error_line(output), error_lines(output)) == ("", [])


def test_a_line_that_announces_a_list_is_no_error_beside_a_message() -> None:
    output = "[ERROR] Would have written:\n--- out.md\nError: --check found stale files"
    assert error_line(output) == "Error: --check found stale files"
    alone = "[ERROR] Would have written:\n--- out.md"
    assert error_line(alone) == "[ERROR] Would have written: --- out.md"


TESTS = """\
[Routes] Error in POST /api/carts: 312 | expect(answer.status).toBe(202);
error: Database connection failed
      at <anonymous> (/home/mira/a.test.ts:3:2)
{more}
 1325 pass
 1 fail
 2947 expect() calls
"""


@pytest.mark.parametrize(
    ("more", "errors"),
    [
        ("", []),
        (
            "error: expect(received).toBe(expected)",
            ["error: expect(received).toBe(expected)"],
        ),
        (
            "(fail) routes > returns carts [3.10ms]",
            ["routes > returns carts: error: Database connection failed"],
        ),
    ],
)
def test_what_passing_tests_print_is_no_error(more: str, errors: list[str]) -> None:
    found = errors_in_output(TESTS.format(more=more), failed=True)
    assert [one.text for one in found] == errors


def test_a_runner_that_did_not_start_tells_why() -> None:
    (error,) = errors_in_output("error: Cannot find module 'zonal'\n 0 pass\n 1 fail", failed=True)
    assert error.text == "error: Cannot find module 'zonal'"


def test_a_count_of_failures_is_no_error() -> None:
    assert errors_in_output("114 fail", failed=True) == []
