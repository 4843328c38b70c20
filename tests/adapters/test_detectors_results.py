"""What the output of test programs says about the result."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from quickness import within_cpu_seconds

from session_memory.adapters.detectors import results
from session_memory.adapters.detectors.results import TestResult


def counts(text: str) -> tuple[bool | None, int | None, int | None]:
    result = results.test_result(text)
    assert result is not None
    return result.passed, result.failed_count, result.passed_count


PASSED = {
    "pytest": ("===== 3 passed, 1 skipped, 2 warnings in 0.12s =====", 3),
    "pytest -q": ("...\n3 passed in 0.01s", 3),
    "pytest with a long time": ("= 210 passed, 4 xfailed in 71.20s (0:01:11) =", 210),
    "unittest": ("...\n-----\nRan 3 tests in 0.001s\n\nOK", 3),
    "unittest with skips": ("Ran 3 tests in 0.001s\n\nOK (skipped=1)", 2),
    "Jest": ("Test Suites: 2 passed, 2 total\nTests:       1 skipped, 5 passed, 6 total", 5),
    "Vitest": (" Test Files  2 passed (2)\n      Tests  7 passed | 1 skipped (8)", 7),
    "Mocha": ("  5 passing (10ms)\n  2 pending", 5),
    "go test -v": ("--- PASS: TestA (0.00s)\n    --- PASS: TestA/b (0.00s)\nPASS", 2),
    "gotestsum": ("DONE 12 tests in 1.203s\nPASS", None),
    "Ginkgo": ("SUCCESS! -- 3 Passed | 0 Failed | 0 Pending | 1 Skipped", 3),
    "cargo test": (
        "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"
        "test result: ok. 2 passed; 0 failed; 1 ignored; finished in 0.00s",
        5,
    ),
    "cargo nextest": ("     Summary [   0.012s] 5 tests run: 5 passed, 0 skipped", 5),
    "RSpec": ("3 examples, 0 failures, 1 pending", 2),
    "Minitest": ("3 runs, 5 assertions, 0 failures, 0 errors, 1 skips", 2),
    "PHPUnit": ("OK (3 tests, 5 assertions)", 3),
    "PHPUnit with skips": (
        "OK, but some tests were skipped!\nTests: 3, Assertions: 4, Skipped: 1.",
        2,
    ),
    "Pest": ("  Tests:    5 passed (10 assertions)\n  Duration: 0.2s", 5),
    "dotnet": ("Passed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3 - A.dll", 3),
    "dotnet, new": ("Test summary: total: 3, failed: 0, succeeded: 3, skipped: 0, duration: 1s", 3),
    "Maven": ("[INFO] Tests run: 4, Failures: 0, Errors: 0, Skipped: 1\n[INFO] BUILD SUCCESS", 3),
    "Gradle": ("> Task :test\n\nBUILD SUCCESSFUL in 3s", None),
    "sbt": ("[info] Passed: Total 3, Failed 0, Errors 0, Passed 3", 3),
    "CTest": ("100% tests passed, 0 tests failed out of 3", 3),
    "node --test": ("# tests 3\n# pass 3\n# fail 0\n# skipped 0", 3),
    "node --test, in colour": ("ℹ tests 3\nℹ pass 3\nℹ fail 0", 3),
    "TAP": ("TAP version 14\nok 1 - a\nok 2 - b\n1..2", 2),
    "TAP with a todo": ("not ok 1 - later # TODO\nok 2 - b", 1),
    "Bun": (" 3 pass\n 0 fail\n 4 expect() calls\nRan 3 tests across 1 files. [12.00ms]", 3),
    "Deno": ("ok | 3 passed (2 steps) | 0 failed (12ms)", 3),
    "Playwright": ("Running 3 tests using 2 workers\n  3 passed (5.1s)", 3),
    "Flutter": ("00:02 +5: All tests passed!", None),
    "ExUnit": ("1 doctest, 3 tests, 0 failures", 4),
    "XCTest": ("Executed 3 tests, with 0 failures (0 unexpected) in 0.004 (0.005) seconds", 3),
    "Zig": ("All 3 tests passed.", 3),
    "busted": ("3 successes / 0 failures / 0 errors / 0 pending : 0.01 seconds", 3),
    "Bazel": ("Executed 3 out of 3 tests: 3 tests pass.", 3),
    "tox": ("  py312: OK (1.2=setup[0.1]+cmd[1.1] seconds)\n  congratulations :)", None),
    "behind mise": ("[test:ci] ok  \texample.org/a\t1.2s\tcoverage: 89.7% of statements", None),
    "behind Docker Compose": ("app-1  | 3 passed in 0.1s", 3),
    "behind Turbo": ("web:test:  Tests  3 passed (3)", 3),
    "in colour": ("\x1b[32m\x1b[1m3 passed\x1b[0m\x1b[32m in 0.12s\x1b[0m", 3),
    "on Windows": ("...\r\n3 passed in 0.01s\r\n", 3),
}

FAILED = {
    "pytest": ("FAILED tests/test_a.py::test_b - assert 0\n= 1 failed, 3 passed in 0.12s =", 1, 3),
    "pytest with errors": ("= 1 failed, 2 passed, 2 errors in 0.12s =", 3, 2),
    "pytest that could not collect": (
        "ERROR tests/test_a.py\n===== 1 error in 0.10s =====",
        1,
        None,
    ),
    "pytest, its end cut off": ("FAILED a.py::test_b - x\nFAILED a.py::test_c - x", 2, None),
    "pytest -v, its end cut off": ("tests/a.py::test_b FAILED    [ 50%]", 1, None),
    "unittest": ("Ran 3 tests in 0.001s\n\nFAILED (failures=1, errors=1)", 2, 1),
    "unittest, its start cut off": ("FAILED (errors=1)", 1, None),
    "Jest": ("Test Suites: 1 failed, 1 total\nTests:       2 failed, 3 passed, 5 total", 2, 3),
    "Jest with a suite that did not load": (
        "FAIL src/a.test.ts\n  ● Test suite failed to run\n"
        "Test Suites: 1 failed, 1 passed, 2 total\nTests:       3 passed, 3 total",
        None,
        3,
    ),
    "Vitest": (" Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 5 passed (6)", 1, 5),
    "Mocha": ("  5 passing (10ms)\n  1 failing\n\n  1) adds", 1, 5),
    "go test": (
        "--- FAIL: TestA (0.00s)\n    a_test.go:3: no\nFAIL\nFAIL\texample.org/a\t0.01s\nFAIL",
        1,
        None,
    ),
    "go test of two packages": ("ok  \texample.org/a\t0.1s\nFAIL\texample.org/b\t0.2s", None, None),
    "go test that did not build": ("FAIL\texample.org/a [build failed]", None, None),
    "gotestsum": ("DONE 5 tests, 1 skipped, 1 failure in 0.5s", 1, 3),
    "Ginkgo": ("FAIL! -- 2 Passed | 1 Failed | 0 Pending | 0 Skipped", 1, 2),
    "cargo test": (
        "test result: ok. 3 passed; 0 failed; 0 ignored\n"
        "test result: FAILED. 2 passed; 1 failed; 0 ignored\nerror: test failed, to rerun pass",
        1,
        5,
    ),
    "cargo test that did not build": ("error: could not compile `a` (lib test)", None, None),
    "cargo nextest": ("  Summary [ 0.012s] 5 tests run: 4 passed, 1 failed, 0 skipped", 1, 4),
    "RSpec": ("3 examples, 1 failure", 1, 2),
    "Minitest": ("3 runs, 5 assertions, 1 failures, 1 errors, 0 skips", 2, 1),
    "PHPUnit": ("FAILURES!\nTests: 3, Assertions: 5, Failures: 1, Errors: 1.", 2, 1),
    "Pest": ("  FAIL  Tests\\Unit\\A\n  Tests:    1 failed, 5 passed (10 assertions)", 1, 5),
    "dotnet": (
        "Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3 - A.dll",
        1,
        2,
    ),
    "dotnet, new": ("Test summary: total: 3, failed: 1, succeeded: 2, skipped: 0", 1, 2),
    "vstest": ("Test Run Failed.\nTotal tests: 3\n     Passed: 2\n     Failed: 1", 1, 2),
    "Maven": (
        "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s <<< FAIL\n"
        "[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 0\n[INFO] BUILD FAILURE",
        2,
        3,
    ),
    "Gradle": ("3 tests completed, 1 failed\n\nBUILD FAILED in 2s", 1, 2),
    "sbt": ("[error] Failed: Total 3, Failed 1, Errors 0, Passed 2", 1, 2),
    "ScalaTest": ("[info] Tests: succeeded 3, failed 1, canceled 0, ignored 0, pending 0", 1, 3),
    "CTest": ("67% tests passed, 1 tests failed out of 3", 1, 2),
    "node --test": ("not ok 2 - b\n# tests 3\n# pass 2\n# fail 1", 1, 2),
    "TAP": ("ok 1 - a\nnot ok 2 - b\n1..2", 1, 1),
    "Bun": ("(fail) adds [0.10ms]\n\n 3 pass\n 1 fail\nRan 4 tests across 1 files. [12ms]", 1, 3),
    "Deno": ("FAILED | 2 passed (1 step) | 1 failed (10ms)", 1, 2),
    "Playwright": ("  1 failed\n    [chromium] › a.spec.ts:3:5 › adds\n  3 passed (5.1s)", 1, 3),
    "Flutter": ("00:02 +4 -1: Some tests failed.", None, None),
    "XCTest, suites in suites": (
        "Executed 2 tests, with 1 failure (0 unexpected) in 0.1 (0.1) seconds\n"
        "Executed 5 tests, with 1 failure (0 unexpected) in 0.2 (0.2) seconds\n** TEST FAILED **",
        1,
        4,
    ),
    "Bazel": ("Executed 3 out of 3 tests: 2 tests pass and 1 fails locally.", 1, 2),
    "make": ("make: *** [Makefile:3: test] Error 1", None, None),
    "npm": ("npm error Lifecycle script `test` failed with error:", None, None),
    "mise": ("[lint:go] ERROR task failed", None, None),
    "a missing program": ("zsh:1: command not found: pytest", None, None),
    "a missing module": ("/usr/bin/python3: No module named pytest", None, None),
    "two runs in one command": ("3 passed in 0.01s\n1 failed in 0.01s", 1, 3),
    "in colour": ("\x1b[31m1 failed\x1b[0m, \x1b[32m3 passed\x1b[0m in 0.12s", 1, 3),
}

TELLS_NOTHING = [
    "",
    "collected 3 items",
    "the token is ok, a token indeed",
    "OK",
    "done\nOK\n",
    "Found 3 errors.",
    "2 errors generated.",
    "1 error",
    "✖ 3 problems (2 errors, 1 warning)",
    "0 errors, 0 warnings, 0 informations",
    "Error: 404",
    "error TS2322: 3 failed assignments",
    "1 failed login for root",
    "we passed 3 arguments and 2 failed us",
    "test_that_1_failed_import_is_retried",
    "FAIL Required test coverage of 90% not reached",
    "version 1.2.3 passed",
    "Tasks:    3 successful, 4 total",
    "Snapshots:   1 failed, 1 total",
    "ok computer",
]


@pytest.mark.parametrize(("text", "passed"), PASSED.values(), ids=PASSED)
def test_a_passing_run_is_read_from_its_text(text: str, passed: int | None) -> None:
    assert counts(text) == (True, 0 if passed is not None else None, passed)


@pytest.mark.parametrize(("text", "failed", "passed"), FAILED.values(), ids=FAILED)
def test_a_failing_run_is_read_from_its_text(
    text: str, failed: int | None, passed: int | None
) -> None:
    assert counts(text) == (False, failed, passed)


@pytest.mark.parametrize("text", TELLS_NOTHING)
def test_a_text_without_a_result_tells_nothing(text: str) -> None:
    assert results.test_result(text) is None


@pytest.mark.parametrize(("text", "failed", "passed"), FAILED.values(), ids=FAILED)
def test_a_failure_in_the_text_outweighs_a_good_status(
    text: str, failed: int | None, passed: int | None
) -> None:
    result = results.test_result(text, is_error=False, exit_code=0)
    assert result is not None
    assert result.passed is False


@pytest.mark.parametrize(("text", "passed"), PASSED.values(), ids=PASSED)
def test_passing_tests_outweigh_the_failure_of_a_later_command(
    text: str, passed: int | None
) -> None:
    result = results.test_result(text, is_error=True, exit_code=1)
    assert result is not None
    assert result.passed is True


def test_zero_errors_are_no_failure() -> None:
    assert counts("0 errors, 0 failed") == (True, 0, None)


@pytest.mark.parametrize(
    ("is_error", "exit_code", "passed"),
    [(None, 0, True), (None, 2, False), (None, -9, False), (True, None, False)]
    + [(False, None, True), (True, 0, True), (False, 1, False)],
)
def test_without_counts_the_exit_status_tells_and_then_the_error_flag(
    is_error: bool | None, exit_code: int | None, passed: bool
) -> None:
    result = results.test_result("....", is_error=is_error, exit_code=exit_code)
    assert result == TestResult(passed)


@pytest.mark.parametrize(
    "text", ["no tests ran in 0.01s", "0 passing (1ms)", "0 examples, 0 failures"]
)
def test_a_run_without_tests_neither_passes_nor_fails_by_itself(text: str) -> None:
    ran = results.test_result(text, is_error=False)
    failed = results.test_result(text, exit_code=5)
    assert ran is not None and ran.passed is None and ran.passed_count == 0
    assert failed is not None and failed.passed is False


@pytest.mark.parametrize(
    "text",
    [
        "Command running in background with ID: b1",
        "Chunk ID: 1\nProcess running with session ID 7\nOutput:\n",
    ],
)
def test_a_run_that_still_goes_on_has_no_result(text: str) -> None:
    assert results.test_result(text, is_error=False) is None
    assert results.test_result(text, is_error=True) == TestResult(False)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("=====  1 failed, 3 passed in 0.12s  =====", "1 failed, 3 passed in 0.12s"),
        ("FAILED a.py::test_b - x\n1 failed in 0.1s", "1 failed in 0.1s"),
        ("3 passed in 0.1s\n5 passed in 0.1s", "5 passed in 0.1s"),
        ("FAIL\n    --- FAIL: TestA (0.00s)\nFAIL", "--- FAIL: TestA (0.00s)"),
        ("--- PASS: TestA (0.00s)\nok  \tx.org/a\t0.1s", "ok  \tx.org/a\t0.1s"),
        ("BUILD FAILED in 2s\nmake: *** [test] Error 1", "BUILD FAILED in 2s"),
        ("FAILED tests/a.py::test_b - " + "x" * 200, "FAILED tests/a.py::test_b - " + "x" * 92),
    ],
)
def test_the_line_that_says_it_is_given_without_its_frame(text: str, line: str) -> None:
    result = results.test_result(text)
    assert result is not None
    assert result.line == line


def test_of_a_long_text_the_start_and_the_end_are_read() -> None:
    noise = "a line of output\n" * 5_000
    assert counts("1 failed in 0.1s\n" + noise) == (False, 1, None)
    assert counts(noise + "3 passed in 0.1s\n") == (True, 0, 3)
    assert results.test_result(noise + "1 failed in 0.1s\n" + noise) is None


def test_a_line_cut_in_two_is_not_misread() -> None:
    tail = "12 passed in 0.1s\n".ljust(results._TAIL + 1, "x")
    assert results.test_result("x" * 9_000 + "\n" + tail) is None
    head = "x\n" * ((results._HEAD - len("1 failed")) // 2) + "1 failed to start"
    assert results.test_result(head + "\n" + "x\n" * results._TAIL) is None


def test_pytest_does_not_take_the_detector_for_a_test() -> None:
    assert vars(results.test_result)["__test__"] is False
    assert TestResult.__test__ is False


PIECES = st.sampled_from(
    [*"\x1b[];:=|#()\n\t 0123456789", " passed", " failed", "FAIL", "ok ", "Ran ", " tests in "]
    + ["Tests run: ", "OK (", "errors=", "--- FAIL: ", ".py::", "not ok ", "BUILD FAILED"]
)


@given(
    st.one_of(st.text(), st.lists(PIECES, max_size=60).map("".join)),
    st.none() | st.booleans(),
    st.none() | st.integers(),
)
@example("9" * 5_000 + " failed", None, None)
@example("٣ passed in 0.1s", None, None)
def test_no_output_is_too_strange(text: str, is_error: bool | None, exit_code: int | None) -> None:
    result = results.test_result(text, is_error=is_error, exit_code=exit_code)
    if result is None:
        assert exit_code is None or exit_code == 0
    else:
        assert len(result.line) <= 120
        assert not (result.passed and result.failed_count)


@given(st.lists(PIECES, min_size=1, max_size=8).map("".join))
@settings(max_examples=40, deadline=None)
def test_a_megabyte_of_anything_is_quick(piece: str) -> None:
    with within_cpu_seconds(1):
        result = results.test_result(piece * (1_000_000 // len(piece)), exit_code=1)
    assert result is not None
