"""What the calls of a session come down to: tools, files, commands, tests, outputs, commits, and
the edits that were taken back.
"""

import re
from collections import Counter, deque
from itertools import islice

from session_memory.derive.detecting import Program, programs, test_result
from session_memory.learn.digest import CommandUse, FileUse, Output, Said, TestRun, ToolUse, Undone
from session_memory.learn.steps import Done, Tokens, few
from session_memory.learn.texts import Texts
from session_memory.store.brief_events import BriefEvent

MOST_TOOLS = 200
MOST_FILES = 200
MOST_COMMANDS = 100
MOST_TESTS = 200
MOST_OUTPUTS = 10
MOST_COMMITS = 50
MOST_PATHS = 10_000
LARGE = 20_000
_READING = "read read_file readfile view view_file open_file notebookread readmanyfiles"
_READERS = frozenset(_READING.split())
_ALIKE = 0.02
_COMPARED = 4
_COMMITTED = re.compile(r"\[[\w./@-]+(?: \([\w -]+\))? [0-9a-f]{7,40}\]")


class Tools:
    """Calls, failures and time by tool."""

    def __init__(self) -> None:
        self._figures: dict[str, list[int]] = {}

    def call(self, event: BriefEvent) -> None:
        self._of(event.tool)[0] += 1

    def done(self, done: Done) -> None:
        figures = self._of(done.call.tool)
        figures[1] += done.failed
        figures[2] += done.result.duration_ms or 0

    def _of(self, tool: str | None) -> list[int]:
        return self._figures.setdefault(tool or "", [0, 0, 0])

    def found(self) -> dict[str, ToolUse]:
        most = sorted(self._figures.items(), key=lambda item: (-item[1][0], item[0]))[:MOST_TOOLS]
        return {tool: ToolUse(*figures) for tool, figures in sorted(most)}


class _File:
    __slots__ = ("edits", "extents", "reads", "reread_bytes", "rereads", "uids")

    def __init__(self) -> None:
        self.reads = self.edits = self.rereads = self.reread_bytes = 0
        self.extents: list[int] = []
        self.uids: list[str] = []


class Files:
    """Files that were read and changed.

    The same stretch read again gives a record of about the same length, another stretch does not:
    that tells reading again from reading on, without looking into the records.
    """

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}

    def done(self, done: Done) -> None:
        path, is_edit = done.call.path, "edit" in done.kinds
        if not path or done.failed or not (is_edit or (done.call.tool or "").lower() in _READERS):
            return
        if path not in self._files and len(self._files) >= MOST_PATHS:
            return
        file = self._files.setdefault(path, _File())
        if is_edit:
            file.edits += 1
            file.extents.clear()
            return
        file.reads += 1
        self._read(file, done, done.result.length)

    @staticmethod
    def _read(file: _File, done: Done, length: int) -> None:
        if any(abs(length - known) <= _ALIKE * known for known in file.extents):
            file.rereads += 1
            file.reread_bytes += length
            file.uids.append(done.call.event_uid)
        elif len(file.extents) < 64:
            file.extents.append(length)

    def found(self) -> tuple[FileUse, ...]:
        def weight(item: tuple[str, _File]) -> tuple[int, int, str]:
            return -item[1].edits, -item[1].reads, item[0]

        some = islice(sorted(self._files.items(), key=weight), MOST_FILES)
        return tuple(
            FileUse(path, f.reads, f.edits, f.rereads, f.reread_bytes, few(f.uids))
            for path, f in some
        )


class Commands:
    """Shell commands by their beginning, how often they ran and failed."""

    def __init__(self) -> None:
        self._runs: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._ms: Counter[str] = Counter()
        self._last: dict[str, str] = {}

    def done(self, done: Done) -> None:
        if done.is_shell and done.call.summary:
            text = done.call.summary
            self._runs[text] += 1
            self._failures[text] += done.failed
            self._ms[text] += done.result.duration_ms or 0
            self._last[text] = done.call.event_uid

    def found(self) -> tuple[CommandUse, ...]:
        order = sorted(self._runs, key=lambda text: (-self._runs[text], text))[:MOST_COMMANDS]
        return tuple(
            CommandUse(t, self._runs[t], self._failures[t], self._ms[t], self._last[t])
            for t in order
        )


class Tests:
    """Test runs in order; of very many the first and the last."""

    __test__ = False

    def __init__(self) -> None:
        self.runs: list[TestRun] = []
        self._edits = 0

    def done(self, done: Done) -> TestRun | None:
        if "edit" in done.kinds and not done.failed:
            self._edits += 1
        if "test_run" not in done.kinds:
            return None
        result = done.result
        said = test_result(result.summary, is_error=done.failed, exit_code=result.exit_code)
        # The event knows what the whole text said; its summary is one line of that.
        passed = False if result.is_error else said.passed if said else None
        run = TestRun(
            done.call.event_uid,
            result.event_uid,
            result.ts,
            done.call.summary,
            passed,
            said.passed_count if said else None,
            said.failed_count if said else None,
            self._edits,
        )
        self._edits = 0
        if len(self.runs) >= MOST_TESTS:
            del self.runs[MOST_TESTS // 2]
        self.runs.append(run)
        return run


class Outputs:
    """The largest results. Only these are unpacked, to see how much of the record was said."""

    def __init__(self) -> None:
        self._largest: list[tuple[int, int, Done]] = []

    def done(self, done: Done) -> None:
        length = done.result.length
        if length >= LARGE:
            self._largest.append((-length, done.result.seq, done))
            if len(self._largest) > 4 * MOST_OUTPUTS:
                self._cut()

    def _cut(self) -> None:
        self._largest.sort(key=lambda item: item[:2])
        del self._largest[MOST_OUTPUTS:]

    def found(self, texts: Texts) -> tuple[Output, ...]:
        self._cut()
        return tuple(
            Output(done.result.event_uid, done.call.tool, done.call.summary, size)
            for _, _, done in self._largest
            if (size := texts.size(done.result)) >= LARGE
        )


class Commits:
    """Commits that were made through a shell."""

    def __init__(self) -> None:
        self.made: list[Said] = []

    def done(self, done: Done, texts: Texts) -> bool:
        if done.failed or not done.is_shell or not _may_commit(done):
            return False
        if not any(map(_commits, programs(texts.words(done.call)))):
            return False
        if len(self.made) < MOST_COMMITS:
            self.made.append(Said(done.call.event_uid, done.result.ts, done.result.summary))
        return True


def _may_commit(done: Done) -> bool:
    return "commit" in done.call.summary or _COMMITTED.search(done.result.summary) is not None


def _commits(program: Program) -> bool:
    words = [word for word in program.arguments if not word.startswith("-")]
    return program.name == "git" and "commit" in words[:3] and "--dry-run" not in program.arguments


class Lost:
    """Edits that did not last: those on a branch a person left, those that a later edit undid, and
    those git took back."""

    def __init__(self) -> None:
        self._left: list[tuple[BriefEvent, str]] = []
        self._standing: list[Done] = []
        self._latest: dict[str, deque[Done]] = {}
        self._taken: list[tuple[str, list[Done], Done]] = []

    def done(self, done: Done, texts: Texts) -> None:
        if done.failed:
            return
        if "edit" in done.kinds:
            if done.call.branch is not None:
                self._left.append((done.call, done.call.path or ""))
            elif len(self._standing) < MOST_PATHS:
                self._edit(done, texts)
        elif done.is_shell and "git" in done.call.summary:
            self._git(done)

    def _edit(self, done: Done, texts: Texts) -> None:
        self._standing.append(done)
        latest = self._latest.setdefault(done.call.path or "", deque(maxlen=_COMPARED))
        # Most files are edited once, and then nothing has to be unpacked to compare.
        change = texts.replaced(done.call) if latest else None
        undone = [edit for edit in latest if change and texts.replaced(edit.call) == change[::-1]]
        if undone:
            self._take("edit", undone[-1:], done)
        latest.append(done)

    def _take(self, kind: str, lost: list[Done], by: Done) -> None:
        self._taken.append((kind, lost, by))
        gone = set(map(id, lost))
        self._standing = [edit for edit in self._standing if id(edit) not in gone]

    def _git(self, done: Done) -> None:
        started = list(programs(done.call.summary))
        if any(map(_commits, started)):
            self._standing.clear()
            return
        for program in started:
            if (named := _takes_back(program)) is None:
                continue
            lost = [
                edit for edit in self._standing if not named or _is_named(edit.call.path, named)
            ]
            if lost:
                self._take("git", lost, done)

    def found(self, tokens: Tokens) -> tuple[Undone, ...]:
        undone = []
        if self._left:
            paths = few([path for _, path in self._left if path], 10)
            spent = sum(tokens.between(event.seq, event.seq) for event, _ in self._left)
            uids = few([event.event_uid for event, _ in self._left])
            undone.append(Undone("rewind", len(self._left), spent, paths, uids))
        for kind, lost, done in self._taken[:20]:
            paths = few([edit.call.path or "" for edit in lost if edit.call.path], 10)
            spent = tokens.between(lost[0].call.seq, done.call.seq)
            if kind == "edit":
                # What else was done between the two lasts.
                parts = (*lost, done)
                spent = sum(tokens.between(p.call.seq, p.result.seq) for p in parts)
            uids = (done.call.event_uid, *few([edit.call.event_uid for edit in lost], 4))
            undone.append(Undone(kind, len(lost), spent, paths, uids))
        return tuple(undone)


def _takes_back(program: Program) -> list[str] | None:
    """The paths a git command takes back, all of them where it names none; None: it does not."""
    if program.name != "git" or not program.arguments:
        return None
    verb, *rest = program.arguments
    paths = [word for word in rest if not word.startswith("-") and word != "."]
    if verb == "restore" and "--staged" not in rest:
        return paths
    if verb == "checkout" and ("--" in rest or "." in rest):
        return paths
    if verb == "reset" and "--hard" in rest:
        return []
    return [] if verb == "stash" and rest[:1] in ([], ["push"], ["-u"]) else None


def _is_named(path: str | None, named: list[str]) -> bool:
    return any(
        (path or "").endswith(name.rstrip("/")) or f"/{name.strip('./')}/" in f"/{path}"
        for name in named
    )
