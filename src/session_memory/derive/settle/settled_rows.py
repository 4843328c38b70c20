"""The result of settling a batch of records: new rows, and changes to rows stored before."""

from session_memory.store.event_rows import EventRow


class SettledRows:
    """New rows by seq, and changes to rows that an earlier batch stored.

    - ``amended``: seq to the columns that get another value
    - ``undone``: ``(first seq, last seq, branch)`` of stretches that a person took back
    - ``extended``: seqs of stored messages that got more text
    - ``reclassed``: seqs of stored events whose text belongs to another class of texts now
    - ``branches_changed``: the abandoned branches of the session must be found again
    - ``needs_derivation``: what came late changes how earlier events are settled, so the session
      must be derived again from the stored logs
    """

    def __init__(self) -> None:
        self.needs_derivation = False
        self.clear()

    def clear(self) -> None:
        """Start the next batch. ``needs_derivation`` stays."""
        self.rows: dict[int, EventRow] = {}
        self.amended: dict[int, dict[str, object]] = {}
        self.undone: list[tuple[int, int, str]] = []
        self.extended: set[int] = set()
        self.reclassed: set[int] = set()
        self.branches_changed = False

    def amend(self, seq: int, column: str, value: object) -> None:
        """Change a column of an event, in its new row or in the stored one."""
        row = self.rows.get(seq)
        if row is not None:
            setattr(row, column, value)
        else:
            self.amended.setdefault(seq, {})[column] = value

    def undo(self, first: int, next_seq: int, branch: str) -> None:
        """Mark every event from ``first`` on as part of an abandoned branch."""
        self.undone.append((first, next_seq - 1, branch))
        for seq in range(first, next_seq):
            row = self.rows.get(seq)
            if row is not None and row.branch is None:
                row.branch = branch
