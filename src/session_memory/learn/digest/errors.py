"""The errors of a session, grouped by fingerprint, with what resolved them.

A failed call is resolved when the same call succeeds. The resolution is the strongest action in
between: an edit, else a command, else a read. A similar call that succeeds right after the failure
resolves it too.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from session_memory.learn.digest import ErrorSnippet, Repeat, Resolution
from session_memory.learn.digest.fingerprints import error_line, fingerprint
from session_memory.learn.digest.similarity import content_words, word_overlap
from session_memory.learn.digest.steps import FinishedCall, TokenSums
from session_memory.learn.digest.texts import Texts
from session_memory.store.brief_events import BriefEvent

MOST_ERRORS = 100
MOST_REPEATS = 50
MOST_PENDING = 500
MOST_SPANS = 1_000
NAMED = 5
REPEAT_FROM = 3
SAME_FILE = "the same file"
_RECENT = 200
_SOON = 3
_ALIKE = 0.4
_ALIKE_FOR_ONE_PROGRAM = 0.25
_ELSEWHERE = re.compile(r"^\s*cd [^;&|]{1,200}(?:&&|;)\s*")
_EDIT, _COMMAND, _LOOK = "edit", "command", "look"
_STRONGEST = (_EDIT, _COMMAND, _LOOK)

Key = tuple[str | None, str]


class _Action(NamedTuple):
    seq: int
    kind: str
    uid: str
    text: str
    key: Key


class _Group:
    """All occurrences of one error in the session."""

    __slots__ = ("call", "count", "fingerprint", "resolution", "sample", "spans", "tool", "uids")

    def __init__(self, mark: str, sample: str, tool: str | None, call: str) -> None:
        self.fingerprint, self.sample, self.tool, self.call = mark, sample, tool, call
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
    """Failures in a row: of one call, or of the model when it could not be reached."""

    __slots__ = ("count", "first", "groups", "is_test", "last", "number", "tool", "uids", "words")

    def __init__(self, first: int, tool: str | None, words: str) -> None:
        self.tool, self.words = tool, words
        self.first = self.last = first
        self.count = self.number = 0
        self.is_test = False
        self.uids: list[str] = []
        self.groups: list[_Group] = []

    def add_occurrence(self, event: BriefEvent, groups: Iterable[_Group]) -> None:
        self.count += 1
        self.last = event.seq
        if len(self.uids) < NAMED:
            self.uids.append(event.event_uid)
        for group in groups:
            if group not in self.groups and len(self.groups) < MOST_ERRORS:
                self.groups.append(group)


class _Tries:
    """The attempts of the skill call that is being read: the errors they had, and their models."""

    def __init__(self) -> None:
        self.groups: dict[_Group, str | None] = {}
        self.last: BriefEvent | None = None


class ErrorGroups:
    """``is_skill``: the session is a skill log. Its calls consist of attempts."""

    def __init__(self, *, is_skill: bool = False) -> None:
        self._is_skill = is_skill
        self._tries = _Tries()
        self._groups: dict[str, _Group] = {}
        self._pending: dict[Key, _Streak] = {}
        self._unreachable: _Streak | None = None
        self._actions: deque[_Action] = deque(maxlen=_RECENT)
        self._failed_lately: deque[Key] = deque(maxlen=_SOON)
        self._repeats: list[tuple[_Streak, int, bool]] = []
        self._number = 0

    def add(self, finished: FinishedCall, texts: Texts) -> None:
        self._number += 1
        if finished.failed:
            self._failed(finished, texts)
        else:
            self._succeeded(finished)
        self._tries = _Tries()

    def add_attempt(self, event: BriefEvent, texts: Texts) -> None:
        """Add an attempt of a skill call. Its error is what the run or the review said."""
        self._tries.last = event
        if event.is_error and (sample := texts.reason(event)):
            group = self._group(event, event.tool, sample, "")
            group.add_span(event.seq, event.seq)
            self._tries.groups[group] = event.model

    def add_model_error(self, event: BriefEvent, texts: Texts) -> None:
        """Add an error that belongs to no call: the model could not be reached."""
        group = self._group(event, None, error_line(texts.words(event)), "")
        group.add_span(event.seq, event.seq)
        if self._unreachable is None:
            self._unreachable = _Streak(event.seq, None, event.summary)
        self._unreachable.add_occurrence(event, (group,))

    def answered(self, event: BriefEvent) -> None:
        """The model answered, so it can be reached again."""
        if (streak := self._unreachable) is not None:
            self._unreachable = None
            for group in streak.groups:
                group.resolution = Resolution("again", "", (), event.event_uid)
            self._add_repeat(streak, streak.last, resolved=True)

    def _failed(self, finished: FinishedCall, texts: Texts) -> None:
        if finished.is_answer_no:
            return
        groups = self._groups_of(finished, texts)
        if "human_intervention" in finished.result.marks:
            # A call that a person refused is never counted as resolved.
            return
        streak = self._pending.get(finished.key)
        if streak is None:
            if len(self._pending) >= MOST_PENDING:
                self._close_unresolved(next(iter(self._pending)))
            streak = _Streak(
                finished.call.seq, finished.call.tool, finished.call.path or finished.call.summary
            )
            streak.is_test = "test_run" in finished.kinds
            self._pending[finished.key] = streak
        streak.add_occurrence(finished.result, groups)
        streak.number = self._number
        self._failed_lately.append(finished.key)

    def _groups_of(self, finished: FinishedCall, texts: Texts) -> Iterable[_Group]:
        """The errors of a failed call: one, or those of the attempts of a skill."""
        call, result = finished.call, finished.result
        if not self._is_skill:
            sample = error_line(texts.output(result)) or _text_without_output(finished)
            return (self._group(result, call.tool, sample, call.summary),)
        if self._tries.groups:
            return self._tries.groups
        # The status of a call is no reason. A failure without one is in the outcome alone.
        last = self._tries.last
        sample = (texts.reason(last) if last is not None else "") or texts.reason(result)
        return (self._group(result, call.tool, sample, call.summary),) if sample else ()

    def _group(self, event: BriefEvent, tool: str | None, sample: str, call: str) -> _Group:
        mark = fingerprint(sample)
        group = self._groups.get(mark) or _Group(mark, sample, tool, call)
        if len(self._groups) < MOST_ERRORS:
            # Errors over the maximum appear only in the total of `Markers.error`.
            self._groups[mark] = group
        group.add_occurrence(event.event_uid)
        return group

    def _succeeded(self, finished: FinishedCall) -> None:
        for group, model in self._tries.groups.items():
            group.resolution = self._later_try(model, finished)
        if (streak := self._pending.pop(finished.key, None)) is not None:
            self._resolve(streak, finished, self._between(streak, finished))
        elif "test_run" in finished.kinds:
            self._tests_passed(finished)
        elif (replaced := self._replaced(finished)) is not None:
            text = finished.call.path or finished.call.summary
            instead = Resolution(
                "instead", text, (finished.call.event_uid,), finished.result.event_uid
            )
            for group in replaced.groups:
                group.resolution = group.resolution or instead
        self._remember(finished)

    def _later_try(self, model: str | None, finished: FinishedCall) -> Resolution:
        """A later attempt of the same call succeeded; with another model, the model is named."""
        last = self._tries.last or finished.result
        uids = (last.event_uid,)
        if last.model and last.model != model:
            return Resolution("instead", f"model {last.model}", uids, finished.result.event_uid)
        return Resolution("again", "", uids, finished.result.event_uid)

    def _resolve(self, streak: _Streak, finished: FinishedCall, how: Resolution) -> None:
        for group in streak.groups:
            group.resolution = how
            group.add_span(streak.first, finished.call.seq)
        self._add_repeat(streak, finished.call.seq, resolved=True)

    def _tests_passed(self, finished: FinishedCall) -> None:
        """Resolve earlier failed test runs if an edit came in between.

        The passing run may be another command: all tests, one test, or other options.
        """
        for key in [key for key, streak in self._pending.items() if streak.is_test]:
            how = self._between(self._pending[key], finished)
            if how.kind == _EDIT:
                self._resolve(self._pending.pop(key), finished, how)

    def _between(self, streak: _Streak, finished: FinishedCall) -> Resolution:
        since = [
            action
            for action in self._actions
            if streak.last < action.seq < finished.call.seq and action.key != finished.key
        ]
        for kind in _STRONGEST:
            if actions := [action for action in since if action.kind == kind]:
                actions = actions if kind == _EDIT else actions[-1:]
                own = finished.call.path
                names = (
                    SAME_FILE if action.text == own else action.text for action in actions[-5:]
                )
                text = ", ".join(dict.fromkeys(names))
                uids = tuple(action.uid for action in actions[-5:])
                return Resolution(kind, text, uids, finished.result.event_uid)
        return Resolution("again", "", (finished.call.event_uid,), finished.result.event_uid)

    def _replaced(self, finished: FinishedCall) -> _Streak | None:
        """The failed call that this call replaces: a similar call that failed shortly before."""
        text = finished.call.path or finished.call.summary
        for key in reversed(self._failed_lately):
            streak = self._pending.get(key)
            if streak is None or self._number - streak.number > _SOON:
                continue
            if streak.tool == finished.call.tool and _is_like(streak.words, text):
                return streak
        return None

    def _remember(self, finished: FinishedCall) -> None:
        kind = _EDIT if "edit" in finished.kinds else _COMMAND if finished.is_shell else _LOOK
        text = finished.call.path or finished.call.summary
        self._actions.append(
            _Action(finished.call.seq, kind, finished.call.event_uid, text, finished.key)
        )

    def _close_unresolved(self, key: Key) -> None:
        streak = self._pending.pop(key)
        for group in streak.groups:
            group.add_span(streak.first, streak.last)
        self._add_repeat(streak, streak.last, resolved=False)

    def _add_repeat(self, streak: _Streak, end: int, *, resolved: bool) -> None:
        if streak.count >= REPEAT_FROM and len(self._repeats) < MOST_REPEATS:
            self._repeats.append((streak, end, resolved))

    def end(self) -> None:
        """Call once, after the last event: failures that are still pending stay unresolved."""
        if self._unreachable is not None:
            self._add_repeat(self._unreachable, self._unreachable.last, resolved=False)
        for key in list(self._pending):
            self._close_unresolved(key)

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
            )

    def repeats(self, tokens: TokenSums) -> Iterator[Repeat]:
        for streak, end, resolved in sorted(self._repeats, key=lambda r: r[0].first):
            spent, uids = tokens.between(streak.first, end), tuple(streak.uids)
            yield Repeat(streak.tool, streak.words, streak.count, spent, resolved, uids)


def _merged(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The spans without overlap, so that no token is counted twice for one error."""
    end = -1
    for first, last in sorted(spans):
        if last > end:
            yield max(first, end + 1), last
            end = last


def _text_without_output(finished: FinishedCall) -> str:
    """A text for a failure without output: the program and its exit status."""
    program = _ELSEWHERE.sub("", finished.call.summary).split(None, 1)[:1]
    return " ".join((*program, f"ended with status {finished.result.exit_code}"))


def _is_like(one: str, other: str) -> bool:
    one, other = _ELSEWHERE.sub("", one), _ELSEWHERE.sub("", other)
    has_same_program = one.split(None, 1)[:1] == other.split(None, 1)[:1]
    needed = _ALIKE_FOR_ONE_PROGRAM if has_same_program else _ALIKE
    return word_overlap(content_words(one), content_words(other)) >= needed
