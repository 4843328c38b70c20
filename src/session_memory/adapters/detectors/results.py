"""Find the result of a test run in its output, or else in its exit status.

The output is more reliable: a pipe or a chain of commands hides the exit status of the test
program, and a later command of the chain may fail after tests that passed.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from .result_lines import Level, RunLine, result_in

_HEAD = 4_096
_TAIL = 32_768
_LONGEST_LINE = 400
_SHOWN = 120


@dataclass(frozen=True, slots=True)
class TestResult:
    """The result of a test run. ``passed`` is None if no test ran. ``line`` is the line of the
    output with the result, "" if only the exit status shows it."""

    __test__: ClassVar[bool] = False  # pytest must not collect this class as a test.

    passed: bool | None
    failed_count: int | None = None
    passed_count: int | None = None
    line: str = ""


class _ResultLine(NamedTuple):
    result: RunLine
    line: str


def test_result(
    text: str, *, is_error: bool | None = None, exit_code: int | None = None
) -> TestResult | None:
    """Return the result of a test run from its output ``text``, else from its exit status.

    None if neither shows it.
    """
    results = list(_results_in(text))
    failed = is_error if exit_code is None else exit_code != 0
    if result := _of_counts(results, failed):
        return result
    if result := _of_status_line(results):
        return result
    if failed is None or (not failed and _UNFINISHED.search(text, 0, _HEAD)):
        return None
    return TestResult(not failed)


# pytest must not collect this function as a test because of its name.
test_result.__dict__["__test__"] = False


def _results_in(text: str) -> Iterator[_ResultLine]:
    ran: int | None = None
    for line in _summary_lines(_examined(text)):
        answer = result_in(line)
        if answer and answer.level is Level.RAN:
            ran = answer.passed
        elif answer and answer.level is Level.VERDICT:
            if (verdict := _verdict(answer, ran)) is not None:
                yield _ResultLine(verdict, line)
        elif answer:
            yield _ResultLine(answer, line)


def _examined(text: str) -> str:
    if len(text) > _HEAD + _TAIL:
        # A line that is cut off is left out: "12 passed" must not become "2 passed".
        text = text[:_HEAD].rpartition("\n")[0] + "\n" + text[-_TAIL:].partition("\n")[2]
    if "\r" in text:
        text = text.replace("\r", "\n")
    return _ANSI.sub("", text) if "\x1b" in text else text


def _summary_lines(text: str) -> Iterator[str]:
    """Yield the lines that have a word of test summaries, in order, but no very long lines."""
    places = set()
    for word in _SUMMARY_WORDS:
        found = text.find(word)
        while found >= 0:
            start, end = text.rfind("\n", 0, found) + 1, text.find("\n", found)
            end = end if end >= 0 else len(text)
            places.add((start, end))
            found = text.find(word, end)
    for start, end in sorted(places):
        if end - start <= _LONGEST_LINE:
            yield text[start:end].strip("= \t")


def _verdict(answer: RunLine, ran: int | None) -> RunLine | None:
    """Return the result in unittest's "OK" or "FAILED"; None if it does not count.

    ``ran`` is the number in "Ran 3 tests" before it. Without that line, an "OK" does not count.
    """
    if ran is None:
        return RunLine(Level.RUN, answer.failed) if answer.failed else None
    passed = max(0, ran - (answer.failed or 0) - answer.skipped)
    return RunLine(Level.RUN, answer.failed, passed)


def _of_counts(results: Sequence[_ResultLine], is_error: bool | None) -> TestResult | None:
    counted = [item for item in results if item.result.level is not Level.STATUS]
    if not counted:
        return None
    failed = _total([(item.result.level, item.result.failed) for item in counted])
    passed = _total([(item.result.level, item.result.passed) for item in counted])
    if line := _line([item for item in counted if item.result.failed], _FAILED_BY):
        return TestResult(False, failed or None, passed, line)
    if line := _line([item for item in reversed(counted) if item.result.passed], _PASSED_BY):
        return TestResult(True, failed if passed is None else 0, passed, line)
    # No count of failed or passed tests is above 0: "0 errors", or no test at all.
    nothing_ran = passed == 0
    verdict = (False if is_error else None) if nothing_ran else True
    return TestResult(verdict, failed, passed, _shown(counted[-1]))


def _of_status_line(results: Sequence[_ResultLine]) -> TestResult | None:
    for item in sorted(results, key=lambda item: not item.result.failed):
        return TestResult(not item.result.failed, line=_shown(item))
    return None


def _total(numbers: Sequence[tuple[Level, int | None]]) -> int | None:
    """Return the number of tests in the summaries; if there is no summary, the number of single
    results."""
    runs = [number for level, number in numbers if level is Level.RUN and number is not None]
    nested = [number for level, number in numbers if level is Level.NESTED and number is not None]
    if runs or nested:
        return sum(runs) + max(nested, default=0)
    tests = [number for level, number in numbers if level is Level.TEST and number is not None]
    return sum(tests) if tests else None


def _line(candidates: Sequence[_ResultLine], levels: Sequence[Level]) -> str:
    """Return the line whose level comes first in ``levels``, or the first of several; "" if there
    is none."""
    for item in sorted(candidates, key=lambda item: levels.index(item.result.level)):
        return _shown(item)
    return ""


def _shown(item: _ResultLine) -> str:
    return item.line[:_SHOWN].rstrip()


_FAILED_BY = (Level.RUN, Level.NESTED, Level.TEST, Level.SUITE)
_PASSED_BY = (Level.RUN, Level.NESTED, Level.SUITE, Level.TEST)
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_SUMMARY_WORDS = (
    *("pass", "PASS", "Pass", "fail", "FAIL", "Fail", "rror", "ERR", "ucce", "SUCCE"),
    *("ok ", "OK", "Ran ", "ests", "TESTS ", "LIFECYC", "panic", "***", "not found", "No module"),
    "congrat",
)
# What Claude Code and Codex write about a command that still runs in the background.
_UNFINISHED = re.compile(r"running in (?:the )?background|Process running with session ID")
