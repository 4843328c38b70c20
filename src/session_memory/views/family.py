"""The family of a session: what it was forked from, its forks, subagents and abandoned branches.

Every session has its tokens and cost, alone and with its subagents.
"""

from typing import Any

import msgspec

from session_memory.core.errors import UnknownSession
from session_memory.core.schema import Cost, Session
from session_memory.pricing import Amount, session_amounts, tree_amounts
from session_memory.store import Store
from session_memory.views.session import children_of
from session_memory.views.session_titles import best_titles

DEEPEST = 100


class AbandonedBranch(msgspec.Struct, frozen=True):
    """The events that one rewind left behind. Their responses are part of the session's cost."""

    branch: str
    events: int
    first_seq: int
    output_tokens: int


class FamilyNode(msgspec.Struct, frozen=True):
    """A session in the tree. ``own`` is its cost, ``total`` its cost with subagents. ``title`` is
    the best name there is; the JSON has the session's own title."""

    session: Session
    title: str
    own: Amount
    total: Amount
    tokens: Cost
    branches: list[AbandonedBranch]
    children: list["FamilyNode"]

    def to_dict(self) -> dict[str, Any]:
        session = self.session
        return {
            "session_uid": session.session_uid,
            "relation": session.relation,
            "title": session.title,
            "model": session.model,
            "started_at": session.started_at,
            "ended_at": session.ended_at,
            "turns": session.cost.turns,
            "tokens": _buckets(session.cost),
            "total_tokens": _buckets(self.tokens),
            "own": msgspec.to_builtins(self.own),
            "total": msgspec.to_builtins(self.total),
            "branches": msgspec.to_builtins(self.branches),
            "children": [child.to_dict() for child in self.children],
        }

    def every(self) -> "list[FamilyNode]":
        found: list[FamilyNode] = []
        waiting = [self]
        while waiting:
            node = waiting.pop()
            found.append(node)
            waiting += reversed(node.children)
        return found


class FamilyTree(msgspec.Struct, frozen=True):
    """The tree of a family of sessions. ``root`` is the first session of the family in the store,
    ``asked`` the uid that the user gave."""

    root: FamilyNode
    asked: str
    left_out: int = 0
    """How many sessions are not in the tree, because they are more than 100 levels deep."""

    @property
    def amount(self) -> Amount:
        return sum((node.own for node in self.root.every()), Amount())

    def to_dict(self) -> dict[str, Any]:
        return {
            "asked": self.asked,
            "root": self.root.to_dict(),
            "sessions": len(self.root.every()),
            "amount": msgspec.to_builtins(self.amount),
            **({"left_out": self.left_out} if self.left_out else {}),
        }


def family(store: Store, uid: str) -> FamilyTree:
    root = _root(store, uid)
    sessions, left_out = _below(store, root)
    uids = [session.session_uid for session, _ in sessions.values()]
    own, total = session_amounts(store, uids), tree_amounts(store, uids)
    titles = best_titles(store, uids)

    def node(one: str) -> FamilyNode:
        session, children = sessions[one]
        row = store.sessions.row(one)
        branches = store.events.branches(row.id) if row else []
        below = [node(child) for child in children]
        tokens = session.cost
        for child in below:
            if child.session.relation == "subagent":
                tokens = tokens + child.tokens
        return FamilyNode(
            session=session,
            title=titles[one],
            own=own[one],
            total=total[one],
            tokens=tokens,
            branches=[AbandonedBranch(*one) for one in branches],
            children=below,
        )

    return FamilyTree(node(root.session_uid), uid, left_out)


def _root(store: Store, uid: str) -> Session:
    session = store.sessions.get(uid)
    if session is None:
        raise UnknownSession(uid)
    seen = {uid}
    while session.parent_uid is not None and session.parent_uid not in seen:
        seen.add(session.parent_uid)
        parent = store.sessions.get(session.parent_uid)
        if parent is None:
            break
        session = parent
    return session


def _below(store: Store, root: Session) -> tuple[dict[str, tuple[Session, list[str]]], int]:
    """Return every session below ``root`` once, to a limited depth, with the uids of its children.

    The second value is the number of sessions that are deeper.
    """
    found: dict[str, tuple[Session, list[str]]] = {}
    seen = {root.session_uid}
    waiting, deepest = [(root, 0)], list[str]()
    while waiting:
        session, depth = waiting.pop()
        if depth >= DEEPEST:
            deepest.append(session.session_uid)
        children = [] if depth >= DEEPEST else children_of(store, session.session_uid)
        new = [child for child in children if child.session_uid not in seen]
        seen.update(child.session_uid for child in new)
        found[session.session_uid] = (session, [child.session_uid for child in new])
        waiting += [(child, depth + 1) for child in new]
    while deepest:
        children_uids = [uid for uid in store.sessions.children(deepest.pop()) if uid not in seen]
        seen.update(children_uids)
        deepest += children_uids
    return found, len(seen) - len(found)


_BUCKETS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def _buckets(cost: Cost) -> dict[str, int]:
    return {name: getattr(cost, name) for name in _BUCKETS}
