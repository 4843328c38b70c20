"""Count a session's tool calls: by tool, by file, by shell command; test runs; large outputs."""

from collections import Counter
from itertools import islice

from session_memory.core.text import one_line, without_place
from session_memory.derive.detecting import test_result
from session_memory.learn.digest import (
    CommandUse,
    FileUse,
    LargeOutput,
    TestRun,
    ToolUse,
)
from session_memory.learn.digest.harmless import only_looks
from session_memory.learn.digest.steps import FinishedCall, first_few
from session_memory.learn.digest.texts import Texts
from session_memory.redact import mask
from session_memory.store.brief_events import BriefEvent

MOST_TOOLS = 200
MOST_FILES = 200
MOST_COMMANDS = 100
MOST_TESTS = 200
MOST_OUTPUTS = 10
MOST_PATHS = 10_000
LARGE = 20_000
_FEW = 40
_READING = "read read_file readfile view view_file open_file notebookread readmanyfiles"
_READERS = frozenset(_READING.split())
_ALIKE = 0.02


class ToolCounts:
    """Counts the calls, the failures and the milliseconds of each tool."""

    def __init__(self) -> None:
        self._figures: dict[str, list[int]] = {}

    def call(self, event: BriefEvent) -> None:
        self._of(event.tool)[0] += 1

    def add(self, finished: FinishedCall) -> None:
        figures = self._of(finished.call.tool)
        figures[1] += finished.failed
        figures[2] += finished.result.duration_ms or 0

    def _of(self, tool: str | None) -> list[int]:
        return self._figures.setdefault(tool or "", [0, 0, 0])

    def result(self) -> dict[str, ToolUse]:
        most = sorted(self._figures.items(), key=lambda item: (-item[1][0], item[0]))[:MOST_TOOLS]
        return {tool: ToolUse(*figures) for tool, figures in sorted(most)}


class _FileCounts:
    __slots__ = ("edits", "extents", "reads", "reread_bytes", "rereads", "uids")

    def __init__(self) -> None:
        self.reads = self.edits = self.rereads = self.reread_bytes = 0
        self.extents: list[int] = []
        self.uids: list[str] = []


class FileCounts:
    """Counts the reads and the edits of each file.

    A repeated read of the same part is recognized by the length of its result, because that needs
    no unpacking. Results of the same part have about the same length.
    """

    def __init__(self) -> None:
        self._files: dict[str, _FileCounts] = {}

    def add(self, finished: FinishedCall) -> None:
        path, is_edit = finished.call.path, "edit" in finished.kinds
        if (
            not path
            or finished.failed
            or not (is_edit or (finished.call.tool or "").lower() in _READERS)
        ):
            return
        if path not in self._files and len(self._files) >= MOST_PATHS:
            return
        file = self._files.setdefault(path, _FileCounts())
        if is_edit:
            file.edits += 1
            file.extents.clear()
            return
        file.reads += 1
        self._read(file, finished, finished.result.length)

    @staticmethod
    def _read(file: _FileCounts, finished: FinishedCall, length: int) -> None:
        if any(abs(length - known) <= _ALIKE * known for known in file.extents):
            file.rereads += 1
            file.reread_bytes += length
            file.uids.append(finished.call.event_uid)
        elif len(file.extents) < 64:
            file.extents.append(length)

    def result(self) -> tuple[FileUse, ...]:
        def weight(item: tuple[str, _FileCounts]) -> tuple[int, int, str]:
            return -item[1].edits, -item[1].reads, item[0]

        some = islice(sorted(self._files.items(), key=weight), MOST_FILES)
        return tuple(
            FileUse(path, f.reads, f.edits, f.rereads, f.reread_bytes, first_few(f.uids))
            for path, f in some
        )


def _is_mostly_place(summary: str) -> bool:
    """Whether a summary is cut and its directory takes most of it."""
    is_cut = summary.endswith("…") and summary.startswith("cd ")
    return is_cut and (len(rest := without_place(summary)) < _FEW or rest == summary)


class CommandCounts:
    """Counts runs and failures of each shell command, which is known by its summary."""

    def __init__(self) -> None:
        self._runs: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._ms: Counter[str] = Counter()
        self._last: dict[str, BriefEvent] = {}

    def add(self, finished: FinishedCall, texts: Texts) -> None:
        if finished.is_shell and finished.call.summary and not finished.is_poll:
            text = finished.call.summary
            if _is_mostly_place(text):
                text = one_line(mask(without_place(texts.command(finished.call)))) or text
            self._runs[text] += 1
            self._failures[text] += finished.failed
            self._ms[text] += finished.result.duration_ms or 0
            self._last[text] = finished.call

    def result(self) -> tuple[CommandUse, ...]:
        order = sorted(self._runs, key=lambda text: (-self._runs[text], text))[:MOST_COMMANDS]
        return tuple(
            CommandUse(t, self._runs[t], self._failures[t], self._ms[t], self._last[t].event_uid)
            for t in order
        )


class TestRuns:
    """Lists the test runs in order. If there are too many, those in the middle are dropped."""

    __test__ = False

    def __init__(self) -> None:
        self.runs: list[TestRun] = []
        self._edits = 0
        self._has_changes = False

    def add(self, finished: FinishedCall) -> TestRun | None:
        if "edit" in finished.kinds and not finished.failed:
            self._edits += 1
        if "test_run" not in finished.kinds:
            # Before the first test run, changes need not be noted.
            if self.runs and not self._has_changes:
                self._has_changes = not only_looks(finished)
            return None
        result = finished.result
        parsed = test_result(result.summary, is_error=finished.failed, exit_code=result.exit_code)
        # `is_error` was set from the whole output; the summary is only one line of it.
        passed = False if result.is_error else parsed.passed if parsed else None
        run = TestRun(
            finished.call.event_uid,
            result.event_uid,
            result.ts,
            finished.call.summary,
            passed,
            parsed.passed_count if parsed else None,
            parsed.failed_count if parsed else None,
            self._edits,
            self._has_changes,
        )
        self._edits, self._has_changes = 0, False
        if len(self.runs) >= MOST_TESTS:
            del self.runs[MOST_TESTS // 2]
        self.runs.append(run)
        return run

    def person(self) -> None:
        """Note that a person wrote a prompt, because the person may have changed something, too."""
        self._has_changes = bool(self.runs)


class LargeOutputs:
    """Finds the largest results of calls.

    The length of a stored record is known without unpacking it. Only the results with the longest
    records are unpacked, to measure their text.
    """

    def __init__(self) -> None:
        self._largest: list[tuple[int, int, FinishedCall]] = []

    def add(self, finished: FinishedCall) -> None:
        length = finished.result.length
        if length >= LARGE:
            self._largest.append((-length, finished.result.seq, finished))
            if len(self._largest) > 4 * MOST_OUTPUTS:
                self._cut()

    def _cut(self) -> None:
        self._largest.sort(key=lambda item: item[:2])
        del self._largest[MOST_OUTPUTS:]

    def result(self, texts: Texts) -> tuple[LargeOutput, ...]:
        self._cut()
        return tuple(
            LargeOutput(finished.result.event_uid, finished.call.tool, finished.call.summary, size)
            for _, _, finished in self._largest
            if (size := texts.size(finished.result)) >= LARGE
        )
