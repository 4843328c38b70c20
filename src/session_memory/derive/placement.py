"""Find the parents of subagents and forks, and how deeply subagents are nested."""

from collections.abc import Iterable
from typing import Any

from session_memory.adapters.registry import agent_or_substitute
from session_memory.core.ids import make_uid
from session_memory.derive.facts import facts_of, origin_is_logged, parent_uid
from session_memory.store.session_links import add_link, links_to
from session_memory.store.sessions import CollectedSession
from session_memory.store.store import Store

DEEPEST = 100


class Placement:
    """Finds the parent of sessions by their documents, their logs, and where their files lie."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def place(self, row: CollectedSession, parent: str | None) -> None:
        """Set the parent and the relation of a session. ``parent`` is the parent in the path of its
        file.

        A session whose events were settled without this knowledge becomes stale.
        """
        facts, before = facts_of(row), (row.parent_uid, row.relation)
        relation = facts.get("relation", "subagent")
        parent = parent or facts.get("below")
        if not parent and "relation" in facts and relation == "subagent":
            parent = facts.get("parent") or self._linking_parent(row)
        if relation != "subagent" and facts.get("parent"):
            uid = parent_uid(row, facts, facts["parent"])
            # A log may claim that a session is its own parent.
            if uid != row.uid:
                row.parent_uid, row.relation = uid, relation
        elif parent:
            self._place_subagent(row, facts, parent)
        elif relation == "subagent" and "relation" in facts:
            # The log says that the session is a subagent, but not of which session. Set no parent:
            # one that is inferred from copied records would be wrong.
            row.parent_uid, row.relation, row.spawn_depth = None, relation, 0
        if (row.parent_uid, row.relation) == before:
            return
        is_another = (row.relation == "subagent") != (before[1] == "subagent")
        if row.has_shared or (is_another and row.event_count):
            row.stale = 1

    def place_again(self, row: CollectedSession) -> None:
        """Place a subagent after its parent's log was read. That log may name the call that started
        the subagent."""
        self.place(row, (row.parent_uid or "").partition(":")[2])

    def _linking_parent(self, row: CollectedSession) -> str | None:
        """The session whose log names this one as its subagent."""
        links = [uid for uid, _ in links_to(self._store.db, row.uid) if uid != row.uid]
        return links[0].partition(":")[2] if links else None

    def _place_subagent(self, row: CollectedSession, facts: dict[str, Any], parent: str) -> None:
        """Make a session a subagent of the parent that its document names; else of the session
        whose log names it; else of the session in its path."""
        links = [link for link in links_to(self._store.db, row.uid) if link[0] != row.uid]
        by_document = make_uid(row.flavor, row.native_id)
        if facts.get("parent"):
            by_document = parent_uid(row, facts, facts["parent"])
        by_log = links[0][0] if links else make_uid(row.flavor, parent)
        uid = by_log if by_document == row.uid else by_document
        if uid == row.uid:
            return
        row.relation, row.parent_uid = "subagent", uid
        row.spawn_call_id = facts.get("spawn_call_id") or (links[0][1] if links else None)
        row.spawn_depth = facts.get("spawn_depth") or self._depth_below(uid)

    def _depth_below(self, uid: str) -> int:
        parent = self._store.sessions.row(uid)
        if parent is not None and parent.relation == "subagent":
            return min(parent.spawn_depth + 1, DEEPEST)
        # The uid of a subagent without an id of its own has three parts.
        return 2 if uid.count(":") > 1 else 1

    def link_child(self, parent: CollectedSession, child: str, call_id: str) -> None:
        """Store that a call of ``parent`` started the subagent ``child``, and place the child."""
        uid = make_uid(parent.flavor, child)
        add_link(self._store.db, parent.id, uid, call_id)
        row = self._store.sessions.row(uid)
        if row is not None and row.relation == "subagent":
            self.place_again(row)
            self._store.sessions.save(row)

    def place_unlinked(self, uids: Iterable[str]) -> None:
        """Place subagents again that no log names any more.

        A fork names the calls that it copied, until the log of its origin is collected.
        """
        for uid in sorted(uids):
            row = self._store.sessions.row(uid)
            if row is None or row.relation != "subagent" or links_to(self._store.db, uid):
                continue
            call = row.spawn_call_id
            self.place_again(row)
            if row.spawn_call_id != call:
                self._store.sessions.save(row)

    def place_children(self, row: CollectedSession) -> None:
        """Update the depth of all subagents below ``row``, if ``row`` is a subagent itself."""
        if row.relation != "subagent":
            return
        for uid in self._store.sessions.subagents(row.uid):
            child = self._store.sessions.row(uid)
            if child is not None and child.spawn_depth < DEEPEST:
                depth = child.spawn_depth
                self.place_again(child)
                if child.spawn_depth != depth:
                    self._store.sessions.save(child)
                    self.place_children(child)


def infer_parent(row: CollectedSession, owner: CollectedSession) -> None:
    """Make ``row``, which copied history of ``owner``, a fork or a resumed session of ``owner``.

    A session whose origin is logged does not change.
    """
    if origin_is_logged(row):
        return
    row.parent_uid = owner.uid
    is_resume = agent_or_substitute(row.flavor).copies_are_resumes(row.agent_version or "")
    row.relation = "resume" if is_resume else "fork"
