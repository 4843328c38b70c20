"""A table of sessions that are similar to a session or to a text."""

from collections.abc import Iterator

from session_memory.cli.kit.output import Cell, Column, table, terminal_width
from session_memory.core.time import now_ms
from session_memory.views.figures import age
from session_memory.views.session_labels import SessionLabels
from session_memory.views.similar import Similar


def similar_lines(similar: Similar, labels: SessionLabels) -> Iterator[str]:
    columns = [
        Column("like", right=True),
        Column("session"),
        Column("agent"),
        Column("when"),
        Column("title", flexible=True, least=40),
        Column("in common", flexible=True, least=20, spare=1),
    ]
    rows = [
        (
            f"{one.likeness:.0%}",
            Cell(labels.name(one.session.uid), {"fg": "cyan"}),
            one.session.flavor,
            age(one.session.ended_at, now_ms()),
            labels.title(one.session.uid),
            ", ".join((*one.words, *one.files)),
        )
        for one in similar.found
    ]
    if rows:
        yield from table(columns, rows, terminal_width())
