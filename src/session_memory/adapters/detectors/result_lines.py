"""Read the result of a test run from one line of its output.

Each reader knows one style of summaries; ``READERS`` lists them, the most specific first. A line of
counts is a result only if all its other words are usual in test summaries. So "2 errors in your
config" or the name of a test is no result.
"""

import re
from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

from session_memory.core.lazy_patterns import lazy_pattern


class Level(Enum):
    """What the numbers in a line count. This decides how the numbers of several lines are added."""

    RUN = auto()  # the tests of a whole run: the numbers are added
    NESTED = auto()  # a suite inside other suites: only the largest number counts
    TEST = auto()  # one test: counts if there is no summary
    SUITE = auto()  # files, packages or classes: whether they passed, not how many tests
    STATUS = auto()  # the end of the program: an exit status in words
    RAN = auto()  # unittest's "Ran 3 tests"; the result follows on another line
    VERDICT = auto()  # unittest's result: "OK" or "FAILED (failures=1)"


class RunLine(NamedTuple):
    """The result in one line: what its numbers count, and the numbers. ``failed`` and ``passed``
    are None if the line does not tell them."""

    level: Level
    failed: int | None = None
    passed: int | None = None
    skipped: int = 0


def result_in(line: str) -> RunLine | None:
    """Return the result in a line of a test run's output; None if the line is no result."""
    line = _PREFIX.sub("", line)
    return next((answer for reader in READERS if (answer := reader(line))), None)


def _unittest(line: str) -> RunLine | None:
    if ran := _RAN.match(line):
        return RunLine(Level.RAN, passed=int(ran[1]))
    if passed := _OK_COUNTED.match(line):
        return RunLine(Level.RUN, 0, int(passed[1]))
    if not _VERDICT.fullmatch(line):
        return None
    numbers = {name: int(number) for name, number in _DETAIL.findall(line)}
    failed = sum(numbers.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
    return RunLine(Level.VERDICT, failed, None, numbers.get("skipped", 0))


def _empty(line: str) -> RunLine | None:
    return RunLine(Level.RUN, 0, 0) if _NO_TESTS.match(line) else None


def _labelled(line: str) -> RunLine | None:
    """Read a line like ``Failures: 1, Errors: 0``, in which every number follows its name."""
    if not _LABELLED.search(line):
        return None
    numbers = {name.lower(): int(number) for name, number in _LABEL.findall(line)}
    failures = [numbers[name] for name in _FAILED_LABELS if name in numbers]
    passes = [numbers[name] for name in _PASSED_LABELS if name in numbers]
    totals = [numbers[name] for name in ("tests run", "tests", "total") if name in numbers]
    failed = sum(failures) if failures or totals else None
    skipped = numbers.get("skipped", 0)
    if not passes and totals:
        passes = [max(0, totals[0] - (failed or 0) - skipped)]
    # Maven prints a line with a time for each class, and one without a time for all of them.
    level = Level.SUITE if "Time elapsed" in line else Level.RUN
    return RunLine(level, failed, passes[0] if passes else None, skipped)


def _counted(line: str) -> RunLine | None:
    """Read a line like ``1 failed, 3 passed``, in which every number comes before its name."""
    counts = [(int(number), word.lower()) for number, word in _COUNT.findall(line)]
    if not counts or not _SUMMARY_WORDS.issuperset(_WORD.findall(_COUNT.sub(" ", line).lower())):
        return None
    failures = [number for number, word in counts if word.startswith(("fail", "err"))]
    passes = [number for number, word in counts if word.startswith(("pass", "succ"))]
    if not passes and all(word.startswith("err") for _, word in counts):
        # Compilers and linters count errors, too. Only test runners add the time or "Errors" in
        # front.
        return RunLine(Level.RUN, sum(failures)) if _ERRORS_OF_TESTS.search(line) else None
    if not passes and (totals := _TOTAL.findall(line)):
        skipped = sum(map(int, _SKIPPED.findall(line)))
        total = sum(int(before or after) for before, after in totals)
        passes = [max(0, total - sum(failures) - skipped)]
    failed = sum(failures) if failures else None
    return RunLine(_level_of(line), failed, sum(passes) if passes else None)


def _level_of(line: str) -> Level:
    if _OF_SUITES.match(line):
        return Level.SUITE
    return Level.NESTED if line.startswith("Executed") else Level.RUN


def _marked(line: str) -> RunLine | None:
    """Read a line like ``--- FAIL: TestX`` or ``BUILD FAILED``: the result of one test, one package
    or one program, without numbers."""
    if found := _MARK.match(line):
        level, result, _ = str(found.lastgroup).split("_")
        return RunLine(Level[level], **{result: 1})
    return next((meaning for sign, meaning in _SIGNS.items() if sign in line), None)


READERS: tuple[Callable[[str], RunLine | None], ...] = (
    _unittest,
    _empty,
    _labelled,
    _counted,
    _marked,
)

# The text that task runners and containers print in front of every line.
_PREFIX = lazy_pattern(
    r"^(?:\[[^\]]{1,60}\]"  # mise, Maven
    r"|[\w@./-]{1,60}[:#][\w@./:#-]{0,60}:(?=\s)"  # Turbo
    r"|[\w@./-]{1,60} test[:\w-]{0,30}:"  # pnpm
    r"|[\w.-]{1,60} *\|)\s+"  # Docker Compose
)
_NUMBER = r"(?<![\w.%-])\d{1,9}"

_RAN = lazy_pattern(rf"Ran ({_NUMBER}) tests? in ")
_VERDICT = lazy_pattern(r"OK|(?:OK|FAILED) \([a-z]+[a-z ]*=\d{1,9}(?:, [a-z]+[a-z ]*=\d{1,9})*\)")
_OK_COUNTED = lazy_pattern(r"OK \((\d{1,9}) tests?\b")  # PHPUnit, JUnit
_DETAIL = lazy_pattern(r"([a-z][a-z ]*)=(\d{1,9})")
_NO_TESTS = lazy_pattern(r"(?i:no tests (?:ran|found|were found|executed))\b")

_LABELLED = lazy_pattern(
    r"Tests run: *\d"  # Maven, JUnit
    r"|Tests: *\d+, Assertions: *\d"  # PHPUnit
    r"|Failed: *\d+, *Passed: *\d"  # dotnet
    r"|failed: *\d+, *succeeded: *\d"  # dotnet
    r"|Failed \d+, Errors \d+, Passed \d"  # sbt
    r"|succeeded \d+, failed \d"  # ScalaTest
    r"|^(?:# |ℹ )?(?:pass|fail) \d+$"  # node --test
    r"|^\W*(?:Passed|Failed|Passing|Failing): *\d+\W*$"  # vstest, Cypress
)
_LABEL = lazy_pattern(
    r"\b(failures?|failed|failing|fail|errors?|passed|passing|pass|succeeded|skipped|total"
    r"|tests run|tests)(?: *[:=] *| )(\d{1,9})\b",
    re.IGNORECASE,
)
_FAILED_LABELS = ("failures", "failure", "failed", "failing", "fail", "errors", "error")
_PASSED_LABELS = ("passed", "passing", "pass", "succeeded")

_COUNT = lazy_pattern(
    rf"({_NUMBER}) +(?:(?:tests?|specs?|examples?) +)?"
    r"(failed|failing|failures?|fails?|errors?|errored|passed|passing|pass|succeeded|successes)\b",
    re.IGNORECASE,
)
_TOTAL = lazy_pattern(
    rf"({_NUMBER}) (?:tests?|examples?|runs|specs|doctests?|propert\w+)\b(?! (?:pass|fail|err))"
    r"|(?<=out of )(\d{1,9})$"  # ctest
)
_SKIPPED = lazy_pattern(rf"({_NUMBER}) (?:skipped|skips|pending|excluded|ignored)\b")
_ERRORS_OF_TESTS = lazy_pattern(r"^Errors\b|\bin \d[\d.]*s\b")
_OF_SUITES = lazy_pattern(r"\W*(?:Test )?(?:Suites|Files)\b")
_WORD = lazy_pattern(r"[^\W\d_]+")
_VOCABULARY = """
    a across after all and assertions calls canceled cancelled completed cpu deselected did doctest
    doctests done duration error errors example examples excluded executed expect fail failed
    failures file files filtered finished flaky h ignored in incomplete info interrupted issue
    issues leaky locally m measured min ms not obsolete of ok omissions out passed pending
    properties property ran rerun result results run runs s second seconds skipped skips slow spec
    specs step steps subtests success suite suites summary test tests time todo total took
    unexpected warning warnings with xfailed xpassed µs μs
"""
_SUMMARY_WORDS = frozenset(_VOCABULARY.split())

# Marks at the start of a line: for each level, the patterns of a failure and of a success.
_MARKS: tuple[tuple[Level, str, str], ...] = (
    # go test
    (Level.TEST, r"--- FAIL: ", r"--- PASS: "),
    (Level.SUITE, r"FAIL(?:ED)?$|FAIL\s+\S+\s+(?:\d[\d.]*s$|\[\w+ failed\])|panic: ", r"PASS$"),
    (Level.SUITE, "", r"ok\s+\S+\s+(?:\d[\d.]*s\b|\(cached\))"),
    # TAP; an expected failure carries a directive.
    (Level.TEST, r"not ok \d+\b(?!.*# (?:TODO|SKIP))", r"ok \d+\b(?!.*# (?:TODO|SKIP))"),
    # pytest, unittest and Bun name their failures
    (Level.TEST, r"(?:FAILED|ERROR) \S+\.py\b|\S+\.py::\S+ (?:FAILED|ERROR)\b", ""),
    (Level.TEST, r"(?:FAIL|ERROR): \w+ \(\S+\)|\(fail\) ", r"\(pass\) "),
    # Jest, Vitest and Pest name files
    (Level.SUITE, r"(?:❯\s*)?FAIL\s+\S*[./\\]\S", r"(?:✓\s*)?PASS\s+\S*[./\\]\S"),
    # vstest, ctest, nox
    (Level.SUITE, r"Test Run Failed\.", r"Test Run Successful\."),
    (Level.STATUS, r"(?:nox > )?Session \S+ failed\b", r"(?:nox > )?Session \S+ was successful\b"),
    # The program that runs the tests failed.
    (Level.STATUS, r"g?make(?:\[\d+\])?: \*\*\* |npm (?:ERR!|error) |task: Failed to run", ""),
    (Level.STATUS, r"error: (?:could not compile|test failed|Recipe .* failed)", ""),
    (Level.STATUS, r"error Command failed with exit", ""),
)
# Marks that may be anywhere in a line.
_SIGNS: dict[str, RunLine] = {
    **dict.fromkeys(
        ("Some tests failed", "Test suite failed to run"), RunLine(Level.SUITE, failed=1)
    ),
    **dict.fromkeys(("All tests passed", "All specs passed"), RunLine(Level.SUITE, passed=1)),
    "** TEST FAILED **": RunLine(Level.SUITE, failed=1),
    "** TEST SUCCEEDED **": RunLine(Level.SUITE, passed=1),
    **dict.fromkeys(("BUILD FAIL", "evaluation failed :("), RunLine(Level.STATUS, failed=1)),
    **dict.fromkeys(("BUILD SUCCESS", "congratulations :)"), RunLine(Level.STATUS, passed=1)),
    **dict.fromkeys(("ERROR task failed", "ELIFECYCLE"), RunLine(Level.STATUS, failed=1)),
    **dict.fromkeys(("command not found", "No module named "), RunLine(Level.STATUS, failed=1)),
}
_MARK = lazy_pattern(
    "|".join(
        f"(?P<{level.name}_{result}_{index}>{way})"
        for index, (level, *ways) in enumerate(_MARKS)
        for result, way in zip(("failed", "passed"), ways, strict=True)
        if way
    )
)
