"""What new records need from the earlier records of their session. The answer decides whether the
new records can simply be appended."""

import msgspec

from session_memory.adapters.base import Record


class Needs(msgspec.Struct, frozen=True):
    """What some records need. ``order``: the earlier records of the session matter to these
    records.

    ``ordinal`` is the lowest ordinal of these records; None if they have none.
    """

    order: bool
    ordinal: int | None


def needs_of(records: list[Record], *, is_timeline: bool) -> Needs:
    ordinals = [record.ordinal for record in records if record.ordinal is not None]
    order = any(_depends_on_order(record, is_timeline) for record in records)
    return Needs(order, min(ordinals, default=None))


def _depends_on_order(record: Record, is_timeline: bool) -> bool:
    """Whether earlier records matter. Outcomes of a timeline need none: they name their calls."""
    return bool(
        record.events
        or record.usage is not None
        or record.continues
        or record.facts
        or record.link is not None
        or (record.outcomes and not is_timeline)
    )
