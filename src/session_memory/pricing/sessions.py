"""Compute the cost of sessions, without and with their subagents."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

import msgspec

from session_memory.pricing.amounts import UsageFilter, charges
from session_memory.pricing.rates import OwnPrices
from session_memory.store import Store

# Micro-dollars in a dollar.
MICRODOLLARS = 1_000_000
# With more sessions than this, all sessions are summed and the requested ones are picked out.
NAMED_AT_ONCE = 500
_SUBAGENTS = """
    select parent_uid, uid from sessions
    where relation = 'subagent' and parent_uid is not null order by uid
"""

_REPOS = "select distinct repo from sessions where repo is not null order by repo"
_FACTS = "select uid, title, relation, repo from sessions"


class Amount(msgspec.Struct, frozen=True):
    """An amount of money. ``unpriced_tokens`` are tokens of models without a price, which
    ``microdollars`` does not include."""

    microdollars: int = 0
    unpriced_tokens: int = 0

    @property
    def dollars(self) -> Decimal:
        return Decimal(self.microdollars) / MICRODOLLARS

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(
            self.microdollars + other.microdollars, self.unpriced_tokens + other.unpriced_tokens
        )


def session_amounts(
    store: Store, uids: Iterable[str] | None = None, overrides: OwnPrices | None = None
) -> dict[str, Amount]:
    """Return the cost of each session without its subagents; ``uids`` None means all sessions.

    A fork does not pay for copied history. ``overrides`` are prices to use instead of the user's
    own prices.
    """
    selected = store.sessions.uids() if uids is None else list(dict.fromkeys(uids))
    named = tuple(selected) if uids is not None and len(selected) <= NAMED_AT_ONCE else None
    found = dict.fromkeys(selected, Amount())
    for charge in charges(store, ("session",), UsageFilter(uids=named), own=overrides):
        (uid,) = charge.key
        if uid in found:
            found[uid] += Amount(charge.microdollars, charge.unpriced_tokens)
    return found


def tree_amounts(
    store: Store, uids: Iterable[str] | None = None, overrides: OwnPrices | None = None
) -> dict[str, Amount]:
    """Return the cost of each session with all its subagents; ``uids`` None means all sessions."""
    selected = store.sessions.uids() if uids is None else list(dict.fromkeys(uids))
    named = selected if uids is not None and len(selected) <= NAMED_AT_ONCE else None
    below = subagents(store, named)
    members = {uid: list(family(uid, below)) for uid in selected}
    own = session_amounts(store, {uid for some in members.values() for uid in some}, overrides)
    return {uid: sum((own[each] for each in some), Amount()) for uid, some in members.items()}


def subagents(store: Store, roots: Sequence[str] | None = None) -> dict[str, list[str]]:
    """Return the uids of each session's direct subagents, by the session's uid.

    With ``roots``, only these sessions and the subagents below them are looked at.
    """
    found: dict[str, list[str]] = {}
    rows = store.db.all(_SUBAGENTS) if roots is None else store.sessions.subagents_below(roots)
    for parent, uid in rows:
        found.setdefault(parent, []).append(uid)
    return found


def family(uid: str, below: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield a session and all subagents below it, each once, even if logs claim a circle.

    ``below`` are the direct subagents of each session.
    """
    seen, waiting = {uid}, [uid]
    while waiting:
        member = waiting.pop()
        yield member
        fresh = [child for child in below.get(member, ()) if child not in seen]
        seen.update(fresh)
        waiting += fresh


def known_repos(store: Store) -> list[str]:
    return [repo for (repo,) in store.db.all(_REPOS)]


def session_facts(store: Store) -> dict[str, dict[str, str | None]]:
    """Return the title, relation and repo of each session, by uid."""
    rows = store.db.all(_FACTS)
    return {uid: {"title": title, "relation": how, "repo": repo} for uid, title, how, repo in rows}
