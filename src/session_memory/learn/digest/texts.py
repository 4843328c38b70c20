"""Read the texts of a session's events, from the summary if it holds the whole text.

Otherwise the stored logs are read. Secrets are masked before a text is cut, because half a secret
would not be recognized. Texts that the hooks of Session Memory injected are left out: they quote
other sessions, so nothing about this session can be learned from them.
"""

from typing import TYPE_CHECKING, Any

from session_memory.core.injected import without_injected
from session_memory.core.text import SUMMARY, escaped
from session_memory.derive.detecting import command_of
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
_FEW = 40


class Texts:
    """Reads texts of one session. Unpacking stored records is slow, so their number is limited.

    Over the limit, the methods return the summary of the event or nothing.
    """

    def __init__(self, bodies: "Bodies | None") -> None:
        self._bodies = bodies
        # The old and the new text of edits, by ``seq``. Later edits are compared with them.
        self._replaced: dict[int, tuple[str, str] | None] = {}
        # Masked texts by ``seq``: a message is asked for several times, and masking is slow.
        self._lines: dict[int, str] = {}
        self._words = self._outputs = self._edits = self._reasons = self._calls = self._messages = 0

    def words(self, event: BriefEvent) -> str:
        """Return the summary of a message if it is the whole text; else what `lines` returns."""
        if len(event.summary) < SUMMARY and not event.summary.endswith("…"):
            return event.summary
        return self.lines(event)

    def lines(self, event: BriefEvent) -> str:
        """Return the text of a message with its line ends, masked, up to `LONGEST` characters."""
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
        """Return the text of a call. It is not masked, so it must not be stored or shown."""
        if len(event.summary) < SUMMARY and not event.summary.endswith("…"):
            return event.summary
        text, given = self.call(event)
        return (command_of(event.tool or "", given) or text)[: 2 * LONGEST] or event.summary

    def ending(self, event: BriefEvent) -> str:
        """Return the end of a message. It is not masked, so it must not be stored or shown."""
        if len(event.summary) < SUMMARY and not event.summary.endswith("…"):
            return event.summary
        return self._text(event)[-2 * LONGEST :] or event.summary

    def message(self, event: BriefEvent) -> str:
        """Return the whole text of a message, which may contain a long pasted log. It is not
        masked."""
        if len(event.summary) < SUMMARY and not event.summary.endswith("…"):
            return event.summary
        self._messages += 1
        return (self._text(event) if self._messages <= MOST_MESSAGES else "") or event.summary

    def output(self, event: BriefEvent) -> str:
        """Return the whole output of a call; after `MOST_OUTPUTS` outputs only the summary. It is
        not masked."""
        self._outputs += 1
        text = self._text(event) if self._outputs <= MOST_OUTPUTS else ""
        return text or event.summary

    def reason(self, event: BriefEvent) -> str:
        """Return why an attempt or a call of a skill failed, in one line; "" without a reason.

        The reason is in the runner's output, the review's feedback or a message. Words of the model
        are no reason.
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
        """Return the whole text and the arguments of a call. After `MOST_CALLS` calls, the summary
        and no arguments. Nothing is masked."""
        self._calls += 1
        if self._bodies is None or self._calls > MOST_CALLS:
            return event.summary, None
        found = self._bodies.at(event.source, event.place, event.length, event.block)
        return escaped(found.text), found.arguments

    def size(self, event: BriefEvent) -> int:
        """Return the length of the event's text in characters."""
        return len(self._text(event))

    def replaced(self, event: BriefEvent) -> tuple[str, str] | None:
        """Return the old and the new text of an edit; None if the call does not contain them."""
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


def has_beginning(summary: str, text: str) -> bool:
    """Whether a text contains the first words of a summary, which has no line ends."""
    return summary[:_FEW].rstrip("…").strip() in " ".join(text.split())


def _replaced(given: Any) -> tuple[str, str] | None:
    match given:
        case {"old_string": str(old), "new_string": str(new)} if old != new:
            return old, new
    return None
