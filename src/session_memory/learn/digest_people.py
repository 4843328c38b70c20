"""What people said, decided and interrupted in a session, and whose time it took."""

from collections import deque

from session_memory.learn.digest import Said, TimeSplit
from session_memory.learn.texts import Texts
from session_memory.store.brief_events import BriefEvent

MOST_SAID = 60
LONGEST = 1_000
IDLE_MS = 30 * 60 * 1000


class Sayings:
    """Words in order; of very many the first half and the last half."""

    def __init__(self) -> None:
        self._first: list[Said] = []
        self._last: deque[Said] = deque(maxlen=MOST_SAID // 2)

    def add(self, event: BriefEvent, text: str) -> None:
        said = Said(event.event_uid, event.ts, text[:LONGEST])
        if len(self._first) < MOST_SAID // 2:
            self._first.append(said)
        else:
            self._last.append(said)

    def found(self) -> tuple[Said, ...]:
        return (*self._first, *self._last)


class People:
    def __init__(self) -> None:
        self.prompts = Sayings()
        self.interventions = Sayings()
        self.decisions = Sayings()
        self.first_request: Said | None = None

    def prompt(self, event: BriefEvent, text: str) -> None:
        self.prompts.add(event, text)
        if self.first_request is None:
            self.first_request = Said(event.event_uid, event.ts, text[:LONGEST])

    def asked(self, event: BriefEvent, texts: Texts) -> None:
        """The task of a subagent, which no person wrote."""
        if self.first_request is None:
            self.first_request = Said(event.event_uid, event.ts, texts.words(event)[:LONGEST])


class Clock:
    """Splits the time between events by who was at work: the one whose event ends the gap."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._ms = {"person": 0, "model": 0, "tools": 0, "idle": 0}

    def add(self, event: BriefEvent, who: str) -> None:
        now, last = event.at, self._last
        if now is None or (last is not None and now <= last):
            return
        if last is not None:
            gap = now - last
            self._ms[who if gap <= IDLE_MS else "idle"] += gap
        self._last = now

    def found(self) -> TimeSplit:
        ms = self._ms
        return TimeSplit(ms["person"], ms["model"], ms["tools"], ms["idle"])
