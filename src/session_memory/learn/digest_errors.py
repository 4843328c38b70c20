"""Errors by fingerprint, the same call failing again and again, and what resolved it.

A failure is resolved when the same call succeeds; what stood in between, an edit before a command
before a look, is how. A call that took the failed one's place at once resolves it, too.
"""

import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from session_memory.learn.digest import ErrorSnippet, Repeat, Resolution
from session_memory.learn.fingerprints import fingerprint, telling_line
from session_memory.learn.steps import Done, Tokens
from session_memory.learn.texts import Texts
from session_memory.learn.words import likeness, telling_words
from session_memory.store.brief_events import BriefEvent

MOST_ERRORS = 100
MOST_REPEATS = 50
MOST_PENDING = 500
MOST_SPANS = 1_000
NAMED = 5
STORM = 3
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
    """One error as it occurred in the session."""

    __slots__ = ("call", "count", "fingerprint", "resolution", "sample", "spans", "tool", "uids")

    def __init__(self, mark: str, sample: str, tool: str | None, call: str) -> None:
        self.fingerprint, self.sample, self.tool, self.call = mark, sample, tool, call
        self.count = 0
        self.uids: list[str] = []
        self.spans: list[tuple[int, int]] = []
        self.resolution: Resolution | None = None

    def met(self, uid: str) -> None:
        self.count += 1
        if len(self.uids) < NAMED:
            self.uids.append(uid)

    def took(self, first: int, last: int) -> None:
        if len(self.spans) < MOST_SPANS:
            self.spans.append((first, last))


class _Streak:
    """A call that failed and did not succeed yet; or the model, not to be reached."""

    __slots__ = ("count", "first", "groups", "is_test", "last", "number", "tool", "uids", "words")

    def __init__(self, first: int, tool: str | None, words: str) -> None:
        self.tool, self.words = tool, words
        self.first = self.last = first
        self.count = self.number = 0
        self.is_test = False
        self.uids: list[str] = []
        self.groups: list[_Group] = []

    def met(self, event: BriefEvent, group: _Group) -> None:
        self.count += 1
        self.last = event.seq
        if len(self.uids) < NAMED:
            self.uids.append(event.event_uid)
        if group not in self.groups and len(self.groups) < MOST_ERRORS:
            self.groups.append(group)


class Errors:
    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {}
        self._pending: dict[Key, _Streak] = {}
        self._unreachable: _Streak | None = None
        self._actions: deque[_Action] = deque(maxlen=_RECENT)
        self._failed_lately: deque[Key] = deque(maxlen=_SOON)
        self._repeats: list[tuple[_Streak, int, bool]] = []
        self._number = 0

    # ------------------------------------------------------------ what happens

    def done(self, done: Done, texts: Texts) -> None:
        self._number += 1
        if done.failed:
            self._failed(done, texts)
        else:
            self._succeeded(done)

    def lonely(self, event: BriefEvent, texts: Texts) -> None:
        """An error of no call: a model that could not be reached."""
        group = self._group(event, None, telling_line(texts.words(event)), "")
        group.took(event.seq, event.seq)
        if self._unreachable is None:
            self._unreachable = _Streak(event.seq, None, event.summary)
        self._unreachable.met(event, group)

    def answered(self, event: BriefEvent) -> None:
        """The model spoke: whatever kept it from that is over."""
        if (streak := self._unreachable) is not None:
            self._unreachable = None
            for group in streak.groups:
                group.resolution = Resolution("again", "", (), event.event_uid)
            self._storm(streak, streak.last, resolved=True)

    def _failed(self, done: Done, texts: Texts) -> None:
        if done.says_no:
            return
        sample = telling_line(texts.output(done.result)) or _silent(done)
        group = self._group(done.result, done.call.tool, sample, done.call.summary)
        if "human_intervention" in done.result.marks:
            # What a person refused is not resolved by what the agent does next.
            return
        streak = self._pending.get(done.key)
        if streak is None:
            if len(self._pending) >= MOST_PENDING:
                self._give_up(next(iter(self._pending)))
            streak = _Streak(done.call.seq, done.call.tool, done.call.path or done.call.summary)
            streak.is_test = "test_run" in done.kinds
            self._pending[done.key] = streak
        streak.met(done.result, group)
        streak.number = self._number
        self._failed_lately.append(done.key)

    def _group(self, event: BriefEvent, tool: str | None, sample: str, call: str) -> _Group:
        mark = fingerprint(sample)
        group = self._groups.get(mark) or _Group(mark, sample, tool, call)
        if len(self._groups) < MOST_ERRORS:
            # Of what comes later only the number is known, from the markers.
            self._groups[mark] = group
        group.met(event.event_uid)
        return group

    def _succeeded(self, done: Done) -> None:
        if (streak := self._pending.pop(done.key, None)) is not None:
            self._resolve(streak, done, self._between(streak, done))
        elif "test_run" in done.kinds:
            self._tests_passed(done)
        elif (replaced := self._replaced(done)) is not None:
            text = done.call.path or done.call.summary
            instead = Resolution("instead", text, (done.call.event_uid,), done.result.event_uid)
            for group in replaced.groups:
                group.resolution = group.resolution or instead
        self._remember(done)

    def _resolve(self, streak: _Streak, done: Done, how: Resolution) -> None:
        for group in streak.groups:
            group.resolution = how
            group.took(streak.first, done.call.seq)
        self._storm(streak, done.call.seq, resolved=True)

    def _tests_passed(self, done: Done) -> None:
        """Tests are run again in other words: all of them, one of them, more loudly. What failed
        before an edit and passes after it was the edit's to resolve."""
        for key in [key for key, streak in self._pending.items() if streak.is_test]:
            how = self._between(self._pending[key], done)
            if how.kind == _EDIT:
                self._resolve(self._pending.pop(key), done, how)

    def _between(self, streak: _Streak, done: Done) -> Resolution:
        since = [
            action
            for action in self._actions
            if streak.last < action.seq < done.call.seq and action.key != done.key
        ]
        for kind in _STRONGEST:
            if chosen := [action for action in since if action.kind == kind]:
                chosen = chosen if kind == _EDIT else chosen[-1:]
                own = done.call.path
                names = (SAME_FILE if action.text == own else action.text for action in chosen[-5:])
                text = ", ".join(dict.fromkeys(names))
                uids = tuple(action.uid for action in chosen[-5:])
                return Resolution(kind, text, uids, done.result.event_uid)
        return Resolution("again", "", (done.call.event_uid,), done.result.event_uid)

    def _replaced(self, done: Done) -> _Streak | None:
        """The call that just failed, and that this one is another way of making."""
        text = done.call.path or done.call.summary
        for key in reversed(self._failed_lately):
            streak = self._pending.get(key)
            if streak is None or self._number - streak.number > _SOON:
                continue
            if streak.tool == done.call.tool and _is_like(streak.words, text):
                return streak
        return None

    def _remember(self, done: Done) -> None:
        kind = _EDIT if "edit" in done.kinds else _COMMAND if done.is_shell else _LOOK
        text = done.call.path or done.call.summary
        self._actions.append(_Action(done.call.seq, kind, done.call.event_uid, text, done.key))

    def _give_up(self, key: Key) -> None:
        streak = self._pending.pop(key)
        for group in streak.groups:
            group.took(streak.first, streak.last)
        self._storm(streak, streak.last, resolved=False)

    def _storm(self, streak: _Streak, end: int, *, resolved: bool) -> None:
        if streak.count >= STORM and len(self._repeats) < MOST_REPEATS:
            self._repeats.append((streak, end, resolved))

    # ------------------------------------------------------------ what it comes to

    def end(self) -> None:
        """Call once, when the session is read: what is still pending was never resolved."""
        if self._unreachable is not None:
            self._storm(self._unreachable, self._unreachable.last, resolved=False)
        for key in list(self._pending):
            self._give_up(key)

    def snippets(self, tokens: Tokens) -> Iterator[ErrorSnippet]:
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

    def repeats(self, tokens: Tokens) -> Iterator[Repeat]:
        for streak, end, resolved in sorted(self._repeats, key=lambda r: r[0].first):
            spent, uids = tokens.between(streak.first, end), tuple(streak.uids)
            yield Repeat(streak.tool, streak.words, streak.count, spent, resolved, uids)


def _merged(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Stretches that do not overlap: no token is counted twice for one error."""
    end = -1
    for first, last in sorted(spans):
        if last > end:
            yield max(first, end + 1), last
            end = last


def _silent(done: Done) -> str:
    """What to call a failure that printed nothing: by its program and status."""
    program = _ELSEWHERE.sub("", done.call.summary).split(None, 1)[:1]
    return " ".join((*program, f"ended with status {done.result.exit_code}"))


def _is_like(one: str, other: str) -> bool:
    one, other = _ELSEWHERE.sub("", one), _ELSEWHERE.sub("", other)
    has_same_program = one.split(None, 1)[:1] == other.split(None, 1)[:1]
    needed = _ALIKE_FOR_ONE_PROGRAM if has_same_program else _ALIKE
    return likeness(telling_words(one), telling_words(other)) >= needed
