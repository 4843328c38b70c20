"""Import a conversation of another runtime as a live session, all of it or nothing."""

import msgspec

from session_memory.core.history import FoldStep, History, HistoryStep, MessageStep, RewindStep
from session_memory.core.live_errors import CannotFold, CannotUnfold
from session_memory.live.store import SessionStore


class ImportedSession(msgspec.Struct, kw_only=True):
    """What was imported. ``plain_notes`` counts summaries that could not become folds and were
    appended as messages."""

    session_id: str
    messages: int = 0
    folds: int = 0
    rewinds: int = 0
    plain_notes: int = 0
    left_out: dict[str, int] = {}


def import_history(
    live: SessionStore, history: History, session_id: str | None = None
) -> ImportedSession:
    """Create a live session from a history. By default it keeps the history's id."""
    metadata = {**history.about.get("metadata", {}), "imported_from": history.origin}
    # One transaction for all steps, so that no partial session is left after a failure.
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
            to_fold = {self._seqs[number] for number in step.members if number in self._seqs}
            to_fold |= {note for number, (_, note) in self._folds.items() if number in step.members}
            members = [seq for seq in seen if seq in to_fold]
        head = self._live.head(self._id)
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
            )
        except CannotFold:
            self._seqs[step.number] = self._live.append_message(
                self._id, role="system", name="compact_note", content=step.note
            )
            self.done.plain_notes += 1
            return
        self._folds[step.number] = (fold, note)
        # A rewind to a fold goes to the last message before it.
        self._seqs[step.number] = head
        self.done.folds += 1

    def _go_back(self, to: int | None, unfolds: tuple[int, ...]) -> None:
        for number in sorted(unfolds, reverse=True):
            if number in self._folds:
                try:
                    self._live.undo_compaction(self._id, self._folds[number][0])
                except CannotUnfold:
                    # The fold no longer applies because its messages were rewound before.
                    continue
        self._live.rewind(self._id, 0 if to is None else self._seqs[to])
        self.done.rewinds += 1
