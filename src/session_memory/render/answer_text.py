"""The text that an agent reads: short, and with everything from a log marked as a quotation.

A line begins with words of ours. After them, it may have a bar and a quotation up to the end of the
line. All characters of a quotation are visible, so it cannot begin a new line and look like words
of ours. Secrets are masked.
"""

from session_memory import redact
from session_memory.core.injected import QUOTED
from session_memory.core.text import one_line, visible

CHARACTERS_PER_TOKEN = 4
LONGEST_QUOTE = 240
# A longer text is cut to this length before it is searched for secrets.
LONGEST_READ = 40_000
BAR = " | "


class AnswerText:
    """Collects the lines of an answer. If they are too long together, lines with the largest
    ``rank`` are dropped first; of lines with the same rank, the last one. Lines of rank 0 are
    dropped only if no others are left."""

    def __init__(self, tokens: int) -> None:
        self._room = tokens * CHARACTERS_PER_TOKEN
        self._lines: list[tuple[int, str]] = []
        self._has_quotes = False

    @property
    def room(self) -> int:
        """How many more characters fit into the answer."""
        used = sum(len(line) + 1 for _, line in self._lines)
        return self._room - used - (len(QUOTED) + 1 if self._has_quotes else 0)

    def say(self, text: str, rank: int = 0) -> None:
        """Add a line of our own words. Names from logs are made harmless, but are not marked."""
        self._lines.append((rank, visible(text)))

    def quote(
        self, label: str, text: str, rank: int = 1, most: int = LONGEST_QUOTE, *, cut: bool = True
    ) -> None:
        """Add a quotation on one line, shortened to ``most`` characters."""
        masked = redact.mask_cut(text[:LONGEST_READ]) if cut else text
        self._add(label, one_line(masked, most), rank)

    def quote_lines(self, label: str, text: str, rank: int = 1) -> int:
        """Add a text line by line, as much as there is room for.

        Returns how many characters were left out, 0 if the whole text was added.
        """
        masked = redact.mask(text[:LONGEST_READ]).strip("\n")
        taken = 0
        for number, line in enumerate(masked.split("\n")):
            shown = visible(line.rstrip().expandtabs(4))
            free = self.room - len(label) - len(BAR) - 80
            if len(shown) > free:
                if free > 40:
                    self._add(label if not number else "", shown[:free] + "…", rank)
                    taken += free
                return max(len(text) - taken, 1)
            self._add(label if not number else "", shown, rank)
            taken += len(line) + 1
        return max(len(text) - LONGEST_READ, 0)

    def _add(self, label: str, text: str, rank: int) -> None:
        self._has_quotes = True
        self._lines.append((rank, f"{label}{BAR if label else BAR.lstrip()}{visible(text)}"))

    def __str__(self) -> str:
        lines = list(self._lines)
        while len(lines) > 1 and _size(lines) > self._limit:
            worst = max(range(len(lines)), key=lambda place: (lines[place][0], place))
            del lines[worst]
        text = "\n".join(line for _, line in lines)
        if len(text) > self._limit:
            text = text[: self._limit - 1] + "…"
        return f"{QUOTED}\n{text}" if self._has_quotes else text

    @property
    def _limit(self) -> int:
        return self._room - (len(QUOTED) + 1 if self._has_quotes else 0)


def _size(lines: list[tuple[int, str]]) -> int:
    return sum(len(line) + 1 for _, line in lines) - 1
