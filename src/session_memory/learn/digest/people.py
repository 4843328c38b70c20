"""Collect what people said in a session: prompts, decisions and interventions.

The time of the session is divided between person, model, tools and idle time.
"""

from collections import deque
from collections.abc import Collection

from session_memory.learn.digest import Statement, TimeSplit
from session_memory.learn.digest.texts import Texts
from session_memory.store.brief_events import BriefEvent

MOST_STATEMENTS = 60
LONGEST = 1_000
IDLE_MS = 30 * 60 * 1000
_OF_A_PERSON = frozenset({"user_msg", "human_intervention", "decision"})


class StatementList:
    """Collects texts in order. If there are too many, it keeps the first and the last ones."""

    def __init__(self) -> None:
        self._first: list[Statement] = []
        self._last: deque[Statement] = deque(maxlen=MOST_STATEMENTS // 2)

    def add(self, event: BriefEvent, text: str) -> None:
        statement = Statement(event.event_uid, event.ts, text[:LONGEST])
        if len(self._first) < MOST_STATEMENTS // 2:
            self._first.append(statement)
        else:
            self._last.append(statement)

    def result(self) -> tuple[Statement, ...]:
        return (*self._first, *self._last)


class People:
    def __init__(self) -> None:
        self.prompts = StatementList()
        self.interventions = StatementList()
        self.decisions = StatementList()
        self.first_request: Statement | None = None

    def prompt(self, event: BriefEvent, text: str) -> None:
        self.prompts.add(event, text)
        if self.first_request is None:
            self.first_request = Statement(event.event_uid, event.ts, text[:LONGEST])

    def asked(self, event: BriefEvent, texts: Texts) -> None:
        """Add the task of a subagent, which an agent wrote."""
        if self.first_request is None:
            self.first_request = Statement(event.event_uid, event.ts, texts.words(event)[:LONGEST])


class TimeSplitter:
    """Divides a session's time between person, model, tools and idle time.

    The time between two events counts for whoever made the second event, by the rule of ``stats
    time``: the result of a call that a person answered, allowed or refused counts for the person.
    A gap of more than half an hour is idle time, and so is one before a notification or the task of
    a subagent.
    """

    def __init__(self) -> None:
        self._last: int | None = None
        self._ms = {"person": 0, "model": 0, "tools": 0, "idle": 0}

    def add(self, event: BriefEvent, kinds: Collection[str], who: str) -> None:
        """Add the time since the previous event to the time of ``who``. If a person caused the
        event, by its ``kinds``, the time is the person's instead."""
        if not _OF_A_PERSON.isdisjoint(kinds):
            who = "person"
        now, last = event.at, self._last
        if now is None or (last is not None and now <= last):
            return
        if last is not None:
            gap = now - last
            self._ms[who if gap <= IDLE_MS else "idle"] += gap
        self._last = now

    def result(self) -> TimeSplit:
        ms = self._ms
        return TimeSplit(ms["person"], ms["model"], ms["tools"], ms["idle"])
