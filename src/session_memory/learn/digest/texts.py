"""The texts of events. The stored logs are read only if the summary does not hold the whole text.

Secrets are masked before a text is cut, because half a secret would not be recognized. What hooks
of ours injected is left out: it was learned from the session that it quotes.
"""

from typing import TYPE_CHECKING, Any

from session_memory.core.injected import without_injected
from session_memory.core.text import SUMMARY, escaped
from session_memory.learn.digest.error_lines import reason_line
from session_memory.redact import mask
from session_memory.store.brief_events import BriefEvent

if TYPE_CHECKING:
    from session_memory.derive.bodies import Bodies

MOST_WORDS = 2_000
MOST_OUTPUTS = 400
MOST_EDITS = 100
MOST_CALLS = 1_500
MOST_MESSAGES = 200
MOST_REASONS = 2_000
MOST_KEPT = 16
LONGEST = 2_000


class Texts:
    """The texts of one session. Unpacking raw records is slow, so their number is limited."""

    def __init__(self, bodies: "Bodies | None") -> None:
        self._bodies = bodies
        # Later edits of a file are compared with these.
        self._replaced: dict[int, tuple[str, str] | None] = {}
        # A message is asked for several times in a row, and masking takes long.
        self._lines: dict[int, str] = {}
        self._words = self._outputs = self._edits = self._reasons = self._calls = self._messages = 0

    def words(self, event: BriefEvent) -> str:
        """The text of a message, up to `LONGEST` characters."""
        if len(event.summary) < SUMMARY and not event.summary.endswith("…"):
            return event.summary
        return self.lines(event)

    def lines(self, event: BriefEvent) -> str:
        """The text of a message with its line ends, which a summary does not have."""
        self._words += 1
        if self._words > MOST_WORDS:
            return event.summary
        if (known := self._lines.get(event.seq)) is None:
            known = mask(self._text(event)[: 4 * LONGEST])[:LONGEST]
            if len(self._lines) >= MOST_KEPT:
                del self._lines[next(iter(self._lines))]
            self._lines[event.seq] = known
        return known or event.summary

    def command(self, event: BriefEvent) -> str:
        """The text of a call, to be classified and never to be stored: it is not masked."""
        if len(event.summary) < SUMMARY and not event.summary.endswith("…"):
            return event.summary
        return self._text(event)[: 2 * LONGEST] or event.summary

    def ending(self, event: BriefEvent) -> str:
        """The end of a message, to be classified and never to be stored: it is not masked."""
        if len(event.summary) < SUMMARY and not event.summary.endswith("…"):
            return event.summary
        return self._text(event)[-2 * LONGEST :] or event.summary

    def message(self, event: BriefEvent) -> str:
        """The whole text of a message, also of a log that a person pasted."""
        if len(event.summary) < SUMMARY and not event.summary.endswith("…"):
            return event.summary
        self._messages += 1
        return (self._text(event) if self._messages <= MOST_MESSAGES else "") or event.summary

    def output(self, event: BriefEvent) -> str:
        """The whole output of a call; after `MOST_OUTPUTS` outputs only the summary."""
        self._outputs += 1
        text = self._text(event) if self._outputs <= MOST_OUTPUTS else ""
        return text or event.summary

    def reason(self, event: BriefEvent) -> str:
        """Why an attempt or a call of a skill failed, in one line; "" if the log does not say.

        The run, the review and the runner's message say it. What the model wrote is no reason.
        """
        if self._bodies is None or self._reasons >= MOST_REASONS:
            return ""
        self._reasons += 1
        given = self._bodies.at(event.source, event.place, event.length, event.block).arguments
        if not isinstance(given, dict):
            return ""
        texts = (given.get(name) for name in ("runner_output", "feedback", "message"))
        return reason_line(*(text for text in texts if isinstance(text, str)))

    def call(self, event: BriefEvent) -> tuple[str, Any]:
        """The whole text and the arguments of a call; after `MOST_CALLS` calls the summary."""
        self._calls += 1
        if self._bodies is None or self._calls > MOST_CALLS:
            return event.summary, None
        found = self._bodies.at(event.source, event.place, event.length, event.block)
        return escaped(found.text), found.arguments

    def size(self, event: BriefEvent) -> int:
        """The length of the event's text in characters."""
        return len(self._text(event))

    def replaced(self, event: BriefEvent) -> tuple[str, str] | None:
        """The old and the new text of an edit; None if the call does not contain them."""
        if self._bodies is None or self._edits >= MOST_EDITS:
            return None
        self._edits += 1
        if event.seq not in self._replaced:
            body = self._bodies.at(event.source, event.place, event.length, event.block)
            self._replaced[event.seq] = _replaced(body.arguments)
        return self._replaced[event.seq]

    def _text(self, event: BriefEvent) -> str:
        if self._bodies is None:
            return ""
        found = self._bodies.at(event.source, event.place, event.length, event.block)
        return without_injected(escaped(found.text))


def _replaced(given: Any) -> tuple[str, str] | None:
    match given:
        case {"old_string": str(old), "new_string": str(new)} if old != new:
            return old, new
    return None
