"""The sums of a stretch of a session that was chosen on its map: what it used and did."""

from typing import Any

from starlette.responses import Response

from session_memory.pricing import shown as money
from session_memory.store.usage import BUCKETS
from session_memory.views.figures import duration, plural
from session_memory.views.stretch import SessionStretch, stretch
from session_memory.web.asked import Asked
from session_memory.web.pages.session_head import session_of, session_page
from session_memory.web.rows import session_address

MOST_FILES = 12


def session_stretch(asked: Asked) -> Response:
    found = session_of(asked)
    first, last = asked.number("from"), asked.number("to", 1 << 40)
    one = stretch(asked.memory.store, found.session_uid, first, last)
    paths = dict.fromkeys([*one.edited, *one.read])
    values: dict[str, Any] = {
        "first": one.first,
        "last": one.last,
        "sums": [(name, value) for name, value in _facts(one) if value],
        "cost": money(one.tally.amount),
        "files": [(path, _what(one, path)) for path in paths][:MOST_FILES],
        "left_out": max(len(paths) - MOST_FILES, 0),
    }
    if asked.part:
        return asked.page("stretch", address=session_address(found.session_uid), **values)
    return session_page(asked, found, "map", "stretch", **values)


def _facts(one: SessionStretch) -> list[tuple[str, str]]:
    tally = one.tally
    tokens = dict(zip(BUCKETS, tally.buckets, strict=True))
    tests = f"{one.passed} passed, {one.failed} failed" if one.passed or one.failed else "none"
    return [
        ("time", duration(one.seconds) if one.seconds else ""),
        ("events", f"{one.events:,}"),
        ("responses", f"{tally.responses:,}"),
        ("calls", f"{one.calls:,}"),
        ("errors", f"{one.errors:,}"),
        ("test runs", tests),
        ("files edited", f"{len(one.edited):,}"),
        ("cache read", f"{tokens['cache_read_tokens']:,}"),
        ("cache write", f"{tokens['cache_write_tokens']:,}"),
        ("input", f"{tokens['input_tokens']:,}"),
        ("output", f"{tokens['output_tokens']:,}"),
    ]


def _what(one: SessionStretch, path: str) -> str:
    parts = [
        plural(one.edited[path], "edit") if path in one.edited else "",
        plural(one.read[path], "read") if path in one.read else "",
    ]
    return ", ".join(part for part in parts if part)
