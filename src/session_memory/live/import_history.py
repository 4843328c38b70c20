"""Import a conversation of another runtime as a live session, all of it or nothing.

The live session and its origin are one session for the rest of the system: `LiveImports` notes
which rows came from where, so that nothing is counted twice. Importing again changes nothing,
unless the origin has grown and the live session has not.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import msgspec

from session_memory.core.history import FoldStep, History, HistoryStep, MessageStep, RewindStep
from session_memory.core.live_errors import CannotFold, CannotUnfold, LiveError, SessionExists
from session_memory.live.connection import check_id, is_usable, now
from session_memory.live.import_rows import Imported, ImportRows, ImportState, digest_of
from session_memory.live.message_encoding import OTHER_KEYS, EncodedMessage, encode_message
from session_memory.live.mycode_messages import fields_of
from session_memory.live.rows import SessionKind, SessionStatus, SubagentLifecycle
from session_memory.live.sessions import stored_text
from session_memory.live.store import SessionStore

UNTYPED = "untyped"
NEW, GROWN, UNCHANGED, CONTINUED, CHANGED = "new", "grown", "unchanged", "continued", "changed"


class ImportedSession(msgspec.Struct, kw_only=True):
    """The result of an import. ``plain_notes`` counts summaries that could not become folds and
    were appended as messages.

    ``state`` is one of:

    - ``new``
    - ``unchanged``
    - ``grown``: the origin has grown, and the new part was added
    - ``continued``: the origin has grown. The live session was continued or closed, so it stays.
    - ``changed``: earlier messages of the origin are different now. The live session stays.
    """

    session_id: str
    messages: int = 0
    folds: int = 0
    rewinds: int = 0
    plain_notes: int = 0
    left_out: dict[str, int] = {}
    state: str = NEW


def import_history(
    live: SessionStore, history: History, session_id: str | None = None
) -> ImportedSession:
    """Create a live session from a history. By default it keeps the history's id."""
    # One transaction for all steps, so that no partial session is left after a failure.
    with live._writing():
        new_id = live_id(history.native_id) if session_id is None else check_id(session_id)
        done = _create(live, history, new_id)
    done.left_out = history.left_out
    return done


def import_again(live: SessionStore, history: History) -> ImportedSession:
    """Like `import_history`, but an earlier import of the same origin is brought up to date."""
    with live._writing():
        rows = ImportRows(live._db)
        if (known := rows.of_origin(history.origin)) is not None:
            done = _update(live, history, known)
        else:
            done = _create_or_update(live, history, live_id(history.native_id))
    done.left_out = history.left_out
    return done


def _create_or_update(live: SessionStore, history: History, session_id: str) -> ImportedSession:
    try:
        return _create(live, history, session_id)
    except SessionExists:
        # Another process imported the same origin meanwhile, or the id belongs to another session.
        known = ImportRows(live._db).of_origin(history.origin)
        if known is None:
            raise
        return _update(live, history, known)


def _create(live: SessionStore, history: History, session_id: str) -> ImportedSession:
    facts, about = history.facts, history.about
    rows = ImportRows(live._db)
    if rows.is_forgotten(history.origin):
        hint = f"Allow it again: session-memory forget --lift {history.origin}"
        raise LiveError(f"session {history.origin} was forgotten", hint)
    # A damaged database may say that a session started itself.
    parent_uid = facts.parent if facts.parent != history.origin else None
    parent = rows.of_origin(parent_uid) if parent_uid else None
    kind = SessionKind.SUBAGENT if facts.is_subagent or parent_uid else SessionKind.ROOT
    fields = {
        **about,
        "metadata": {**about.get("metadata", {}), "imported_from": history.origin},
        "kind": kind,
        "lifecycle": _lifecycle(facts.lifecycle),
        "spawn_depth": facts.spawn_depth,
        "parent_session_id": parent.session_id if parent else None,
    }
    key = live._create(session_id, fields)
    if key is None:
        raise SessionExists(session_id)
    is_second = rows.of_origin(history.origin) is not None
    # Messages without a time get the time of the session. mycode 0.4 notes no other time.
    begun = facts.created_at or ImportState().first_at(history) or now()
    work = _Import(live, key, session_id, ImportState(at=begun), history.are_whole)
    work.take(history.steps)
    work.add_usage(history)
    work.finish(history)
    rows.add(key, history, work.state, is_collected=is_second)
    rows.adopt(history.origin, session_id)
    return work.done


def _update(live: SessionStore, history: History, known: Imported) -> ImportedSession:
    """Add the new part of the origin, unless the live session was continued meanwhile."""
    rows = ImportRows(live._db)
    # Lock first, then read: another import or a runtime may be writing at this moment.
    live._lock_row(known.session_id)
    known = rows.of_key(known.key) or known
    done = ImportedSession(session_id=known.session_id, state=UNCHANGED)
    state = known.state
    new = [step for step in history.usage if step.name not in state.usage]
    if len(history.steps) == known.steps and not new:
        is_same = digest_of(history.steps) == known.digest
        done.state = UNCHANGED if is_same else CHANGED
        return done
    if digest_of(history.steps[: known.steps]) != known.digest:
        done.state = CHANGED
        return done
    if rows.is_continued(known):
        done.state = CONTINUED
        return done
    rows.reopen(known.key)
    work = _Import(live, known.key, known.session_id, state, history.are_whole)
    work.take(history.steps[known.steps :])
    work.add_usage(history)
    work.finish(history, known)
    rows.update(known.key, history, state)
    work.done.state = GROWN
    return work.done


def live_id(native_id: str) -> str:
    """Return the id of the live session: the origin's id, or ``x-<hash>`` if that is not valid."""
    if is_usable(native_id):
        return native_id
    # Ids of sources may begin with a dot or a dash; those of live sessions may not.
    return f"x-{sha256(native_id.encode()).hexdigest()[:32]}"


def _lifecycle(name: str | None) -> SubagentLifecycle:
    known = {one.value: one for one in SubagentLifecycle}
    return known.get(name or "", SubagentLifecycle.EPHEMERAL)


class _Import:
    """Repeats the steps of another runtime's session (messages, folds, rewinds) in a live session.

    ``state`` is saved with the import, so that a later import can go on from there.
    """

    def __init__(
        self,
        live: SessionStore,
        key: int,
        session_id: str,
        state: ImportState,
        are_whole: bool,
    ) -> None:
        self._live = live
        self._key = key
        self._id = session_id
        self._rows = ImportRows(live._db)
        self._at = state.at
        self._are_whole = are_whole
        self.state = state
        self.done = ImportedSession(session_id=session_id)

    def take(self, steps: Iterable[HistoryStep]) -> None:
        waiting: list[MessageStep] = []
        for step in steps:
            if isinstance(step, MessageStep):
                waiting.append(step)
                continue
            self._append(waiting)
            waiting = []
            if isinstance(step, FoldStep):
                self._fold(step)
            else:
                self._go_back(step)
        self._append(waiting)
        self.state.at = self._at

    def _time(self, at: int | None) -> int:
        """Return the time of a step. A step without a time has that of the step before it."""
        self._at = self._at if at is None else at
        return self._at

    def _append(self, steps: list[MessageStep]) -> None:
        if not steps:
            return
        rows = [self._encoded(step) for step in steps]
        seqs = self._live._append(self._id, rows, None, None, None)
        for step, seq in zip(steps, seqs, strict=True):
            self.state.seqs[step.number] = seq
            self._note_place(seq, step.number, step.native_id)
        self.done.messages += len(steps)

    def _encoded(self, step: MessageStep) -> EncodedMessage:
        message = fields_of(step.message) if self._are_whole else step.message
        role, meta = message.get("role"), message.get("meta") or {}
        if not isinstance(role, str) or not role:
            # A damaged line is kept as it is, and `as_mycode` gives it back.
            others = {**meta.get(OTHER_KEYS, {}), "role": role}
            message = {**message, "role": UNTYPED, "meta": {**meta, OTHER_KEYS: others}}
        return encode_message(message, self._time(step.at))

    def _note_place(self, seq: int, number: int, native_id: str | None) -> None:
        """Remember which record of the origin corresponds to message ``seq`` of the session."""
        if native_id is not None:
            self.state.places[seq] = (native_id, number)
            self.state.ids[number] = native_id

    def _fold(self, step: FoldStep) -> None:
        seen = [message.seq for message in self._live.load_active_messages(self._id)]
        members, head = self._members(step, seen), self._live.head(self._id)
        at = self._time(step.at)
        try:
            if not members:
                raise CannotFold(self._id, "none of its messages is in the context")
            fold, note = self._live.record_compaction(
                self._id,
                from_seq=members[0],
                to_seq=members[-1],
                members=members,
                note_content=step.note,
                before_tokens=step.before_tokens,
                after_tokens=step.after_tokens,
                round_index=step.round_index,
                note_meta=step.note_meta,
            )
        except CannotFold:
            self._append_note(step)
            return
        self._rows.set_fold_time(self._key, fold, at)
        self.state.folds[step.number] = (fold, note)
        # A rewind to a fold goes to the last message before it.
        self.state.seqs[step.number] = head
        self._note_place(head, step.number, step.native_id)
        self.done.folds += 1

    def _append_note(self, step: FoldStep) -> None:
        """Keep a summary that folds nothing as a message."""
        note = {"role": "system", "name": "compact_note", "content": step.note}
        row = encode_message({**note, "meta": step.note_meta}, self._time(step.at))
        [seq] = self._live._append(self._id, [row], None, None, None)
        self.state.seqs[step.number] = seq
        self._note_place(seq, step.number, step.native_id)
        self.done.plain_notes += 1

    def _members(self, step: FoldStep, seen: list[int]) -> list[int]:
        """The seqs of the messages that a fold replaces. Only messages in the context count."""
        if step.members is None:
            return seen
        seqs, folds = self.state.seqs, self.state.folds
        to_fold = {seqs[number] for number in step.members if number in seqs}
        to_fold |= {note for number, (_, note) in folds.items() if number in step.members}
        return [seq for seq in seen if seq in to_fold]

    def _go_back(self, step: RewindStep) -> None:
        at = self._time(step.at)
        for number in sorted(step.unfolds, reverse=True):
            if number in self.state.folds:
                try:
                    fold = self._live.undo_compaction(self._id, self.state.folds[number][0])
                except CannotUnfold:
                    # The fold no longer applies because its messages were rewound before.
                    continue
                self._rows.set_unfold_time(self._key, fold, at)
        seq = 0 if step.to is None else self.state.seqs[step.to]
        self._live.rewind(self._id, seq)
        self._rows.set_move_time(self._key, at)
        if step.to is not None:
            self._note_place(seq, step.to, self.state.ids.get(step.to))
        self.done.rewinds += 1

    def add_usage(self, history: History) -> None:
        """Add the usage of the origin's model calls, each of them once."""
        model, at = history.about.get("model"), history.facts.created_at or 0
        rows: list[tuple[Any, ...]] = []
        for step in history.usage:
            at = at if step.at is None else step.at
            if step.name not in self.state.usage:
                self.state.usage.append(step.name)
                figures = (step.prompt_tokens, step.completion_tokens, step.total_tokens)
                cached = (step.cache_read_tokens, step.cache_write_tokens)
                counts = (step.send_index, step.round_index, *figures, *cached)
                rows.append((self._key, *counts, stored_text(step.model or model, "model"), at))
        self._rows.add_usage(rows)

    def finish(self, history: History, before: Imported | None = None) -> None:
        """Give the live session the dates, the status and the counters of its origin.

        A session that was imported ``before`` keeps its first date, and stays archived.
        """
        facts = history.facts
        rounds = [_round_of(step) for step in history.steps]
        is_archived = facts.is_archived or (before is not None and before.is_archived)
        begun = facts.created_at or self.state.first_at(history) or now()
        number = facts.round_index
        self._rows.set_session(
            self._key,
            created_at=begun if before is None else before.created_at,
            updated_at=facts.updated_at or self._at or now(),
            status=(SessionStatus.ARCHIVED if is_archived else SessionStatus.ACTIVE).value,
            round_index=number if number is not None else max(rounds, default=0),
            send_index=max((step.send_index for step in history.usage), default=0),
        )
        self.state.about = self._rows.about(self._key)


def _round_of(step: HistoryStep) -> int:
    number = step.message.get("round_index") if isinstance(step, MessageStep) else None
    return number if isinstance(number, int) else 0
