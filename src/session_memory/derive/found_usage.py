"""Collect the usage in records. Each response is kept once: with its largest output, which is that
of the whole answer, and at the event of its last block."""

from session_memory.adapters.base import NativeUsage, Record

Response = tuple[str, bool]
"""The id of a response, and whether a session only reported it. A report and a logged response with
the same id are kept apart."""


def usage_in(record: Record) -> tuple[NativeUsage, ...]:
    """Every usage that a record holds; nearly always none or one."""
    if record.usage is None:
        return ()
    return (record.usage, *record.more_usage) if record.more_usage else (record.usage,)


class FoundUsage(dict[Response, tuple[NativeUsage, int | None, int]]):
    """Response → ``(usage, time of its record, seq of its event)``."""

    def add(self, record: Record, seq: int) -> None:
        """Take the usage of a record, which belongs to the event ``seq``."""
        for used in usage_in(record):
            response = used.usage_id, used.is_reported
            earlier = self.get(response)
            if earlier is None or used.output_tokens >= earlier[0].output_tokens:
                self[response] = (used, record.ts, seq)
            else:
                self[response] = (earlier[0], earlier[1], seq)
