"""Group the errors of a session by fingerprint, and note what resolved each of them.

`open_errors` finds the call after which an error is gone, `resolutions` the change that did it.
"""

from collections.abc import Iterable, Iterator

from session_memory.learn.digest import ErrorSnippet, Repeat, Resolution
from session_memory.learn.digest.actions import Action
from session_memory.learn.digest.error_lines import ErrorLine, error_line
from session_memory.learn.digest.fingerprints import fingerprint
from session_memory.learn.digest.open_errors import EndedError, OpenErrors
from session_memory.learn.digest.reports import Reports
from session_memory.learn.digest.runner_lines import STATUS
from session_memory.learn.digest.running import RunningCalls
from session_memory.learn.digest.steps import FinishedCall, TokenSums, program_of
from session_memory.learn.digest.texts import Texts
from session_memory.store.brief_events import BriefEvent

MOST_ERRORS = 100
MOST_REPEATS = 50
MOST_PENDING = 500
MOST_SPANS = 1_000
NAMED = 5
REPEAT_FROM = 3

Key = tuple[str | None, str]


class _Group:
    """All occurrences of one error in the session."""

    __slots__ = (
        "call", "count", "fingerprint", "near", "resolution", "sample", "spans", "tool", "uids",
    )  # fmt: skip

    def __init__(self, mark: str, sample: str, tool: str | None, call: str, near: str) -> None:
        self.fingerprint, self.sample, self.tool, self.call = mark, sample, tool, call
        self.near = near
        self.count = 0
        self.uids: list[str] = []
        self.spans: list[tuple[int, int]] = []
        self.resolution: Resolution | None = None

    def add_occurrence(self, uid: str) -> None:
        self.count += 1
        if len(self.uids) < NAMED:
            self.uids.append(uid)

    def add_span(self, first: int, last: int) -> None:
        if len(self.spans) < MOST_SPANS:
            self.spans.append((first, last))


class _Streak:
    """Failures in a row: of one call, or of the model when it could not be reached.

    ``edits`` is the number of edits of the session before the last failure.
    """

    __slots__ = ("count", "edits", "first", "groups", "last", "tool", "uids", "words")

    def __init__(self, first: int, tool: str | None, words: str, edits: int = 0) -> None:
        self.tool, self.words = tool, words
        self.first = self.last = first
        self.count, self.edits = 0, edits
        self.uids: list[str] = []
        self.groups: list[_Group] = []

    def add_occurrence(self, event: BriefEvent, groups: Iterable[_Group] = ()) -> None:
        self.count += 1
        self.last = event.seq
        if len(self.uids) < NAMED:
            self.uids.append(event.event_uid)
        for group in groups:
            if group not in self.groups and len(self.groups) < MOST_ERRORS:
                self.groups.append(group)


class _Tries:
    """The attempts so far of one call in a skill log.

    ``groups`` are their errors, each with the model of the last attempt that had it.
    """

    def __init__(self) -> None:
        self.groups: dict[_Group, str | None] = {}
        self.last: BriefEvent | None = None


class ErrorGroups:
    """Collects the errors of a session event by event.

    ``is_skill``: the session is a skill log. Each of its calls consists of attempts, and the errors
    are those of the attempts.
    """

    def __init__(self, session_uid: str = "", *, is_skill: bool = False) -> None:
        self._session, self._is_skill = session_uid, is_skill
        self._tries = _Tries()
        self._groups: dict[str, _Group] = {}
        self._open = OpenErrors()
        self._reports = Reports()
        self._running = RunningCalls()
        self._streaks: dict[Key, _Streak] = {}
        self._unreachable: _Streak | None = None
        self._repeats: list[tuple[_Streak, int, bool]] = []
        self._last_message: BriefEvent | None = None
        self._number = 0
        self._edits = 0

    def add(self, finished: FinishedCall, texts: Texts) -> None:
        self._number += 1
        if self._is_skill:
            self._add_skill(finished, texts)
            return
        if finished.is_poll:
            finished = self._running.asked_by(finished, texts)
        else:
            self._running.started(finished)
        action = Action(self._number, finished, self._last_message, texts, self._session)
        is_refused = "human_intervention" in finished.result.marks
        if is_refused or (finished.failed and action.is_meant_to_fail):
            # A refusal by a person is no error, and neither is the answer "no match".
            return
        self._reports.did(action)
        action.errors = action.find_errors()
        if not action.errors and finished.failed:
            action.errors = _without_output(action)
        if finished.failed:
            self._add_failure(finished, action)
        elif (streak := self._streaks.pop(finished.key, None)) is not None:
            self._add_repeat(streak, finished.call.seq, resolved=True)
        if action.errors:
            found = {fingerprint(error.text): error for error in reversed(action.errors)}
            for mark, error in found.items():
                self._group(finished.result, finished.call, error.text, error.near, mark)
            self._note_ended(self._open.failed(action, found, texts))
        elif not finished.failed:
            self._note_ended(self._open.succeeded(action, texts))
        if action.is_edit:
            # The last message of the model announced this edit. It explains no later call.
            self._last_message = None
            self._edits += not finished.failed

    def _add_failure(self, finished: FinishedCall, action: Action) -> None:
        streak = self._streaks.get(finished.key)
        if streak is not None and streak.edits != self._edits:
            # A file was edited since the last failure, so this call is not a mere repetition.
            if streak.count >= REPEAT_FROM:
                return
            streak = None
        if streak is None:
            if len(self._streaks) >= MOST_PENDING:
                self._close(next(iter(self._streaks)))
            call = finished.call
            streak = _Streak(call.seq, call.tool, call.path or call.summary, self._edits)
            self._streaks[finished.key] = streak
        streak.add_occurrence(finished.result)

    def _note_ended(self, ended: Iterable[EndedError]) -> None:
        for one in ended:
            if (group := self._groups.get(one.mark)) is not None:
                group.resolution = one.resolution or group.resolution
                group.add_span(one.first, one.action.call.seq)

    def message(self, event: BriefEvent) -> None:
        """Note a message of the model. A resolution keeps the message before its change."""
        self._last_message = event

    def reported(self, event: BriefEvent, texts: Texts) -> None:
        """Note a message or an accepted plan of a person. It may report an error."""
        if not self._is_skill:
            self._last_message = None
            self._reports.add(event, texts.message(event), texts)

    def add_attempt(self, event: BriefEvent, texts: Texts) -> None:
        """Add an attempt of a skill call. Its error is the message of the run or the review."""
        self._tries.last = event
        if event.is_error and (sample := texts.reason(event)):
            group = self._group(event, None, sample, tool=event.tool)
            group.add_span(event.seq, event.seq)
            self._tries.groups[group] = event.model

    def _add_skill(self, finished: FinishedCall, texts: Texts) -> None:
        """Add a finished call of a skill; its attempts were added before."""
        call, result, tries = finished.call, finished.result, self._tries
        self._tries = _Tries()
        if finished.failed:
            # Without a reason in the log there is no error to group, only a failed outcome.
            last = tries.last
            sample = (texts.reason(last) if last is not None else "") or texts.reason(result)
            if sample and not tries.groups:
                self._group(result, call, sample).add_span(call.seq, result.seq)
            self._add_failure(finished, Action(self._number, finished, None, texts, self._session))
            return
        if (streak := self._streaks.pop(finished.key, None)) is not None:
            self._add_repeat(streak, call.seq, resolved=True)
        for group, model in tries.groups.items():
            group.resolution = _later_try(tries.last or result, model, finished)

    def add_model_error(self, event: BriefEvent, texts: Texts) -> None:
        """Add an error that belongs to no call: the model could not be reached."""
        group = self._group(event, None, error_line(texts.words(event)))
        group.add_span(event.seq, event.seq)
        if self._unreachable is None:
            self._unreachable = _Streak(event.seq, None, event.summary)
        self._unreachable.add_occurrence(event, (group,))

    def answered(self, event: BriefEvent) -> None:
        """Note that the model answered. So the earlier failures to reach it are resolved."""
        if (streak := self._unreachable) is not None:
            self._unreachable = None
            for group in streak.groups:
                group.resolution = Resolution("again", "", (), event.event_uid)
            self._add_repeat(streak, streak.last, resolved=True)

    def _group(
        self,
        event: BriefEvent,
        call: BriefEvent | None,
        sample: str,
        near: str = "",
        mark: str = "",
        tool: str | None = None,
    ) -> _Group:
        mark = mark or fingerprint(sample)
        summary = call.summary if call is not None else ""
        tool = call.tool if call is not None else tool
        group = self._groups.get(mark) or _Group(mark, sample, tool, summary, near)
        if len(self._groups) < MOST_ERRORS:
            # Errors over the maximum appear only in the total of `Markers.error`.
            self._groups[mark] = group
        group.add_occurrence(event.event_uid)
        return group

    def _close(self, key: Key) -> None:
        streak = self._streaks.pop(key)
        self._add_repeat(streak, streak.last, resolved=False)

    def _add_repeat(self, streak: _Streak, end: int, *, resolved: bool) -> None:
        if streak.count >= REPEAT_FROM and len(self._repeats) < MOST_REPEATS:
            self._repeats.append((streak, end, resolved))

    def end(self, texts: Texts) -> None:
        """Finish after the last event. Errors that are still open stay unresolved."""
        self._reports.close(texts)
        if self._unreachable is not None:
            self._add_repeat(self._unreachable, self._unreachable.last, resolved=False)
        for key in list(self._streaks):
            self._close(key)
        for mark, first, last in self._open.left():
            if (group := self._groups.get(mark)) is not None:
                group.add_span(first, last)

    def snippets(self, tokens: TokenSums) -> Iterator[ErrorSnippet]:
        for group in sorted(self._groups.values(), key=lambda g: (-g.count, g.fingerprint)):
            yield ErrorSnippet(
                fingerprint=group.fingerprint,
                sample=group.sample,
                count=group.count,
                tool=group.tool,
                call=group.call,
                tokens=sum(tokens.between(first, last) for first, last in _merged(group.spans)),
                event_uids=tuple(group.uids),
                resolution=group.resolution,
                near=group.near,
            )
        own = self._reports.snippets.items()
        yield from (one for mark, one in sorted(own) if mark not in self._groups)

    def repeats(self, tokens: TokenSums) -> Iterator[Repeat]:
        for streak, end, resolved in sorted(self._repeats, key=lambda r: r[0].first):
            spent, uids = tokens.between(streak.first, end), tuple(streak.uids)
            yield Repeat(streak.tool, streak.words, streak.count, spent, resolved, uids)


def _later_try(last: BriefEvent, model: str | None, finished: FinishedCall) -> Resolution:
    """Return the resolution of an attempt's error: a later attempt of the same call succeeded.

    If another model made the later attempt, the resolution names that model.
    """
    uids = (last.event_uid,)
    if last.model and last.model != model:
        return Resolution("instead", f"model {last.model}", uids, finished.result.event_uid)
    return Resolution("again", "", uids, finished.result.event_uid)


def _merged(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans without overlap, so that no token is counted twice for one error."""
    end = -1
    for first, last in sorted(spans):
        if last > end:
            yield max(first, end + 1), last
            end = last


def _without_output(action: Action) -> list[ErrorLine]:
    """Return an error of a failed call whose output shows none: "make ended with status 2".

    There is no error if the call was stopped, only waited or has no exit status, if several
    commands ran (nobody knows which one failed), or if the command only looks at things.
    """
    if action.was_stopped or action.finished.is_poll or not action.result.exit_code:
        return []
    if action.is_shell and (action.only_looks or len(action.parts) > 1):
        return []
    program = program_of(action.call.tool, action.command).removeprefix("shell: ")
    text = f"{program} ended with status {action.result.exit_code}".strip()
    return [ErrorLine(text, grade=STATUS)]
