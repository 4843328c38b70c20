"""A clock for the times in logs that a test writes."""

from session_memory.core.time import format_time, parse_time

START = "2026-07-01T10:00:00.000Z"
TICK_MS = 1000


class Clock:
    """A clock that moves only when `tick` is called, so that a test always writes the same
    times."""

    def __init__(self, start: str = START, tick_ms: int = TICK_MS) -> None:
        self.ms = parse_time(start)
        self._tick_ms = tick_ms

    def tick(self, ms: int | None = None) -> str:
        """Move the clock by ``ms`` or by its usual step, and return the new time as a text."""
        self.ms += self._tick_ms if ms is None else ms
        return format_time(self.ms)
