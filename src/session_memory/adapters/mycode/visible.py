"""The messages that mycode would show at a moment, as the numbers of their lines.

Runs of lines that follow each other take one entry, so that a long session's list stays short.
"""

import msgspec


class Visible(msgspec.Struct, array_like=True):
    """``runs``: first and last line of each stretch, in order; ``lines``: how many were read."""

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
        """Keep the first ``length``; as in the program, a negative one counts from the end."""
        left = max(len(self) + length, 0) if length < 0 else length
        kept: list[tuple[int, int]] = []
        for first, last in self.runs:
            size = min(last - first + 1, left)
            if size > 0:
                kept.append((first, first + size - 1))
            left -= size
        self.runs = kept


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Visible).decode


def saved(visible: Visible) -> str:
    return _encode(visible).decode()


def restored(state: str) -> Visible:
    return _decode(state) if state else Visible()
