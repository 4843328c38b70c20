"""Detect flaky tests: a test command passed and failed, and nothing was changed in between."""

from collections.abc import Iterator

from session_memory.learn.detector import SessionDetector
from session_memory.learn.digest import Digest, TestRun
from session_memory.learn.signal import Signal, signal


def flaky_test(digest: Digest) -> Iterator[Signal]:
    last: dict[str, TestRun] = {}
    for run in digest.tests:
        if run.edits or run.has_changes:
            last.clear()
        before = last.get(run.command)
        if before is not None and {before.passed, run.passed} == {True, False}:
            yield _flaky(digest, before, run)
        last[run.command] = run


def _flaky(digest: Digest, before: TestRun, run: TestRun) -> Signal:
    words = {True: "passed", False: "failed", None: ""}
    return signal(
        digest,
        "flaky_test",
        locus=run.command,
        magnitude=1,
        detail=f"{run.command} {words[before.passed]}, then {words[run.passed]}, without a change",
        evidence=(before.result_uid, run.result_uid),
    )


DETECTOR = SessionDetector(
    type="flaky_test",
    title="Tests pass and fail without a change",
    advice="Make this test run the same way every time: {locus}",
    lesson="{locus} passes and fails unchanged. Repeat such a test before trusting its result.",
    find=flaky_test,
)
