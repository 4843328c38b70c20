"""Finding sessions: by what they are, by words, by likeness, by an error or a task.

Each method returns a value of `session_memory.views`, whose ``to_dict()`` is what the command of
the same name prints with ``--json``.
"""

from typing import TYPE_CHECKING

from session_memory.core.time import now_ms
from session_memory.memory.arguments import (
    Dollars,
    Names,
    When,
    Zone,
    checked_limit,
    microdollars,
    names,
    one_of,
    period_of,
)
from session_memory.memory.base import OpenMemory, without_secrets
from session_memory.memory.query import SessionQuery
from session_memory.memory.session import StoredSession

if TYPE_CHECKING:
    from session_memory.views.fixes import Remedies
    from session_memory.views.how import HowDone
    from session_memory.views.search import Results
    from session_memory.views.similar import Similar


class FindingMethods(OpenMemory):
    """Methods of `Memory` that find sessions and events."""

    def sessions(
        self,
        *,
        since: When | None = None,
        until: When | None = None,
        tz: Zone | None = None,
        flavor: str | None = None,
        host: str | None = None,
        repo: str | None = None,
        domain: str | None = None,
        branch: str | None = None,
        model: str | None = None,
        outcome: str | None = None,
        title: str | None = None,
        parent: str | None = None,
        roots: bool = False,
        folded: bool = False,
        min_cost: Dollars | None = None,
        sort: str = "newest",
        limit: int = 0,
    ) -> SessionQuery:
        """Sessions that match every filter. They are read while you iterate.

        ``flavor``, ``host``, ``repo``, ``domain`` and ``branch`` are names or patterns
        (``web*``); ``model`` and ``title`` match anywhere. ``roots`` leaves subagents out,
        ``folded`` only those whose parent is among the answers.
        ``min_cost`` is in dollars that the session used itself. ``limit`` 0 means all.
        """
        from session_memory.views.sessions import SORTS, Filter

        period = period_of(since, until, tz)
        wanted = Filter(
            flavor=flavor,
            host=host,
            repo=repo,
            domain=domain,
            branch=branch,
            model=model,
            outcome=outcome,
            text=title,
            parent=None if parent is None else self._uid(parent),
            roots=roots,
            folded=folded,
            since=period.since,
            until=period.until,
            min_cost=microdollars(min_cost),
        )
        return SessionQuery(
            self.store, wanted, sort=one_of("sort", sort, SORTS), limit=checked_limit(limit)
        )

    def session(self, uid: str) -> StoredSession:
        """The session with this uid or native id. A beginning is enough if only one session has
        it; so is a title."""
        return StoredSession.of(self.store, self._uid(uid))

    def search(
        self,
        text: str = "",
        *,
        since: When | None = None,
        until: When | None = None,
        tz: Zone | None = None,
        flavor: Names | None = None,
        repo: Names | None = None,
        model: Names | None = None,
        kind: Names | None = None,
        tool: Names | None = None,
        file: Names | None = None,
        outcome: Names | None = None,
        branch: Names | None = None,
        session: Names | None = None,
        where: Names | None = None,
        limit: int = 20,
    ) -> "Results":
        """Events that have all words of ``text``, the best first. ``limit`` 0 means all.

        Each filter takes one name or several; an event passes if it has one of them. ``where`` is
        ``title``, ``message``, ``summary``, ``call`` or ``output``.
        """
        from session_memory.core.errors import InvalidRecord
        from session_memory.search import Filters
        from session_memory.search.filters import TITLE
        from session_memory.store.index import CLASSES
        from session_memory.views.search import search

        for one in names(where):
            one_of("where", one, (TITLE, *CLASSES))
        period = period_of(since, until, tz)
        filters = Filters(
            since=period.since,
            until=period.until,
            flavors=names(flavor),
            repos=names(repo),
            models=names(model),
            kinds=names(kind),
            tools=names(tool),
            files=names(file),
            outcomes=names(outcome),
            branches=names(branch),
            sessions=tuple(self._uid(one) for one in names(session)),
            classes=names(where),
        )
        if not text.strip() and filters == Filters():
            hint = "Give words, or a filter such as kind='error'."
            raise InvalidRecord("the search has no words and no filter", hint, field="text")
        self._complete_index()
        return search(self.store, text, filters, now=now_ms(), limit=checked_limit(limit))

    def similar(
        self, session: str | None = None, *, text: str | None = None, limit: int = 10
    ) -> "Similar":
        """Sessions like a session, or like a text. Give one of the two."""
        from session_memory.core.errors import InvalidRecord
        from session_memory.views.similar import similar_to_session, similar_to_text

        self._complete_index()
        if session is not None and text is None:
            uid = self._uid_or_hint(session)
            return similar_to_session(self.store, uid, checked_limit(limit))
        if text is not None and session is None:
            return similar_to_text(self.store, text, checked_limit(limit))
        hint = "Write memory.similar(uid) or memory.similar(text=...)."
        raise InvalidRecord("give a session or a text", hint, field="session")

    def _uid_or_hint(self, session: str) -> str:
        from session_memory.core.errors import UnknownSession

        try:
            return self._uid(session)
        except UnknownSession as error:
            error.hint = f"{error.hint} For sessions like a text: memory.similar(text=...)."
            raise

    def fix(self, error: str, *, limit: int = 5) -> "Remedies":
        """How this error was resolved before: the edit or the command, and in which session."""
        from session_memory.views.fixes import remedies

        self._complete_index()
        return without_secrets(
            remedies(self.store, error, now=now_ms(), limit=checked_limit(limit))
        )

    def how(self, task: str, *, repo: str | None = None, limit: int = 5) -> "HowDone":
        """Sessions that did a task like this, with the commands and files that mattered."""
        from session_memory.views.how import how_done

        self._complete_index()
        return without_secrets(
            how_done(self.store, task, now=now_ms(), repo=repo, limit=checked_limit(limit))
        )
