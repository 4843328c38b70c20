"""The time in a log that a test writes."""

from session_memory.core.time import format_time, parse_time

START = "2026-07-01T10:00:00.000Z"
TICK_MS = 1000


class Clock:
    """A time that only `tick` moves on, so that the same calls write the same times."""

    def __init__(self, start: str = START, tick_ms: int = TICK_MS) -> None:
        self.ms = parse_time(start)
        self._tick_ms = tick_ms

    def tick(self, ms: int | None = None) -> str:
        """Move on by ``ms``, or by the usual step, and return the new time."""
        self.ms += self._tick_ms if ms is None else ms
        return format_time(self.ms)
