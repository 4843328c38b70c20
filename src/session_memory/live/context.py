"""Compute the context (the messages that the model is sent) from a path and its folds.

A fold's note takes the place of the folded messages. If the session was rewound into the folded
messages, the fold does not apply and the remaining messages are shown again. So each message is in
the context exactly once: itself, or replaced by one note.
"""

from collections.abc import Iterable, Mapping, Sequence

from session_memory.live.rows import CompactionRow, MessageRow


def context(
    path: Sequence[MessageRow],
    folds: Iterable[CompactionRow],
    notes: Mapping[int, MessageRow],
) -> list[MessageRow]:
    """Return ``path`` with folded messages replaced by notes. Older folds are applied first."""
    messages = {message.seq: message for message in path}
    order, _ = apply_folds([message.seq for message in path], folds)
    return [messages[seq] if seq in messages else notes[seq] for seq in order]


def apply_folds(
    path: Sequence[int], folds: Iterable[CompactionRow]
) -> tuple[list[int], list[CompactionRow]]:
    """Return the seqs of the context, and the folds that apply. ``path`` is a list of seqs."""
    order, in_force = list(path), []
    for fold in sorted(folds, key=lambda fold: fold.compact_seq):
        members = set(fold.members)
        if fold.is_undone or not members or not members.issubset(order):
            continue
        first = next(position for position, seq in enumerate(order) if seq in members)
        rest = [seq for seq in order[first:] if seq not in members]
        order = [*order[:first], fold.note_seq, *rest]
        in_force.append(fold)
    return order, in_force
