"""The state of a log of Codex from line to line, and the native ids of its records.

The state is part of the cursor, so its size is bounded. Most lines have no id, so an id is made
from the turn and the content, never from the line's place in the file. A fork may copy lines of its
parent into its own file. A copied line must get the same id as the original. A line that the fork
itself wrote must get another id.
"""

import re
from hashlib import blake2b

import msgspec

from session_memory.adapters.codex.likeness import are_alike
from session_memory.adapters.cursor_state import StateText, bounded

SAID = 128
CALLED = 32
TWINS = 32
OPEN_CALLS = 64
TURNS_LEFT = 16
THREADS = 16
LONGEST_NAME = 80
# Each message is logged twice: as an event for people, and as an item for the model.
EVENT = 1
ITEM = -1
# Codex copies the lines of a fork without a pause. A person's next prompt comes after a longer
# pause than this.
PAUSE_MS = 1000
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


class ThreadState(msgspec.Struct, array_like=True):
    """What the adapter remembers after a line of a log, to translate the next one.

    - ``origin``: the thread whose lines are copied here; empty if the line is the thread's own.
    - ``injected``: a hash of the last text that no person typed.
    - ``twins``: messages that were logged once and whose second copy may follow, with the side that
      has logged them. ``sketches`` are the sketches of their texts.
    - ``said``, ``called``: the texts and calls in the present scope, with how often each came.
    """

    thread: str = ""
    rollout: str = ""
    began: int = 0
    is_paginated: bool = False
    is_person: bool = True
    inherited_until: int = 0
    ordinal: int = -1
    origin: str = ""
    is_origin_person: bool = True
    copied_at: int = 0
    turn: str = ""
    chain: str = ""
    turns_left: dict[str, int] = {}
    begun: dict[str, int] = {}
    in_turn: bool = False
    has_turns: bool = False
    in_review: bool = False
    answered_in_turn: bool = False
    model: str | None = None
    modes: dict[str, str] = {}
    total: list[int] | None = None
    has_usage_records: bool = False
    has_answered: bool = False
    lone: str = ""
    script: str = ""
    said: dict[str, int] = {}
    said_in_all: int = 0
    called: dict[str, int] = {}
    twins: dict[str, int] = {}
    open_calls: dict[str, str] = {}
    knows_records: bool = False
    injected: str = ""
    sketches: dict[str, str] = {}

    @property
    def scope(self) -> str:
        """The scope within which the id of a record is unique: the id of the turn.

        Without ids of turns, it is a hash of the thread and of all texts in the role of the user so
        far. So a fork enters another scope as soon as it gets another prompt, or its context again.
        """
        if self.turn and not (self.is_origin_person if self.origin else self.is_person):
            # A review has the id of the turn in which it was requested, so its thread is added.
            return f"{self.origin or self.thread}/{self._turn}"
        return self._turn or self.chain

    @property
    def _turn(self) -> str:
        """The id of the turn. A turn that continues after another one gets a number, because its
        texts were forgotten meanwhile."""
        times = self.turns_left.get(self.turn)
        return f"{self.turn}+{times}" if times else self.turn

    # ------------------------------------------------------------ the present thread and turn

    def begin_thread(self, thread: str, began: int, rollout: str) -> None:
        self.thread, self.began, self.rollout = thread, began, rollout
        self.begin(thread)

    def begin_fork(self, origin: str) -> None:
        """Begin a fork of the thread ``origin`` in a migrated log. Such a log has copies of the
        parent's lines, but not the parent's ``session_meta``."""
        if self.chain == self.thread and not self.turn:
            self.begin(origin)

    def begin_copy(self, origin: str, is_person: bool, ts: int | None) -> None:
        self.origin, self.is_origin_person, self.copied_at = origin, is_person, ts or 0
        self.begin(origin)

    def begin(self, thread: str) -> None:
        """Begin the lines of a thread. If a thread begins a second time in the log, its records
        get other ids."""
        if self.chain == thread and not self.turn:
            return
        times = self.begun.pop(thread, 0)
        bounded(self.begun, THREADS)[thread] = times + 1
        self._enter("", f"{thread}+{times}" if times else thread)

    def begin_turn(self, turn: str | None) -> None:
        """Begin a turn if its id is a UUID. Other ids are numbers from a migration, which are not
        unique."""
        if turn and turn != self.turn and _UUID.fullmatch(turn):
            if self.origin and time_of(turn) >= self.began > 0:
                self.origin = ""
            self._enter(turn, self.chain)

    @property
    def is_in_own_turn(self) -> bool:
        return bool(self.turn) and time_of(self.turn) >= self.began > 0

    def see_time(self, ts: int | None) -> None:
        """End the copied part of a log at the first pause between two lines."""
        if self.origin and ts is not None:
            if ts - self.copied_at > PAUSE_MS and ts >= self.began:
                self.end_copy()
            self.copied_at = ts

    def end_copy(self) -> None:
        self.origin = ""
        # A fork of this fork copies these lines without the pause, and must give them the same
        # ids. So in logs without turns the pause must not change the scope.
        self._enter("", digest(self.thread + self.chain) if self.turn else self.chain)

    def see_user(self, text: str) -> None:
        self._enter(self.turn, digest(self.chain + text))

    def _enter(self, turn: str, chain: str) -> None:
        before = self.scope
        if self.turn and self.turn != turn:
            times = self.turns_left.pop(self.turn, 0)
            bounded(self.turns_left, TURNS_LEFT)[self.turn] = times + 1
        self.turn, self.chain = turn, chain
        if self.scope != before:
            self.said, self.called, self.said_in_all = {}, {}, 0

    # ------------------------------------------------------------ names

    def name_by_ordinal(self, ordinal: int) -> str | None:
        """Return an id made from a record's number in its thread, for records before the first
        turn. None for later records, and for a number that an earlier record had."""
        is_new, self.ordinal = ordinal > self.ordinal, max(self.ordinal, ordinal)
        if self.has_turns or not is_new:
            return None
        return f"{self.rollout or self.thread or self.chain}#{ordinal}"

    def name_of_call(self, kind: str, call_id: str) -> str:
        key = kind + short(call_id)
        times = self.called.pop(key, 0)
        bounded(self.called, CALLED)[key] = times + 1
        return f"{self.scope}/{key}.{times}" if times else f"{self.scope}/{key}"

    def name_of_text(self, kind: str, text: str | bytes) -> str:
        """Return the id of a record with a text. If a text is repeated in a turn, each repetition
        gets a number."""
        whole = digest(text)
        key = kind + whole[:12]
        times = self.said.pop(key, 0)
        # Once the oldest texts were dropped, only the count of all texts tells repetitions apart.
        forgot = f"~{self.said_in_all}" if self.said_in_all > SAID else ""
        bounded(self.said, SAID)[key] = times + 1
        self.said_in_all += 1
        return f"{self.scope}/{kind}{whole}{f'.{times}' if times else ''}{forgot}"

    # ------------------------------------------------------------ messages that are logged twice

    def is_second_copy(self, side: int, key: str, sketch: str = "") -> bool:
        """Whether the other side has logged this message before. The sides are ``EVENT`` (1) and
        ``ITEM`` (-1).

        If it has not, remember that this side has logged it and that a second copy may follow. A
        message with the same ``key`` is no copy if its ``sketch`` shows another text.
        """
        waiting = self.twins.get(key, 0)
        if waiting * side < 0 and not are_alike(self.sketches.get(key, ""), sketch):
            return False
        self.twins.pop(key, 0)
        self.sketches.pop(key, None)
        if waiting + side:
            bounded(self.twins, TWINS)[key] = waiting + side
            if sketch:
                bounded(self.sketches, TWINS)[key] = sketch
        return waiting * side < 0

    def forget_twins(self, last: int) -> None:
        for _ in range(min(last, len(self.twins))):
            self.twins.popitem()

    def open_call(self, call_id: str, answers: str) -> None:
        bounded(self.open_calls, OPEN_CALLS)[short(call_id)] = answers

    def is_open(self, call_id: str) -> bool:
        return short(call_id) in self.open_calls

    def close_call(self, call_id: str) -> str:
        return self.open_calls.pop(short(call_id), "")


_text = StateText(ThreadState)
saved, restored = _text.saved, _text.restored


def digest(text: str | bytes) -> str:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return blake2b(data, digest_size=12).hexdigest()


def short(name: str) -> str:
    """Return the name, or its hash if the name is too long for the state in a cursor."""
    return name if len(name) <= LONGEST_NAME else digest(name)


def time_of(uuid: str) -> int:
    """Return the time in a UUID of version 7, in milliseconds since 1970; 0 for any other id."""
    if len(uuid) != 36 or uuid[14] != "7":
        return 0
    try:
        return int(uuid[:8] + uuid[9:13], 16)
    except ValueError:
        return 0
