"""What the model is sent: a pure function of a path and its folds.

A fold stands where the messages it replaces stood. One whose messages are not all there any more
(the session was rewound into them) does not apply, and they are shown again: each message once,
or through exactly one note.
"""

from collections.abc import Iterable, Mapping, Sequence

from session_memory.live.rows import CompactionRow, MessageRow


def context(
    path: Sequence[MessageRow],
    folds: Iterable[CompactionRow],
    notes: Mapping[int, MessageRow],
) -> list[MessageRow]:
    """``path`` with every fold that applies replaced by its note, in the order they were made."""
    messages = {message.seq: message for message in path}
    order, _ = arranged([message.seq for message in path], folds)
    return [messages[seq] if seq in messages else notes[seq] for seq in order]


def arranged(
    path: Sequence[int], folds: Iterable[CompactionRow]
) -> tuple[list[int], list[CompactionRow]]:
    """The seqs of the context of a path given by its seqs, and the folds that apply to it."""
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
