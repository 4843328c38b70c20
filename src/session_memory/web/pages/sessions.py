"""The page with the list of sessions, or with the hits of a search grouped by session.

The query in the search field has words and filters (``repo:shop since:90d``). A click on a facet
adds or removes such a filter. So the address contains the whole state of the page.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import date
from urllib.parse import urlencode

import msgspec
from starlette.responses import Response

from session_memory.core.time import now_ms
from session_memory.search.query import parse
from session_memory.views.figures import plural
from session_memory.views.hit_days import hit_days
from session_memory.views.hit_facets import MOST_HITS as MOST_FACET_HITS
from session_memory.views.hit_facets import hit_facets
from session_memory.views.periods import period
from session_memory.views.search import ShownHit
from session_memory.views.session_pages import facets, rows_of, session_page
from session_memory.views.sessions import SORTS, Filter
from session_memory.web.asked import MINUTE_MS, Asked
from session_memory.web.charts import day_bars
from session_memory.web.rows import DOTS, ListRow, event_address, list_row, session_address

_LINE = re.compile(r"(?P<path>/[^\s:]{1,1000})(?::(?P<line>[0-9]{1,9}))?")
MOST_HITS = 60
# While somebody types, two screens of hits are enough.
MOST_TYPED = 30
MOST_COUNTED = 5_000
LONGEST_QUERY = 2000
ORDERS = {"newest": "Newest", "cost": "Dearest", "time": "Longest", "tokens": "Most tokens"}
FACET_NAMES = {
    "repo": "Repository",
    "class": "Found in",
    "outcome": "Outcome",
    "flavor": "Agent",
    "model": "Model",
}
_CHOICE_NAMES = {
    ("outcome", "unknown"): "not analyzed or unknown",
    ("class", "message"): "messages",
    ("class", "summary"): "summaries",
    ("class", "call"): "calls",
    ("class", "title"): "titles",
}
# The fields of a query by which sessions can be listed. Any other field needs a search.
_LISTED = frozenset({"repo", "outcome", "flavor", "model", "branch", "since", "until"})
_SORT_NAMES = {"title": "title", "message": "message", "summary": "summary"}


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    address: str
    number: int = 0
    is_chosen: bool = False
    dot: str = ""


class ShownFacet(msgspec.Struct, frozen=True):
    name: str
    field: str
    choices: list[Choice]


class Chip(msgspec.Struct, frozen=True):
    text: str
    without: str


class HitLine(msgspec.Struct, frozen=True, kw_only=True):
    sort: str
    text: str
    marks: list[tuple[int, int]]
    address: str
    seq: int | None
    is_code: bool


class HitGroup(msgspec.Struct, frozen=True):
    row: ListRow
    hits: list[HitLine]
    more: int
    every: str


class ListedHits(msgspec.Struct, frozen=True):
    """The hits of a search. If there are none yet, ``later`` is the address of a search for longer
    words that contain the given words."""

    groups: list[HitGroup]
    nothing: str
    meant: list[Choice]
    later: str = ""


class _QueryState:
    """The query and the order of the list, as the address of the page has them."""

    def __init__(self, asked: Asked) -> None:
        self.text = asked.query.get("q", "").strip()[:LONGEST_QUERY]
        self.sort = asked.query.get("sort", "newest")
        if self.sort not in SORTS:
            self.sort = "newest"
        self.query = parse(self.text)
        self.fields = list(self.query.fields)
        self.words = _words_of(self.text, self.fields)
        # While somebody types, the last word may be the beginning of one.
        is_typing = asked.part == "results" or asked.query.get("typed") == "1"
        self.is_typed = is_typing and not asked.query.get("q", "").endswith(" ")
        self.is_search = bool(self.query.terms) or any(
            name not in _LISTED for name, _ in self.fields
        )

    def address(
        self,
        fields: Iterable[tuple[str, str]] | None = None,
        *,
        sort: str | None = None,
        after: str | None = None,
        words: str | None = None,
        typed: bool = False,
    ) -> str:
        chosen = self.fields if fields is None else fields
        text = " ".join(
            filter(None, [self.words if words is None else words, *(_written(*f) for f in chosen)])
        )
        order = sort or self.sort
        given = {"q": text, "sort": "" if order == "newest" else order, "after": after or ""}
        given["typed"] = "1" if typed else ""
        rest = urlencode({name: value for name, value in given.items() if value})
        return f"/sessions?{rest}" if rest else "/sessions"

    def toggled(self, field: str, value: str) -> str:
        """Return the address with this filter added, or removed if it is chosen.

        A field has only one value, so another value of the same field is removed.
        """
        others = [one for one in self.fields if one[0] != field]
        is_chosen = (field, value) in self.fields
        return self.address(others if is_chosen else [*others, (field, value)])

    def filters(self) -> Filter:
        values: dict[str, object] = {}
        for name, value in self.fields:
            if name in ("since", "until"):
                values[name] = period(value)[name == "until"]
            elif name in _LISTED:
                values[name] = value
        return Filter(folded=True, **values)  # type: ignore[arg-type]


def sessions(asked: Asked) -> Response:
    state = _QueryState(asked)
    if any(name in ("since", "until") for name, _ in state.fields):
        asked.kept_ms = MINUTE_MS  # The filter may be a time such as 3h.
    if asked.part == "widened":
        widened, text = _found(asked, state)
        return asked.page("sessions", widened=widened, said=text)
    if asked.part == "days":
        return asked.page("sessions", days=_days(asked, state) if state.is_search else None)
    store = asked.memory.store
    after = asked.query.get("after")
    page, found, more = None, None, None
    text, nothing = "", ""
    filters = state.filters()
    # Counting facets of very many sessions takes longer than listing the first sessions. So the
    # facets are a request of their own.
    is_large = store.sessions.count() > MOST_COUNTED
    is_quick = not is_large and not (state.is_search and state.is_typed)
    has_facets = asked.part == "facets" or (is_quick and asked.part != "rows")
    if asked.part == "facets":
        pass
    elif state.is_search:
        found, text = _found(asked, state, widen=asked.part != "results")
    else:
        page = session_page(store, filters, sort=state.sort, after=after)
        more = state.address(after=page.next) if page.next else None
        nothing = _nothing(asked, state)
    shown, note = _facets(asked, state, filters) if has_facets else ([], "")
    return asked.page(
        "sessions",
        query=state.text,
        rows=[list_row(row) for row in page.rows] if page else [],
        found=found,
        more=more,
        said=text,
        nothing=nothing,
        chips=[
            Chip(_written(*field), state.address([f for f in state.fields if f != field]))
            for field in state.fields
        ],
        orders=list(_orders(state)),
        here_address=state.address(),
        days=None,
        why=_why_address(state.text),
        facets=shown,
        facets_note=note,
        facets_address="" if has_facets else state.address(typed=state.is_typed),
    )


def _why_address(text: str) -> str:
    """Return the address of the page ``why`` if the query is a file or a line of one, else ""."""
    found = _LINE.fullmatch(text.strip())
    if found is None:
        return ""
    asked = {"path": found["path"], **({"line": found["line"]} if found["line"] else {})}
    return f"/why?{urlencode(asked)}"


def _orders(state: _QueryState) -> Iterator[dict[str, object]]:
    if state.is_search:
        return
    for name, title in ORDERS.items():
        yield {
            "name": title,
            "address": state.address(sort=name),
            "is_chosen": name == state.sort,
        }


def _facets(asked: Asked, state: _QueryState, filters: Filter) -> tuple[list[ShownFacet], str]:
    """Return the facets and a remark about their numbers. For a search, they count the sessions
    with hits."""
    store, note = asked.memory.store, ""
    if state.is_search:
        found = hit_facets(store, state.text, now=now_ms(), typed=state.is_typed)
        counted = found.fields
        note = "" if found.is_all else f"counted among the best {MOST_FACET_HITS:,} hits"
    else:
        counted = facets(store, filters)
    return list(_shown_facets(state, counted)), note


def _shown_facets(
    state: _QueryState, counted: dict[str, list[tuple[str, int]]]
) -> Iterator[ShownFacet]:
    for field in FACET_NAMES:
        choices = [
            Choice(
                text=_CHOICE_NAMES.get((field, value), value),
                number=number,
                address=state.toggled(field, value),
                is_chosen=(field, value) in state.fields,
                dot=DOTS.get(value, "unknown") if field == "outcome" else "",
            )
            for value, number in counted.get(field, [])
        ]
        if len(choices) > 1 or any(choice.is_chosen for choice in choices):
            yield ShownFacet(FACET_NAMES[field], field, choices)


def _days(asked: Asked, state: _QueryState) -> dict[str, object] | None:
    """Draw the hits by day. Of very many hits, only the best are counted."""
    found = hit_days(asked.memory.store, state.text, now=now_ms())
    if len(found.days) < 2:
        return None
    others = [field for field in state.fields if field[0] not in ("since", "until")]

    def address(first: date, last: date) -> str:
        return state.address([*others, ("since", str(first)), ("until", str(last))])

    note = "" if found.is_all else f"the best {found.counted:,} hits by day"
    return {"drawing": day_bars(found.days, "Hits by day", address), "note": note}


def _nothing(asked: Asked, state: _QueryState) -> str:
    if not asked.memory.store.sessions.count():
        return "The store is empty. Run session-memory sync to collect your agents' logs."
    return "No session matches these filters."


def _found(asked: Asked, state: _QueryState, *, widen: bool = True) -> tuple[ListedHits, str]:
    """Return the hits and a sentence about their number. Without ``widen``, words that do not occur
    find nothing, and the answer comes at once."""
    is_typed = not widen and state.is_typed
    most = MOST_HITS if widen else MOST_TYPED
    results = asked.memory.search(state.text, limit=most, widen=widen, typed=is_typed)
    store = asked.memory.store
    sessions = [store.sessions.get(one.session.uid) for one in results.sessions]
    rows = {
        row.session.session_uid: list_row(row)
        for row in rows_of(store, [one for one in sessions if one is not None])
    }
    groups = [
        HitGroup(
            row=rows[one.session.uid],
            hits=[_line(hit) for hit in one.hits if hit.name != "title"],
            more=one.more,
            every=state.address([*state.fields, ("session", one.session.uid)]),
        )
        for one in results.sessions
        if one.session.uid in rows
    ]
    number = f"{results.total:,}" if results.total_exact else f"at least {results.total:,}"
    hits = "hit" if results.total == 1 else "hits"
    where = f"in {plural(len(groups), 'session')}"
    text = f"{number} {hits} {where}" if groups else ""
    if results.total > most:
        text = f"{number} {hits}; the best {most} are shown, {where}"
    if groups and is_typed and results.expanded:
        text += f", of words that begin with {next(iter(results.expanded))}"
    meant = [
        Choice(text=word, address=state.address(words=word))
        for words in results.meant.values()
        for word in words
    ]
    later = "" if widen or groups else state.address()
    return ListedHits(groups, "Nothing found.", meant, later), text


def _line(hit: ShownHit) -> HitLine:
    is_placed = hit.event_uid is not None
    return HitLine(
        sort=_SORT_NAMES.get(hit.name, hit.name),
        text=hit.snippet.text,
        marks=[(start, end) for start, end in hit.snippet.marks],
        address=event_address(hit.session_uid, hit.event_uid or "")
        if is_placed
        else session_address(hit.session_uid),
        seq=hit.seq,
        is_code=hit.name in ("call", "output"),
    )


def _written(field: str, value: str) -> str:
    quoted = f'"{value}"' if any(sign in value for sign in " \t") else value
    return f"{field}:{quoted}"


def _words_of(text: str, fields: list[tuple[str, str]]) -> str:
    """Return the query without its filters."""
    rest = text
    for field, value in fields:
        for written in (_written(field, value), f'{field}:"{value}"'):
            if written in rest:
                rest = rest.replace(written, " ", 1)
                break
    return " ".join(rest.split())
