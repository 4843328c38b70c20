"""Find the commit, branch or pull request that a cost belongs to, from the session's log.

What a session used up to a commit belongs to that commit. What it used after its last commit
belongs to none. The cost of a subagent belongs to the place where its parent started it.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property

from session_memory.derive.bodies import Bodies
from session_memory.derive.detecting import logged_commits
from session_memory.pricing.amounts import Charge
from session_memory.store import Store
from session_memory.store.hits import Hit, Hits, HitSession
from session_memory.store.index import CALL, OUTPUT, event_of
from session_memory.store.session_links import SessionLink, call_places, session_links
from session_memory.store.word_query import QueryWord, WordQuery

LINKED = ("branch", "commit", "pr")
_DEEPEST = 20
# `gh pr create`, `glab mr create`, and tools such as `create_pull_request`.
_OPENING = (("pr", "create"), ("mr", "create"), ("create", "pull", "request"))
_PULL = re.compile(r"https?://[\w.-]+/([\w.-]+/[\w.-]+)/(?:pull|merge_requests)/(\d{1,9})\b")


class CostLinks:
    """Names the commit, branch or pull request of a charge. It reads what it needs only once."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def naming(self, by: str) -> Callable[[Charge], str | None]:
        """Return a function that names the ``by`` of a charge: its branch, pr or commit.

        The charge needs the key ``session``, for commits also ``seq``. The result may be None.
        """
        if by == "branch":
            return lambda charge: self._branch(str(charge.key[0]))
        if by == "pr":
            return lambda charge: self._pulls.get(self._root(str(charge.key[0])))
        return self._commit

    # ------------------------------------------------------------ branches and pull requests

    @cached_property
    def _links(self) -> dict[str, SessionLink]:
        return session_links(self._store.db)

    def _root(self, uid: str) -> str:
        """Return the topmost session: the one that started this subagent, directly or not."""
        for _ in range(_DEEPEST):
            link = self._links.get(uid)
            if link is None or link.relation != "subagent" or link.parent_uid not in self._links:
                break
            uid = link.parent_uid
        return uid

    def _branch(self, uid: str) -> str | None:
        link = self._links.get(self._root(uid))
        if link is None or not link.branch:
            return None
        return f"{link.repo} {link.branch}" if link.repo else link.branch

    @cached_property
    def _pulls(self) -> dict[str, str]:
        """The pull request of each session: the last one that it or its subagents opened, else one
        that another session opened for the same branch, unless that is a main branch."""
        own: dict[str, str] = {}
        for uid, text in self._opening_results():
            if found := list(_PULL.finditer(text)):
                own[self._root(uid)] = f"{found[-1][1]}#{found[-1][2]}"
        of_branch: dict[str, str] = {}
        for uid, name in own.items():
            if (branch := self._branch(uid)) is not None and not _is_main(branch):
                of_branch.setdefault(branch, name)
        named = {uid: of_branch.get(self._branch(uid) or "") for uid in self._links}
        return {**{uid: name for uid, name in named.items() if name}, **own}

    def _opening_results(self) -> Iterator[tuple[str, str]]:
        """Yield the uid and the output of each call that opens a pull request.

        Other calls are left out, because they may print the address of any pull request.
        """
        events, bodies = self._store.events, Bodies(self._store)
        calls: dict[int, list[str]] = defaultdict(list)
        found, names = self._found(CALL, *_OPENING)
        for hit in found:
            calls[hit.session_id].append(hit.call_id or "")
        for session, asked in calls.items():
            uid = names[session].uid
            for seq, *_ in events.results_of(session, asked).values():
                if (event := events.at(session, uid, seq)) is not None:
                    yield uid, bodies.of(event).text

    # ------------------------------------------------------------ commits

    def _commit(self, charge: Charge) -> str | None:
        uid, seq = str(charge.key[0]), charge.key[1]
        for _ in range(_DEEPEST):
            link = self._links.get(uid)
            if link is None or link.relation != "subagent" or link.parent_uid is None:
                break
            seq = self._spawned.get((link.parent_uid, link.spawn_call_id or ""))
            uid = link.parent_uid
        commits = self._commits.get(uid, [])
        if seq is None or not commits:
            return None
        place = bisect_left(commits, (seq, ""))
        return commits[place][1] if place < len(commits) else None

    @cached_property
    def _spawned(self) -> dict[tuple[str, str], int]:
        """The seq of each call that started a subagent, by ``(parent's uid, call id)``."""
        calls = {link.spawn_call_id for link in self._links.values() if link.spawn_call_id}
        return call_places(self._store.db, sorted(calls))

    @cached_property
    def _commits(self) -> dict[str, list[tuple[int, str]]]:
        """``(seq, name)`` of every commit, in order, by the uid of its session."""
        found: dict[str, list[tuple[int, str]]] = defaultdict(list)
        # A commit prints "[main 1a2b3c4] subject" and "2 files changed".
        for uid, seq, text in self._outputs(("file", "changed"), ("files", "changed")):
            for sha, subject in logged_commits(text):
                found[uid].append((seq, f"{sha} {subject}"))
        return {uid: sorted(some) for uid, some in found.items()}

    def _outputs(self, *asked: tuple[str, ...]) -> Iterator[tuple[str, int, str]]:
        """Yield ``(uid, seq, text)`` of each output with all words of one of ``asked``."""
        bodies = Bodies(self._store)
        found, names = self._found(OUTPUT, *asked)
        for hit in found:
            text = bodies.at(hit.source, hit.place, hit.length, hit.block).text
            yield names[hit.session_id].uid, hit.seq, text

    def _found(
        self, text_class: int, *asked: tuple[str, ...]
    ) -> tuple[list[Hit], dict[int, HitSession]]:
        """Return the events with all words of one of ``asked``, in order, and their sessions."""
        docs: set[int] = set()
        for words in asked:
            query = WordQuery(tuple((QueryWord(word),) for word in words))
            docs |= set(self._store.index.find(query, text_class=text_class))
        hits = Hits(self._store.db, self._store.names)
        found = hits.of(list(map(event_of, docs))).values()
        names = hits.sessions_of(list({hit.session_id for hit in found}))
        return sorted(found, key=lambda hit: (hit.session_id, hit.seq)), names


def _is_main(branch: str) -> bool:
    return branch.rpartition(" ")[2] in ("main", "master", "trunk", "develop")
