"""The words of events, read from the raw only where a summary does not hold them all.

Secrets are masked before anything is cut: half a secret is not known for one.
"""

from typing import TYPE_CHECKING

from session_memory.core.text import SUMMARY, escaped
from session_memory.redact import mask
from session_memory.store.brief_events import BriefEvent

if TYPE_CHECKING:
    from session_memory.derive.bodies import Bodies

MOST_WORDS = 2_000
MOST_OUTPUTS = 400
MOST_EDITS = 100
LONGEST = 2_000


class Texts:
    """The bodies of one session, read as seldom as can be: unpacking them is what costs."""

    def __init__(self, bodies: "Bodies | None") -> None:
        self._bodies = bodies
        self._words = self._outputs = self._edits = 0

    def words(self, event: BriefEvent) -> str:
        """What was said, whole up to a bound."""
        if len(event.summary) < SUMMARY and not event.summary.endswith("…"):
            return event.summary
        self._words += 1
        text = self._text(event) if self._words <= MOST_WORDS else ""
        return mask(text[: 4 * LONGEST])[:LONGEST] or event.summary

    def output(self, event: BriefEvent) -> str:
        """What a call printed: its summary may be the one line that counts passed tests.

        After very many errors the beginning of the next one tells as much.
        """
        self._outputs += 1
        text = self._text(event) if self._outputs <= MOST_OUTPUTS else ""
        return text or event.summary

    def size(self, event: BriefEvent) -> int:
        """How many characters were said."""
        return len(self._text(event))

    def replaced(self, event: BriefEvent) -> tuple[str, str] | None:
        """The texts that an edit took out and put in, where it says so."""
        if self._bodies is None or self._edits >= MOST_EDITS:
            return None
        self._edits += 1
        given = self._bodies.at(event.source, event.place, event.length, event.block).arguments
        match given:
            case {"old_string": str(old), "new_string": str(new)} if old != new:
                return old, new
        return None

    def _text(self, event: BriefEvent) -> str:
        if self._bodies is None:
            return ""
        found = self._bodies.at(event.source, event.place, event.length, event.block)
        return escaped(found.text)
