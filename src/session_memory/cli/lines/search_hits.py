"""Results of a search as lines: sessions with their best hits, and how to open each."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from session_memory.cli.lines.look_line import look_line
from session_memory.pricing import shown
from session_memory.render.text import cut, safe
from session_memory.views.figures import age

if TYPE_CHECKING:
    from session_memory.search.snippets import Snippet
    from session_memory.views.search import Results, ShownHit, ShownSession

INDENT = "  "
WIDE = 100


def found_lines(results: "Results", columns: int | None, now: int) -> Iterator[str]:
    for place, session in enumerate(results.sessions):
        if place:
            yield ""
        yield from session_lines(session, columns or WIDE, now)


def session_lines(found: "ShownSession", columns: int, now: int) -> Iterator[str]:
    session = found.session
    facts = [session.flavor, session.repo or "", age(session.ended_at, now)]
    if found.amount is not None and (found.amount.microdollars or found.amount.unpriced_tokens):
        facts.append(shown(found.amount))
    title = click.style(cut(safe(found.title or "(no title)"), columns), bold=True)
    yield title
    best = next((hit.seq for hit in found.hits if hit.seq is not None), None)
    yield look_line(found.name, facts, columns, around=best)
    for hit in found.hits:
        yield from _hit(hit, columns)
    if found.more:
        yield click.style(f"{INDENT}and {found.more:,} more in this session", dim=True)


def _hit(hit: "ShownHit", columns: int) -> Iterator[str]:
    place = "title" if hit.seq is None else f"#{hit.seq}"
    yield click.style(cut(f"{INDENT}{place:<6} {safe(hit.why)}", columns), dim=True)
    if hit.seq is not None and hit.snippet.text:
        yield from snippet_lines(hit.snippet, columns - 9)


def snippet_lines(snippet: "Snippet", columns: int) -> Iterator[str]:
    """Yield the lines of a snippet, with the words that matched in colour."""
    text, start = snippet.text, 0
    columns = max(columns, 20)
    while start < len(text):
        end = start + columns
        if end < len(text):
            blank = text.rfind(" ", start + columns // 2, end)
            end = blank + 1 if blank > 0 else end
        yield f"         {_marked(snippet, start, end)}".rstrip()
        start = end


def _marked(snippet: "Snippet", start: int, end: int) -> str:
    pieces, place = [], start
    for first, last in snippet.marks:
        first, last = max(first, start), min(last, end)
        if first < last and first >= place:
            pieces.append(safe(snippet.text[place:first]))
            pieces.append(click.style(safe(snippet.text[first:last]), fg="yellow", bold=True))
            place = last
    pieces.append(safe(snippet.text[place:end]))
    return "".join(pieces)
