"""A conversation of another runtime as a live session that can go on: all of it or nothing."""

import msgspec

from session_memory.core.errors import CannotFold, CannotUnfold
from session_memory.core.history import FoldStep, History, HistoryStep, MessageStep, RewindStep
from session_memory.live.store import SessionStore


class ImportedSession(msgspec.Struct, kw_only=True):
    """``plain_notes``: summaries that could not stand in the place of what they sum up, and were
    appended as messages instead."""

    session_id: str
    messages: int = 0
    folds: int = 0
    rewinds: int = 0
    plain_notes: int = 0
    left_out: dict[str, int] = {}


def import_history(
    live: SessionStore, history: History, session_id: str | None = None
) -> ImportedSession:
    """Begin a live session with everything a history holds; by default it keeps its id."""
    metadata = {**history.about.get("metadata", {}), "imported_from": history.origin}
    # One transaction for all steps: a session that is half there is none that could go on.
    with live._writing():
        created = live.create_session(
            **{name: value for name, value in history.about.items() if name != "metadata"},
            metadata=metadata,
            session_id=session_id or history.native_id,
        )
        imported = _Import(live, created)
        for step in history.steps:
            imported.take(step)
    imported.done.left_out = history.left_out
    return imported.done


class _Import:
    def __init__(self, live: SessionStore, session_id: str) -> None:
        self._live = live
        self._id = session_id
        self._seqs: dict[int, int] = {}
        self._folds: dict[int, tuple[int, int]] = {}
        self.done = ImportedSession(session_id=session_id)

    def take(self, step: HistoryStep) -> None:
        match step:
            case MessageStep(number, message):
                self._seqs[number] = self._live.append_message(self._id, **message)
                self.done.messages += 1
            case FoldStep():
                self._fold(step)
            case RewindStep(to, unfolds):
                self._go_back(to, unfolds)

    def _fold(self, step: FoldStep) -> None:
        seen = [message.seq for message in self._live.load_active_messages(self._id)]
        members = seen
        if step.members is not None:
            wanted = {self._seqs[number] for number in step.members if number in self._seqs}
            wanted |= {note for number, (_, note) in self._folds.items() if number in step.members}
            members = [seq for seq in seen if seq in wanted]
        head = self._live.head(self._id)
        try:
            if not members:
                raise CannotFold(self._id, "nothing is left of what it sums up")
            fold, note = self._live.record_compaction(
                self._id,
                from_seq=members[0],
                to_seq=members[-1],
                members=members,
                note_content=step.note,
                before_tokens=step.before_tokens,
                after_tokens=step.after_tokens,
            )
        except CannotFold:
            self._seqs[step.number] = self._live.append_message(
                self._id, role="system", name="compact_note", content=step.note
            )
            self.done.plain_notes += 1
            return
        self._folds[step.number] = (fold, note)
        # To go back to a fold is to go back to what was said last before it.
        self._seqs[step.number] = head
        self.done.folds += 1

    def _go_back(self, to: int | None, unfolds: tuple[int, ...]) -> None:
        for number in sorted(unfolds, reverse=True):
            if number in self._folds:
                try:
                    self._live.undo_compaction(self._id, self._folds[number][0])
                except CannotUnfold:
                    # It does not apply any more, for what it stood for was taken back before.
                    continue
        self._live.rewind(self._id, 0 if to is None else self._seqs[to])
        self.done.rewinds += 1
