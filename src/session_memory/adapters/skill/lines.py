"""The fields of a line in a skill log, and the decoder of a line. Fields of a wrong type are left
out.

``input`` may be any value of any size, so it is decoded only when it is needed.
"""

from typing import Any, NamedTuple

import msgspec

from session_memory.adapters.decoding import REFUSED, decode_leniently, refuse_many_parts

Raw = msgspec.Raw
MOST_ATTEMPTS = 10_000
_NOTHING = Raw(b"null")
LONGEST_VALUE = 4 * 1024 * 1024


class LoggedAttempt(msgspec.Struct, gc=False):
    model: str | None = None
    output_summary: str | None = None
    runner_output: str | None = None
    verified: bool | None = None
    duration_ms: float | None = None
    verdict: str | None = None
    feedback: str | None = None


class SkillLine(msgspec.Struct, gc=False):
    session_id: str | None = None
    timestamp: str | None = None
    skill: str | None = None
    phase: str | None = None
    project_root: str | None = None
    input: Raw = _NOTHING
    attempts: Raw = _NOTHING
    final_status: str | None = None
    file_path: str | None = None
    model_used: str | None = None
    duration_ms: float | None = None
    message: str | None = None


class DecodedSkillLine(NamedTuple):
    """A decoded line with its attempts. ``is_lenient``: fields of a wrong type were left out."""

    line: SkillLine
    tries: list[LoggedAttempt]
    is_lenient: bool

    @property
    def is_entry(self) -> bool:
        return bool(self.line.skill or self.tries or self.line.final_status)

    @property
    def model(self) -> str | None:
        """The model of the entry, else the last model that an attempt names."""
        tried = (attempt.model for attempt in reversed(self.tries) if attempt.model)
        return self.line.model_used or next(tried, None)

    @property
    def took_ms(self) -> float | None:
        """The duration of the entry, else the sum of the attempts' durations."""
        spans = [attempt.duration_ms for attempt in self.tries if attempt.duration_ms is not None]
        own = self.line.duration_ms
        return sum(spans) if own is None and spans else own


_line = msgspec.json.Decoder(SkillLine).decode
_attempt = msgspec.json.Decoder(LoggedAttempt).decode
_attempts = msgspec.json.Decoder(list[LoggedAttempt] | None).decode
_items = msgspec.json.Decoder(list[Raw]).decode


def decode(line: bytes) -> DecodedSkillLine:
    """Return the decoded line with its attempts. Raises ``ValueError`` if it is no JSON object, or
    has too many attempts or parts."""
    try:
        native, lenient = _line(line), False
    except REFUSED:
        refuse_many_parts(line)
        native, lenient = decode_leniently(line, _line), True
    refuse_many_parts(bytes(native.attempts))
    try:
        tries = _attempts(native.attempts) or []
    except REFUSED:
        tries, lenient = _leniently(native.attempts), True
    if len(tries) > MOST_ATTEMPTS:
        raise ValueError(f"more than {MOST_ATTEMPTS:,} attempts")
    return DecodedSkillLine(native, tries, lenient)


def _leniently(attempts: Raw) -> list[LoggedAttempt]:
    """Return the attempts that can be read, each without the fields of a wrong type."""
    found: list[LoggedAttempt] = []
    try:
        items = _items(attempts)
    except REFUSED:
        return found
    for item in items:
        try:
            found.append(decode_leniently(bytes(item), _attempt))
        except ValueError:
            # An attempt that cannot be read is left out. The stored logs keep the whole line.
            continue
    return found


def value_of(raw: Raw) -> Any:
    """Return the input of a skill, decoded; as text if it is long or invalid JSON."""
    if len(memoryview(raw)) <= LONGEST_VALUE:
        try:
            return msgspec.json.decode(raw)
        except REFUSED:
            pass
    return bytes(raw).decode("utf-8", "replace")
