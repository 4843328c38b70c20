"""Lists are made in SQL: the same sessions as a comparison one by one gives, read a page at a time.

How much is read is counted in statements and rows, which a busy machine does not change.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from session_memory.core.schema import Session
from session_memory.core.time import parse_time
from session_memory.demo import demo_home
from session_memory.pricing import session_amounts, tree_amounts
from session_memory.store import Store
from session_memory.store.sessions import CollectedSession
from session_memory.testing.collecting import collected, new_store
from session_memory.views.commands import list_commands
from session_memory.views.family import family
from session_memory.views.lookup import find_session, suggest_sessions
from session_memory.views.matching import holds, is_like, names_model
from session_memory.views.session_titles import best_titles
from session_memory.views.sessions import SORTS, Filter, each_session, list_sessions, session_uids
from session_memory.views.short_names import short_names
from session_memory.views.transcript import Transcript
from session_memory.views.transcript_items import TranscriptOptions

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

TITLES = (None, "", "50% of ÜBER_us", "Fix A", r"a\b")
NATIVE = "{:08x}-0000-4000-8000-{:012x}"


def filled(number: int, seed: int = 1) -> Store:
    """A store with so many sessions of many kinds; every fourth is a subagent of the one before."""
    random = Random(seed)
    store = new_store()
    with store.transaction():
        before = ""
        for place in range(number):
            native = NATIVE.format(random.getrandbits(32), place)
            is_subagent = place % 4 == 3
            native = f"{before}:a{place:07x}" if is_subagent else native
            started = random.choice((None, place * 1000, random.randrange(number * 1000)))
            row = CollectedSession(
                uid=f"claude:{native}",
                flavor="claude",
                native_id=native,
                repo=random.choice((None, "webshop", "WebApp", "Öl")),
                domain=random.choice((None, "work")),
                git_branch=random.choice(("main", "fix/a", "[x]")),
                model=random.choice((None, "claude-opus-5", "GPT-5.6")),
                title=random.choice(TITLES) if place else "The first of all",
                outcome=random.choice(("success", "unknown")),
                started_at=started,
                ended_at=random.choice((started, None, place * 1000 + 500)),
                output_tokens=random.randrange(5),
                cache_read_tokens=random.randrange(5),
                turns=random.randrange(5),
                wall_clock_ms=random.randrange(5),
                parent_uid=f"claude:{before}" if is_subagent else None,
                relation="subagent" if is_subagent else None,
            )
            before = before if is_subagent else native
            store.sessions.save(row)
    return store


# ------------------------------------------------------------ the same answers


def admits(wanted: Filter, session: Session, name: str) -> bool:
    """What a filter means, said without SQL."""
    ended, started = session.ended_at, session.started_at or session.ended_at
    in_period = wanted.since is None and wanted.until is None
    if not in_period and ended is not None and started is not None:
        in_period = (wanted.since is None or parse_time(ended) >= wanted.since) and (
            wanted.until is None or parse_time(started) < wanted.until
        )
    return (
        is_like(session.flavor, wanted.flavor)
        and is_like(session.host, wanted.host)
        and is_like(session.repo, wanted.repo)
        and is_like(session.domain, wanted.domain)
        and is_like(session.git_branch, wanted.branch)
        and names_model(session.model, wanted.model)
        and holds(name, wanted.text)
        and wanted.outcome in (None, session.outcome)
        and wanted.parent in (None, session.parent_uid)
        and not (wanted.roots and session.relation == "subagent")
        and in_period
    )


def tokens(session: Session) -> int:
    cost = session.cost
    return cost.input_tokens + cost.output_tokens + cost.cache_tokens


KEYS: dict[str, Callable[[Session], Any]] = {
    "newest": lambda session: session.ended_at or "",
    "tokens": tokens,
    "output": lambda session: session.cost.output_tokens,
    "turns": lambda session: session.cost.turns,
    "time": lambda session: session.cost.wall_clock_s,
    "size": lambda session: session.source_bytes,
    "cost": lambda session: 0,
}


def admitted(store: Store, wanted: Filter) -> list[Session]:
    every = list(store.sessions.every())
    names = best_titles(store, [session.session_uid for session in every])
    return [one for one in every if admits(wanted, one, names[one.session_uid])]


def expected(store: Store, wanted: Filter, sort: str) -> list[str]:
    found = admitted(store, wanted)
    if sort == "oldest":
        found.sort(key=lambda session: session.started_at or "9999")
    else:
        found.sort(key=KEYS[sort], reverse=True)
    return [session.session_uid for session in found]


FILTERS = (
    Filter(),
    Filter(repo="web*"),
    Filter(repo="WEBSHOP", outcome="success"),
    Filter(repo="öl"),
    Filter(flavor="codex"),
    Filter(host="*"),
    Filter(domain="work", roots=True),
    Filter(branch="fix/?"),
    Filter(branch="[[]x]"),
    Filter(model="gpt"),
    Filter(model="o*5"),
    Filter(text="0% OF"),
    Filter(text="_"),
    Filter(text="über"),
    Filter(text="a\\"),
    Filter(text=""),
    Filter(since=40_000),
    Filter(until=40_000),
    Filter(since=20_000, until=60_000, roots=True),
)


@BOTH
@pytest.mark.parametrize("wanted", FILTERS, ids=str)
def test_a_filter_in_sql_admits_what_a_comparison_one_by_one_admits(database, wanted) -> None:
    with filled(90) as store:
        for sort in ("newest", "oldest"):
            uids = expected(store, wanted, sort)
            listing = list_sessions(store, wanted, sort=sort, limit=7)
            assert [one.session_uid for one in listing.sessions] == uids[:7]
            assert (listing.total, listing.stored) == (len(uids), 90)
            assert [one.session_uid for one in each_session(store, wanted, sort)] == uids


@BOTH
@pytest.mark.parametrize("sort", SORTS)
def test_every_order_is_that_of_its_key_and_the_newest_of_equals_first(database, sort) -> None:
    with filled(90) as store:
        listed = list_sessions(store, Filter(), sort=sort, limit=0).sessions
        assert [one.session_uid for one in listed] == expected(store, Filter(), sort)


@pytest.mark.parametrize("sort", ["newest", "oldest", "cost"])
def test_only_sessions_that_cost_enough_are_listed(database, sort) -> None:
    with collected(demo_home() / ".claude") as store:
        spent = {uid: one.microdollars for uid, one in session_amounts(store).items()}
        least = sorted(spent.values())[len(spent) // 2]
        filters = Filter(min_cost=least)
        listing = list_sessions(store, filters, sort=sort, limit=2)
        dear = {uid for uid, amount in spent.items() if amount >= least}
        every = [one.session_uid for one in each_session(store, filters, sort)]
        assert set(every) == dear == set(session_uids(store, filters))
        assert [one.session_uid for one in listing.sessions] == every[:2]
        assert listing.total == len(dear) < len(spent)
        if sort == "cost":
            assert [spent[uid] for uid in every] == sorted(spent[uid] for uid in dear)[::-1]


def test_children_are_counted_whether_they_are_listed_or_not(database) -> None:
    with filled(40) as store:
        listing = list_sessions(store, Filter(roots=True), limit=5)
        for session in listing.sessions:
            below = len(store.sessions.children(session.session_uid))
            assert listing.children.get(session.session_uid, 0) == below


FOLDED = (
    Filter(),
    Filter(repo="web*"),
    Filter(model="gpt"),
    Filter(since=20_000),
    Filter(text="a"),
)


@pytest.mark.parametrize("wanted", FOLDED, ids=str)
def test_a_subagent_is_folded_under_a_parent_that_is_listed_and_under_no_other(
    database, wanted
) -> None:
    with filled(90) as store:
        every = {one.session_uid: one for one in admitted(store, wanted)}
        folded = {uid for uid, one in every.items() if one.parent_uid in every}
        listing = list_sessions(store, replace(wanted, folded=True), limit=0)
        assert {one.session_uid for one in listing.sessions} == every.keys() - folded
        assert (listing.total, listing.folded) == (len(every) - len(folded), len(folded))
        assert list_sessions(store, replace(wanted, folded=True), limit=1).folded == len(folded)
        assert folded


def test_a_line_counts_and_prices_the_subagents_that_it_stands_for(database) -> None:
    with collected(demo_home() / ".claude") as store:
        listing = list_sessions(store, Filter(folded=True), limit=0, priced=True)
        assert sum(fold.sessions for fold in listing.folds.values()) == listing.folded > 0
        trees = tree_amounts(store, listing.folds)
        for uid, fold in listing.folds.items():
            assert listing.amounts[uid] + fold.amount == trees[uid]


def family_of(store: Store, *rows: tuple[str, str | None, int]) -> None:
    with store.transaction():
        for native, parent, ended in rows:
            row = CollectedSession(
                uid=f"claude:{native}",
                flavor="claude",
                native_id=native,
                ended_at=ended,
                parent_uid=parent and f"claude:{parent}",
                relation=parent and "subagent",
            )
            store.sessions.save(row)


def folded_list(store: Store) -> tuple[dict[str, int], int]:
    """The listed sessions with the number of subagents they stand for, and the number of all."""
    listing = list_sessions(store, Filter(folded=True), limit=0)
    numbers = {uid: fold.sessions for uid, fold in listing.folds.items()}
    listed = (session.session_uid for session in listing.sessions)
    return {uid.partition(":")[2]: numbers.get(uid, 0) for uid in listed}, listing.folded


def test_the_newest_of_subagents_without_a_stored_parent_stands_for_the_others(database) -> None:
    with new_store() as store:
        family_of(store, ("a", "gone", 1), ("b", "gone", 3), ("c", "gone", 3), ("d", "b", 2))
        family_of(store, ("e", "lost", 4), ("f", None, 5))
        assert folded_list(store) == ({"f": 0, "e": 0, "b": 3}, 3)


def test_subagents_of_subagents_are_folded_under_the_first_session(database) -> None:
    with new_store() as store:
        family_of(store, ("a", None, 1), ("b", "a", 2), ("c", "b", 3))
        assert folded_list(store) == ({"a": 2}, 2)


def test_sessions_that_claim_to_be_each_others_parent_are_listed(database) -> None:
    with new_store() as store:
        family_of(store, ("a", "b", 1), ("b", "a", 2))
        assert set(folded_list(store)[0]) == {"a", "b"}


# ------------------------------------------------------------ what is read


class Counted:
    """A database that counts its statements and the rows it hands out."""

    def __init__(self, db: Any) -> None:
        self._db = db
        self.statements = 0
        self.rows = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def all(self, *words: Any) -> list[Any]:
        self.statements += 1
        found = self._db.all(*words)
        self.rows += len(found)
        return found

    def one(self, *words: Any) -> Any:
        self.statements += 1
        self.rows += 1
        return self._db.one(*words)

    def value(self, *words: Any) -> Any:
        row = self.one(*words)
        return None if row is None else row[0]

    def each(self, *words: Any) -> Iterator[Any]:
        self.statements += 1
        for row in self._db.each(*words):
            self.rows += 1
            yield row

    def matching(self, *words: Any) -> Iterator[Any]:
        self.statements += 1
        for row in self._db.matching(*words):
            self.rows += 1
            yield row


def read_by(question: Callable[[Store], object], number: int) -> tuple[int, int]:
    """How many statements and rows a question takes with so many sessions in the store."""
    with filled(number) as store:
        counting = Counted(store.db)
        looking = Store(counting)  # type: ignore[arg-type]
        question(looking)
        assert counting.statements
        return counting.statements, counting.rows


def first_root(store: Store) -> str:
    """The session that is the same in stores of every size."""
    return f"claude:{NATIVE.format(Random(1).getrandbits(32), 0)}"


def shown(store: Store, text: str) -> None:
    uid = find_session(store, text)
    list(Transcript(store, TranscriptOptions()).items(uid))
    short_names(store, [uid, *store.sessions.children(uid)])


QUESTIONS: dict[str, Callable[[Store], object]] = {
    "sessions": lambda store: list_sessions(store, Filter(), limit=5, priced=True),
    "sessions of a repository": lambda store: list_sessions(
        store, Filter(repo="webshop"), limit=5, priced=True
    ),
    "folded sessions": lambda store: list_sessions(
        store, Filter(folded=True), limit=5, priced=True
    ),
    "oldest sessions": lambda store: list_sessions(store, Filter(), sort="oldest", limit=5),
    "the first of each": lambda store: next(each_session(store, Filter())),
    "show UID": lambda store: shown(store, first_root(store)),
    "show, beginning of an id": lambda store: shown(store, first_root(store)[7:20]),
    "show, a title": lambda store: shown(store, "the first of all"),
    "tree": lambda store: family(store, first_root(store)),
    "amounts of a family": lambda store: tree_amounts(store, [first_root(store)]),
    "commands": lambda store: list_commands(store, [first_root(store)], limit=5),
    "completion": lambda store: suggest_sessions(store, "", 5),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_what_is_read_does_not_grow_with_the_store(database, question) -> None:
    statements, rows = read_by(question, 120)
    more_statements, more_rows = read_by(question, 1200)
    # Not the same five sessions are listed: some have more subagents, or no title of their own.
    assert more_statements <= statements + 15
    assert more_rows <= rows + 25
