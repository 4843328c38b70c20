"""Any order of operations on live sessions, on both databases, beside a model of plain lists."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from effort import times
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from session_memory.core.live_errors import (
    CannotFold,
    CannotUnfold,
    NothingToUndo,
    SessionClosed,
)
from session_memory.live import SessionStore, SubagentLifecycle
from session_memory.live.blocks import pair_calls
from session_memory.store import Store
from session_memory.store.live_check import live_findings
from session_memory.testing.stores import Stores


@dataclass(frozen=True)
class Said:
    """A message as the model knows it: what it says, calls and answers."""

    seq: int
    text: str
    calls: tuple[str, ...] = ()
    answers: str | None = None
    behind: int | None = None


@dataclass
class Fold:
    note: int
    members: tuple[int, ...]
    is_undone: bool = False


@dataclass
class Known:
    """A session: every way it ever went, the one it is on, and what it ever held."""

    lanes: list[list[Said]]
    next_seq: int = 1
    lane: int = 0
    undo: list[int] = field(default_factory=list)
    folds: dict[int, Fold] = field(default_factory=dict)
    ever: set[int] = field(default_factory=set)
    shared: frozenset[int] = frozenset()
    parent: str | None = None
    depth: int = 0
    lifecycle: str = "ephemeral"
    status: str = "active"

    @property
    def path(self) -> list[Said]:
        return self.lanes[self.lane]

    def take(self) -> int:
        self.ever.add(self.next_seq)
        self.next_seq += 1
        return self.next_seq - 1

    def begin_lane(self, path: list[Said]) -> None:
        self.undo.append(self.lane)
        self.lanes.append(list(path))
        self.lane = len(self.lanes) - 1

    def context(self) -> list[int]:
        return self.apply_folds([said.seq for said in self.path])[0]

    def apply_folds(self, order: list[int]) -> tuple[list[int], list[int]]:
        in_force = []
        for number, fold in sorted(self.folds.items()):
            if not fold.is_undone and set(fold.members) <= set(order):
                places = [order.index(seq) for seq in fold.members]
                order = [s for s in order if s not in fold.members]
                order.insert(min(places), fold.note)
                in_force.append(number)
        return order, in_force

    def open_calls(self) -> list[tuple[int, str]]:
        answered = {said.answers for said in self.path}
        return [(s.seq, call) for s in self.path for call in s.calls if call not in answered]


class LiveModel(RuleBasedStateMachine):
    """``known`` is the whole model."""

    sessions = Bundle("sessions")

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.opened = store
        self.store = SessionStore(store.db)
        self.known: dict[str, Known] = {}
        self.calls = 0

    def teardown(self) -> None:
        self.opened.close()

    # ------------------------------------------------------------ sessions

    @initialize(target=sessions)
    def begin(self) -> str:
        return self.create()

    @rule(target=sessions)
    def create(self) -> str:
        session = self.store.create_session()
        self.known[session] = Known([[]])
        return session

    @rule(target=sessions, parent=sessions, lifecycle=st.sampled_from(SubagentLifecycle))
    def spawn(self, parent: str, lifecycle: SubagentLifecycle) -> str:
        above = self.known[parent]
        if above.status == "closed" or above.depth == 3:
            with pytest.raises(ValueError, match=r"parent session not found|limit of 3"):
                self.store.create_session(parent_session_id=parent, lifecycle=lifecycle)
            return parent
        session = self.store.create_session(parent_session_id=parent, lifecycle=lifecycle)
        depth = above.depth + 1
        self.known[session] = Known([[]], parent=parent, depth=depth, lifecycle=lifecycle.value)
        return session

    @rule(session=sessions)
    def archive(self, session: str) -> None:
        if self.known[session].status == "active":
            self.store.archive_session(session)
            self.known[session].status = "archived"

    @rule(session=sessions)
    def unarchive(self, session: str) -> None:
        if self.known[session].status == "archived":
            self.store.unarchive_session(session)
            self.known[session].status = "active"

    @rule(session=consumes(sessions), cascade=st.booleans())
    def close(self, session: str, cascade: bool) -> None:
        assert self.store.close_session(session, cascade=cascade) == self._closed(session, cascade)

    def _closed(self, session: str, cascade: bool) -> int:
        if self.known[session].status == "closed":
            return 0
        self.known[session].status, count = "closed", 1
        for name, child in self.known.items():
            if child.parent == session and child.status != "closed":
                if cascade and child.lifecycle != "detached":
                    count += self._closed(name, cascade)
                else:
                    child.parent = None
        return count

    # ------------------------------------------------------------ messages

    def _try(self, session: str, change: Callable[[], Any]) -> bool:
        """Whether the session took a change; one that is archived or closed refuses it."""
        if self.known[session].status == "active":
            return True
        with pytest.raises(SessionClosed):
            change()
        return False

    @rule(session=sessions, count=st.integers(1, 3))
    def say(self, session: str, count: int) -> None:
        texts = [f"text {n}" for n in range(count)]
        messages = [{"role": "user", "content": text} for text in texts]
        if self._try(session, lambda: self.store.append_messages(session, messages)):
            known = self.known[session]
            said = [Said(known.take(), text) for text in texts]
            assert self.store.append_messages(session, messages) == [one.seq for one in said]
            known.path.extend(said)

    @rule(session=sessions, count=st.integers(1, 2), flat=st.booleans())
    def call(self, session: str, count: int, flat: bool) -> None:
        known = self.known[session]
        if known.status != "active":
            return
        names = tuple(f"c{self.calls + n}" for n in range(count))
        self.calls += count
        fields: dict[str, Any] = {"role": "assistant"}
        if flat:
            fields["tool_calls"] = [{"id": n, "function": {"name": "f"}} for n in names]
        else:
            fields["content"] = [{"type": "tool_use", "id": n, "name": "f"} for n in names]
        seq = self.store.append_message(session, **fields)
        assert seq == known.take()
        known.path.append(Said(seq, "", names))

    @rule(session=sessions, data=st.data())
    def answer(self, session: str, data: st.DataObject) -> None:
        known = self.known[session]
        if known.status != "active" or not known.open_calls():
            return
        _, name = data.draw(st.sampled_from(known.open_calls()))
        fields = {"role": "tool", "tool_call_id": name, "content": "result"}
        seq = self.store.append_message(session, **fields)
        assert seq == known.take()
        known.path.append(Said(seq, "result", answers=name))

    @rule(session=sessions, abort=st.booleans())
    def repair(self, session: str, abort: bool) -> None:
        mend = self.store.abort_pending if abort else self.store.repair
        if not self._try(session, lambda: mend(session)):
            return
        known = self.known[session]
        expected = []
        for made, name in known.open_calls():
            seq = known.take()
            expected.append(seq)
            place = next(n for n, said in enumerate(known.path) if said.seq == made) + 1
            # Behind earlier repairs of the same message, before whatever came after it.
            while place < len(known.path) and known.path[place].behind == made:
                place += 1
            known.path.insert(place, Said(seq, "", answers=name, behind=made))
        assert mend(session) == expected

    # ------------------------------------------------------------ moves

    @rule(session=sessions, data=st.data())
    def rewind(self, session: str, data: st.DataObject) -> None:
        known = self.known[session]
        to = data.draw(st.sampled_from([0, *(said.seq for said in known.path)]))
        if not self._try(session, lambda: self.store.rewind(session, to)):
            return
        head = self.store.head(session)
        assert self.store.rewind(session, to) == head
        known.begin_lane(known.path if to == head else self._upto(known.path, to))

    @staticmethod
    def _upto(path: list[Said], seq: int) -> list[Said]:
        place = next((n for n, said in enumerate(path) if said.seq == seq), -1)
        return path[: place + 1]

    @rule(session=sessions)
    def clear(self, session: str) -> None:
        if self._try(session, lambda: self.store.clear_session(session)):
            self.store.clear_session(session)
            self.known[session].begin_lane([])

    @rule(session=sessions)
    def undo(self, session: str) -> None:
        if not self._try(session, lambda: self.store.undo_rewind(session)):
            return
        known = self.known[session]
        if not known.undo:
            with pytest.raises(NothingToUndo):
                self.store.undo_rewind(session)
            return
        self.store.undo_rewind(session)
        known.lane = known.undo.pop()

    @rule(session=sessions, data=st.data())
    def return_to(self, session: str, data: st.DataObject) -> None:
        known = self.known[session]
        every = sorted({said.seq for lane in known.lanes for said in lane})
        if known.status != "active" or not every:
            return
        to = data.draw(st.sampled_from(every))
        head = self.store.head(session)
        self.store.return_to(session, to)
        if to == head:
            known.begin_lane(known.path)
            return
        ways = [known.path, *reversed(known.lanes)]
        way = next(lane for lane in ways if any(said.seq == to for said in lane))
        known.begin_lane(self._upto(way, to))

    @rule(target=sessions, session=sessions, data=st.data())
    def fork(self, session: str, data: st.DataObject) -> str:
        known = self.known[session]
        head = self.store.head(session)
        at = data.draw(st.sampled_from([None, 0, *(said.seq for said in known.path)]))
        fork = self.store.fork_session(session, at=at)
        path = known.path if at in (None, head) else self._upto(known.path, at)
        seqs = [said.seq for said in path]
        folds = {n: known.folds[n] for n in known.apply_folds(seqs)[1]}
        taken = frozenset({*seqs, *(fold.note for fold in folds.values())})
        self.known[fork] = Known(
            [list(path)],
            next_seq=max(taken, default=0) + 1,
            folds={n: Fold(fold.note, fold.members) for n, fold in folds.items()},
            ever=set(taken),
            shared=taken,
        )
        return fork

    # ------------------------------------------------------------ folds

    @rule(session=sessions, data=st.data())
    def fold(self, session: str, data: st.DataObject) -> None:
        known = self.known[session]
        order = known.context()
        if known.status != "active" or not order:
            return
        first = data.draw(st.integers(0, len(order) - 1))
        last = data.draw(st.integers(first, len(order) - 1))
        members = tuple(order[first : last + 1])
        fields = {"from_seq": members[0], "to_seq": members[-1], "note_content": "note"}
        if self._split(known, set(members)):
            with pytest.raises(CannotFold):
                self.store.record_compaction(session, **fields, members=members)
        kept = self._whole(known, set(members)) or self._whole(
            known, self._with_partners(known, set(members))
        )
        members = tuple(seq for seq in order if seq in kept)
        if not members:
            with pytest.raises(CannotFold):
                self.store.record_compaction(session, **fields)
            return
        compact, note = self.store.record_compaction(session, **fields)
        assert note == known.take()
        assert compact == max(known.folds, default=0) + 1
        known.folds[compact] = Fold(note, members)

    def _whole(self, known: Known, members: set[int]) -> set[int]:
        """The members that can be folded: their calls and results are all among them."""
        while split := self._split(known, members):
            members = members - split
        return members

    def _with_partners(self, known: Known, members: set[int]) -> set[int]:
        while more := self._partners(known, members) - members:
            members = members | more
        return members

    def _split(self, known: Known, members: set[int]) -> set[int]:
        is_open = {seq for seq, _ in known.open_calls()}
        return (self._partners(known, members) | is_open) & members

    def _partners(self, known: Known, members: set[int]) -> set[int]:
        """The calls and results of which only one is among the members."""
        made = {call: said.seq for said in known.path for call in said.calls}
        visible = set(known.context())
        found: set[int] = set()
        for said in known.path:
            if said.answers in made and said.seq in visible:
                call = made[said.answers]
                if (call in members) != (said.seq in members):
                    found |= {call, said.seq}
        return found

    @rule(session=sessions, data=st.data())
    def unfold(self, session: str, data: st.DataObject) -> None:
        known = self.known[session]
        if known.status != "active" or not known.folds:
            return
        number = data.draw(st.sampled_from(sorted(known.folds)))
        in_force = known.apply_folds([said.seq for said in known.path])[1]
        note = known.folds[number].note
        above = any(note in known.folds[other].members for other in in_force)
        if number not in in_force or above:
            with pytest.raises(CannotUnfold):
                self.store.undo_compaction(session, number)
            return
        assert self.store.undo_compaction(session, number) == number
        known.folds[number].is_undone = True

    # ------------------------------------------------------------ what holds at any time

    @invariant()
    def the_path_is_the_model(self) -> None:
        for session, known in self.known.items():
            expected = [said.seq for said in known.path]
            assert [message.seq for message in self.store.load_path(session)] == expected
            assert [m.seq for m in self.store.load_tail(session, 3)] == expected[-3:]
            calls = [(call.seq, call.call_id) for call in self.store.pending(session)]
            assert calls == known.open_calls()

    @invariant()
    def the_context_shows_each_message_once_and_pairs_whole(self) -> None:
        for session, known in self.known.items():
            seen = [message.seq for message in self.store.load_active_messages(session)]
            assert seen == known.context()
            assert len(seen) == len(set(seen))
            for pair in pair_calls(self.store.load_path(session))[0]:
                assert (pair[0] in seen) == (pair[1] in seen)

    @invariant()
    def nothing_is_ever_lost(self) -> None:
        for session, known in self.known.items():
            every = self.store.load_all_messages(session)
            assert {message.seq for message in every} == known.ever
            context = set(known.context())
            assert {m.seq for m in every if m.state == "active"} == context
            assert [m.seq for m in self.store.messages_after(session, 0)] == sorted(known.ever)

    @invariant()
    def seqs_have_no_gaps(self) -> None:
        for session, known in self.known.items():
            own = sorted(known.ever - known.shared)
            assert own == list(range(known.next_seq - len(own), known.next_seq))
            state = self.store.get_state(session)
            assert state is not None and state.next_seq == known.next_seq
        assert list(live_findings(self.opened.db)) == []

    @invariant()
    def parents_are_there(self) -> None:
        for session, known in self.known.items():
            row = self.store.get_session(session)
            if known.status == "closed":
                assert row is None
            else:
                assert row is not None and row.parent_session_id == known.parent


def test_any_order_of_operations_agrees_with_the_model(database: str, stores: Stores) -> None:
    runs = times({"sqlite": 25, "postgresql": 4}[database])
    run_state_machine_as_test(
        lambda: LiveModel(stores.new()),
        settings=settings(
            max_examples=runs,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
