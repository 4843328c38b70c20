"""Search results: hits with snippets, grouped by session, and suggestions for unknown words."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from session_memory.core.errors import InvalidRecord
from session_memory.core.schema import KINDS, OUTCOMES
from session_memory.core.text import short_repr
from session_memory.derive.bodies import Bodies
from session_memory.pricing import Amount, session_amounts
from session_memory.search import Filters, Query, ScoredHit, SearchAnswer, find_hits, parse
from session_memory.search.filters import EXCLUDABLE, TITLE
from session_memory.search.find import TextOf
from session_memory.search.snippets import Snippet, snippet
from session_memory.store import Store
from session_memory.store.hits import Hit, Hits, HitSession
from session_memory.store.index import CLASSES
from session_memory.store.word_query import QueryWord, WordQuery
from session_memory.views.evicted import count_evicted
from session_memory.views.known_names import check_flavors, check_kinds, check_outcomes
from session_memory.views.lookup import find_session
from session_memory.views.periods import period
from session_memory.views.session_titles import best_titles
from session_memory.views.short_names import short_names

DEFAULT_LIMIT = 20
MOST_MEANT = 5
OF_A_SESSION = 3
CLOSE = 0.7


class ShownHit(msgspec.Struct, frozen=True):
    session_uid: str
    event_uid: str | None
    seq: int | None
    score: float
    name: str
    why: str
    snippet: Snippet
    ts: int | None
    tool: str | None

    def to_dict(self) -> dict[str, Any]:
        return {
            "session_uid": self.session_uid,
            "event_uid": self.event_uid,
            "seq": self.seq,
            "score": self.score,
            "class": self.name,
            "why": self.why,
            "snippet": self.snippet.text,
            "marks": [list(mark) for mark in self.snippet.marks],
        }


class ShownSession(msgspec.Struct, frozen=True):
    """A session with its best hits. ``more`` is the number of its other hits in this answer."""

    session: HitSession
    name: str
    title: str | None
    amount: Amount | None
    hits: list[ShownHit]
    more: int


class Results(msgspec.Struct, frozen=True):
    """The answer to a search. ``behind`` is 0 if the index is complete, else the number of all
    sessions, because any of them may be missing. ``evicted`` is the number of evicted sessions that
    the filters admit; only their titles were searched."""

    query: str
    hits: list[ShownHit]
    sessions: list[ShownSession]
    total: int
    total_exact: bool
    expanded: dict[str, tuple[str, ...]]
    meant: dict[str, list[str]]
    unmatched: list[tuple[str, str, list[str]]]
    behind: int
    evicted: int

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = {
            "hits": [hit.to_dict() for hit in self.hits],
            "total": self.total,
            "total_exact": self.total_exact,
        }
        if self.expanded:
            values["expanded"] = {word: list(words) for word, words in self.expanded.items()}
        if self.meant:
            values["did_you_mean"] = self.meant
        if self.behind:
            values["behind"] = self.behind
        if self.evicted:
            values["evicted"] = self.evicted
        return values


def search(
    store: Store,
    text: str,
    filters: Filters,
    *,
    now: int,
    limit: int = DEFAULT_LIMIT,
    snippets: bool = True,
    widen: bool = True,
    typed: bool = False,
) -> Results:
    """Search the existing index. Call `session_memory.derive.reindex.ensure_index` to update it.

    With ``widen``, words that contain an unknown word are searched in its place, or similar words
    are suggested. That can take seconds in a large store. ``typed``: the user is still typing, so
    the last word may be the beginning of a word.
    """
    query = parse(text)
    filters = narrowed(store, filters, query.fields)
    bodies = Bodies(store)

    def text_of(hit: Hit) -> str:
        return bodies.at(hit.source, hit.place, hit.length, hit.block).text

    answer = find_hits(
        *(store, query, filters),
        text_of=text_of,
        now=now,
        limit=limit,
        expand=widen,
        typed=typed and not text.endswith((" ", "*")),
    )
    titles = store.sessions.titles_of([one.session.id for one in answer.found])
    words = [word for many in answer.expanded.values() for word in many[:50]]
    hits = _all_shown(answer, words, text_of if snippets else _no_text, titles)
    behind = 0 if store.index.is_complete else store.sessions.count()
    return Results(
        query=text,
        hits=hits,
        sessions=_grouped(store, answer.found, hits, limit),
        total=answer.total,
        total_exact=answer.total_exact and not behind,
        expanded=answer.expanded,
        meant=_suggestions(store, query) if widen and not answer.total else {},
        unmatched=[] if answer.total else unmatched(store, filters),
        behind=behind,
        evicted=count_evicted(store, filters),
    )


_NAMES = {
    "flavor": "flavors",
    "repo": "repos",
    "model": "models",
    "kind": "kinds",
    "tool": "tools",
    "file": "files",
    "outcome": "outcomes",
    "branch": "branches",
    "class": "classes",
}


def narrowed(store: Store, filters: Filters, fields: Iterable[tuple[str, str]]) -> Filters:
    """Return ``filters`` with the fields of a query, such as ``repo:webshop since:7d``, added."""
    values: dict[str, Any] = {}
    for field, value in fields:
        if field.startswith("-"):
            values["without"] = (
                *values.get("without", filters.without),
                (_excludable(field[1:]), value),
            )
        elif field in ("since", "until"):
            values[field] = period(value)[field == "until"]
        elif field == "class" and value not in (TITLE, *CLASSES):
            hint = f"Classes are: {', '.join((TITLE, *CLASSES))}."
            raise InvalidRecord(f"unknown class {short_repr(value)}", hint, field="class")
        elif field == "session":
            values["sessions"] = (
                *values.get("sessions", filters.sessions),
                find_session(store, value),
            )
        else:
            name = _NAMES[field]
            values[name] = (*values.get(name, getattr(filters, name)), value)
    filters = msgspec.structs.replace(filters, **values)
    check_flavors(store, *filters.flavors)
    check_outcomes(*filters.outcomes)
    check_kinds(store, *filters.kinds)
    return filters


def _excludable(name: str) -> str:
    if name not in EXCLUDABLE:
        hint = f"These can be excluded: {', '.join(f'-{one}:' for one in EXCLUDABLE)}"
        raise InvalidRecord(f"{name}: cannot be excluded", hint, field=name)
    return name


def unmatched(store: Store, filters: Filters) -> list[tuple[str, str, list[str]]]:
    """Return ``(filter, value, similar values)`` for each value that a filter can never match: an
    agent, repository, branch, tool, kind or outcome that does not exist."""
    values: list[tuple[str, str, list[str]]] = []
    if not any(getattr(filters, name) for name in _NAMES.values()):
        return values
    sessions = Hits(store.db, store.names).sessions().values()
    there: dict[str, set[str]] = {
        "flavor": {one.flavor for one in sessions},
        "repo": {one.repo for one in sessions if one.repo},
        "branch": {one.git_branch for one in sessions if one.git_branch},
        "outcome": set(OUTCOMES),
        "kind": set(KINDS) | store.names.all(),
        "tool": store.names.all(),
    }
    from difflib import get_close_matches  # noqa: PLC0415

    for name, known in there.items():
        lower = {value.lower(): value for value in known}
        for value in getattr(filters, _NAMES[name]):
            if any(fnmatchcase(one, value.lower()) for one in lower):
                continue
            near = get_close_matches(value.lower(), lower, n=3, cutoff=CLOSE)
            values.append((name, value, [lower[one] for one in near]))
    return values


def _no_text(hit: Hit) -> str:
    return ""


def _all_shown(
    answer: SearchAnswer, words: Sequence[str], text_of: TextOf, titles: dict[int, str]
) -> list[ShownHit]:
    """Return the hits with snippets. Texts are read in the order in which they are stored, because
    neighbours are in the same pack and are unpacked together."""
    found = answer.found
    places = [(one.hit.source, one.hit.place) if one.hit else ("", 0) for one in found]
    made: dict[int, ShownHit] = {}
    for at in sorted(range(len(found)), key=places.__getitem__):
        one = found[at]
        if one.hit is None:
            text = titles.get(one.session.id, "")
        else:
            text = text_of(one.hit) or one.hit.summary
        made[at] = _shown(one, text, answer, words)
    return [made[at] for at in range(len(found))]


def _shown(one: ScoredHit, text: str, answer: SearchAnswer, words: Sequence[str]) -> ShownHit:
    hit = one.hit
    return ShownHit(
        session_uid=one.session.uid,
        event_uid=hit.event_uid if hit else None,
        seq=hit.seq if hit else None,
        score=one.score,
        name=one.name,
        why=one.why,
        snippet=snippet(text, answer.terms, words),
        ts=hit.ts if hit else one.session.ended_at,
        tool=hit.tool if hit else None,
    )


def _grouped(
    store: Store,
    found: Sequence[ScoredHit],
    shown: Sequence[ShownHit],
    limit: int,
) -> list[ShownSession]:
    """Group hits by session, in the order of the best hit. Each session has at most three hits, or
    all if there is no ``limit``."""
    most = OF_A_SESSION if limit else len(shown)
    by_session: dict[str, list[ShownHit]] = {}
    held = {one.session.uid: one.session for one in found}
    for hit in shown:
        by_session.setdefault(hit.session_uid, []).append(hit)
    names, best = short_names(store, held), best_titles(store, held)
    amounts = session_amounts(store, list(held)) if held else {}
    return [
        ShownSession(
            session=held[uid],
            name=names.get(uid, uid),
            title=best[uid],
            amount=amounts.get(uid),
            hits=hits[:most],
            more=max(len(hits) - most, 0),
        )
        for uid, hits in by_session.items()
    ]


def _suggestions(store: Store, query: Query) -> dict[str, list[str]]:
    """Return similar words of the index for each query word that is not in it."""
    values: dict[str, list[str]] = {}
    for term in query.positive:
        for word in term.words:
            if len(word.text) < 3 or store.index.count(WordQuery(((word,),))):
                continue
            near = _near(store, word)
            if near:
                values[word.text] = near
    return values


def _near(store: Store, word: QueryWord) -> list[str]:
    from difflib import get_close_matches  # noqa: PLC0415

    size = len(word.text)
    known = {
        term: docs
        for term, docs in store.index.terms_from(word.text[0])
        if abs(len(term) - size) <= 2
    }
    close = get_close_matches(word.text, known, n=MOST_MEANT * 2, cutoff=CLOSE)
    return sorted(close, key=lambda term: -known[term])[:MOST_MEANT]
