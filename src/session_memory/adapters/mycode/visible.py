"""The list of messages that mycode shows at a moment, as numbers of lines.

The list is stored as runs of consecutive lines, so it stays short in a long session.
"""

import msgspec

from session_memory.adapters.cursor_state import StateText


class Visible(msgspec.Struct, array_like=True):
    """The visible messages. ``runs`` has the first and the last line of each run, in order;
    ``lines`` is the number of lines that were read."""

    lines: int = 0
    runs: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.runs)

    @property
    def last(self) -> int | None:
        return self.runs[-1][1] if self.runs else None

    def add(self, line: int) -> None:
        if self.runs and self.runs[-1][1] == line - 1:
            self.runs[-1] = (self.runs[-1][0], line)
        else:
            self.runs.append((line, line))

    def cut(self, length: int) -> None:
        """Keep only the first ``length`` messages. A negative length counts from the end, as in
        mycode."""
        left = max(len(self) + length, 0) if length < 0 else length
        kept: list[tuple[int, int]] = []
        for first, last in self.runs:
            size = min(last - first + 1, left)
            if size > 0:
                kept.append((first, first + size - 1))
            left -= size
        self.runs = kept


_text = StateText(Visible)
saved, restored = _text.saved, _text.restored
