"""Find the edits in the logs that may have written a line.

The search index gives the calls that have the words. Then these calls are read from the logs.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from posixpath import normpath

from msgspec.structs import replace

from session_memory.core.changes import Change
from session_memory.core.index_words import vocabulary
from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.derive.agents import changes_asked, changes_noted
from session_memory.derive.bodies import Bodies
from session_memory.derive.detecting import command_of
from session_memory.derive.raw_records import RawRecords, place_of
from session_memory.store import Store
from session_memory.store.hits import Hit, Hits, HitSession
from session_memory.store.index import CALL, event_of
from session_memory.store.word_query import QueryWord, WordQuery
from session_memory.views.current_repository import CurrentRepository
from session_memory.views.payloads import decoded
from session_memory.views.why.replay import LoggedEdit
from session_memory.views.why.shell_writes import shell_writes

MOST_EDITS = 2000
_MOST_WORDS = 24
# Results in which agents say that a file is new.
_CREATED = lazy_pattern(
    r"\b(?:file created|created (?:file|new|and wrote|successfully)|(?:wrote|to) new file)\b", re.I
)
_WAS_THERE = lazy_pattern(r"\b(?:updated|overwr\w+|overwrote|replaced|exist(?:s|ed|ing))\b", re.I)


class LoggedEdits:
    """The edits of all sessions that worked in one repository."""

    def __init__(self, store: Store, repository: CurrentRepository) -> None:
        self._store = store
        self._repository = repository
        self._hits = Hits(store.db, store.names)
        self._bodies, self._records = Bodies(store), RawRecords(store)
        self._sessions: dict[int, HitSession] = {}

    def of_file(self, path: str) -> list[LoggedEdit]:
        """Return the edits of a file, the oldest first. ``path`` is relative to the repository.

        Calls that failed, or that have no result, are left out.
        """
        found = self._found(path)
        return sorted((one for one in found if one.path == path), key=lambda one: one.ts)

    def with_text(self, text: str) -> list[LoggedEdit]:
        """Return edits of any file of the repository whose call has all words of ``text``, the
        oldest first."""
        return sorted(self._found(text), key=lambda one: one.ts)

    def _found(self, text: str) -> Iterator[LoggedEdit]:
        words = list(vocabulary(text))[:_MOST_WORDS]
        if not words:
            return
        query = WordQuery(tuple((QueryWord(word),) for word in words))
        docs = self._store.index.find(query, text_class=CALL, limit=MOST_EDITS)
        hits = [hit for hit in self._hits.of(list(map(event_of, docs))).values() if _is_edit(hit)]
        self._load({hit.session_id for hit in hits} - self._sessions.keys())
        hits = [hit for hit in hits if self._is_here(hit)]
        results = self._results(hits)
        for hit in hits:
            if (result := results.get((hit.session_id, hit.call_id))) is not None:
                yield from self._edits(hit, result)

    def _load(self, ids: Iterable[int]) -> None:
        self._sessions.update(self._hits.sessions_of(list(ids)))

    def _is_here(self, hit: Hit) -> bool:
        session = self._sessions.get(hit.session_id)
        if session is None:
            return False
        root = str(self._repository.root)
        below = (session.cwd or "") == root or (session.cwd or "").startswith(f"{root}/")
        return below or session.repo in self._repository.names

    def _results(self, hits: list[Hit]) -> dict[tuple[int, str | None], int]:
        """Return the seq of the result of each call that succeeded."""
        calls: dict[int, list[str]] = defaultdict(list)
        for hit in hits:
            calls[hit.session_id].append(hit.call_id or "")
        return {
            (session, call): seq
            for session, asked in calls.items()
            for call, (seq, _, _, is_error, _) in self._store.events.results_of(
                session, asked
            ).items()
            if not is_error
        }

    def _edits(self, hit: Hit, result: int) -> Iterator[LoggedEdit]:
        session = self._sessions[hit.session_id]
        body = self._bodies.at(hit.source, hit.place, hit.length, hit.block)
        asked = changes_asked(session.uid, body.arguments, body.text, hit.path)
        is_command = all(change.action == "command" for change in asked)
        if is_command:
            command = command_of(hit.tool or "", body.arguments)
            asked = list(shell_writes(command)) if command and "<<" in command else []
        for change in asked:
            path = self._inside(change.moved_to or change.path, session)
            if path is not None and change.action != "command":
                if change.action == "write" and not is_command:
                    change = self._with_result(change, session, result)
                yield LoggedEdit(
                    session.uid, hit.event_uid, hit.seq, hit.ts or 0, path, change, is_command
                )

    def _with_result(self, change: Change, session: HitSession, result: int) -> Change:
        """Add to a change that wrote a whole file what the result of the call says: whether the
        file was there before, and with which lines."""
        event = self._store.events.at(session.id, session.uid, result)
        if event is None:
            return change
        record = decoded(self._records.at(place_of(event)))
        for noted in changes_noted(session.uid, record):
            if noted.path == change.path and noted.content is not None:
                return replace(change, action=noted.action, before=noted.before)
        is_new = _CREATED.search(event.summary) and not _WAS_THERE.search(event.summary)
        return replace(change, action="create") if is_new else change

    def _inside(self, path: str, session: HitSession) -> str | None:
        """Return a logged path relative to the repository; None if it is outside.

        The session may have worked in another checkout of the repository.
        """
        if not path.startswith("/"):
            return normpath(path)
        for place in filter(None, (str(self._repository.root), session.cwd)):
            if path.startswith(f"{place}/"):
                return normpath(path[len(place) + 1 :])
        for name in self._repository.names:
            _, found, below = path.rpartition(f"/{name.rpartition('/')[2]}/")
            if found:
                return normpath(below)
        return None


def _is_edit(hit: Hit) -> bool:
    return "edit" in hit.kinds and "tool_call" in hit.kinds
