"""The methods of `Memory` that find sessions: by properties, words, likeness, an error or a task.

``to_dict()`` of an answer is what the command for it prints with ``--json``; the command usually
has the name of the method.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from session_memory.core.choices import one_of
from session_memory.core.time import now_ms
from session_memory.memory.arguments import (
    Dollars,
    Names,
    TimeSpan,
    When,
    Zone,
    microdollars,
    period_of,
)
from session_memory.memory.base import OpenMemory, without_secrets
from session_memory.memory.checks import (
    a_flag,
    a_path,
    a_text,
    checked_limit,
    maybe_count,
    maybe_text,
    names,
)
from session_memory.memory.query import SessionQuery
from session_memory.memory.session import StoredSession

if TYPE_CHECKING:
    from session_memory.search import Filters
    from session_memory.views.fixes import Remedies
    from session_memory.views.how import HowDone
    from session_memory.views.search import Results
    from session_memory.views.similar import Similar
    from session_memory.views.tasks import TaskList
    from session_memory.views.why.answer import Why, WhyWholeCommit


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
        task: str | None = None,
        roots: bool = False,
        folded: bool = False,
        min_cost: Dollars | None = None,
        sort: str = "newest",
        limit: int = 0,
    ) -> SessionQuery:
        """Find the sessions that match every filter. They are read while you iterate.

        ``flavor``, ``host``, ``repo``, ``domain`` and ``branch`` are names or patterns
        (``web*``); ``model`` and ``title`` match anywhere. ``task`` is ``shop#12``, ``#12`` or
        ``SHOP-12``. ``roots`` leaves out all subagents. ``folded`` leaves out subagents whose
        parent is among the answers; of several subagents of a parent that is not in the store, only
        the newest is returned. ``min_cost`` is in dollars, without subagents. ``limit`` 0 means
        all.
        """
        from session_memory.core.schema import OUTCOMES
        from session_memory.views.known_names import check_flavors
        from session_memory.views.sessions import SORTS, Filter

        period = period_of(since, until, tz)
        if outcome is not None:
            one_of("outcome", outcome, sorted(OUTCOMES))
        wanted = Filter(
            flavor=maybe_text("flavor", flavor),
            host=maybe_text("host", host),
            repo=maybe_text("repo", repo),
            domain=maybe_text("domain", domain),
            branch=maybe_text("branch", branch),
            model=maybe_text("model", model),
            outcome=outcome,
            text=maybe_text("title", title),
            parent=None if parent is None else self._uid(parent),
            task=maybe_text("task", task),
            roots=a_flag("roots", roots),
            folded=a_flag("folded", folded),
            since=period.since,
            until=period.until,
            min_cost=microdollars(min_cost),
        )
        check_flavors(self.store, wanted.flavor)
        return SessionQuery(
            self.store, wanted, sort=one_of("sort", sort, SORTS), limit=checked_limit(limit)
        )

    def tasks(
        self, *, task: str | None = None, repo: str | None = None, limit: int = 0
    ) -> "TaskList":
        """List the issues, pull requests and tickets that sessions worked on, with their sessions
        and cost, the newest first. ``limit`` 0 means all."""
        from session_memory.views.tasks import list_tasks

        name, of_repo = maybe_text("task", task), maybe_text("repo", repo)
        return list_tasks(self.store, task=name, repo=of_repo, limit=checked_limit(limit))

    def session(self, uid: str) -> StoredSession:
        """Return the session with this uid, native id or title. The beginning of one is enough if
        only one session has it."""
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
        widen: bool = True,
        typed: bool = False,
    ) -> "Results":
        """Find events that have all words of ``text``, the best first. ``limit`` 0 means all.

        Each filter takes one name or several; an event passes if it has one of them. ``where`` is
        ``title``, ``message``, ``summary``, ``call`` or ``output``. If a word does not occur,
        longer words that contain it are searched, unless ``widen`` is false. ``typed``: somebody is
        still typing, so the last word may be the beginning of a word.
        """
        from session_memory.core.errors import InvalidRecord
        from session_memory.search import Filters
        from session_memory.search.filters import TITLE
        from session_memory.store.index import CLASSES
        from session_memory.views.search import search

        words, classes = a_text("text", text), names("where", where)
        for one in classes:
            one_of("where", one, (TITLE, *CLASSES))
        filters = msgspec.structs.replace(
            _session_filters(period_of(since, until, tz), flavor, repo, model, outcome, branch),
            kinds=names("kind", kind),
            tools=names("tool", tool),
            files=names("file", file),
            sessions=tuple(self._uid(one) for one in names("session", session)),
            classes=classes,
        )
        if not words.strip() and filters == Filters():
            hint = "Give words, or a filter such as kind='error'."
            raise InvalidRecord("the search has no words and no filter", hint, field="text")
        most = checked_limit(limit)
        self._complete_index()
        return search(
            self.store, words, filters, now=now_ms(), limit=most, widen=widen, typed=typed
        )

    def search_sessions(
        self,
        text: str,
        *,
        since: When | None = None,
        until: When | None = None,
        tz: Zone | None = None,
        flavor: Names | None = None,
        repo: Names | None = None,
        model: Names | None = None,
        outcome: Names | None = None,
        branch: Names | None = None,
        limit: int = 10,
    ) -> "Similar":
        """Find sessions about ``text``, the best first. Its words may be in different messages and
        in other forms, and synonyms count too. ``limit`` 0 means all."""
        from session_memory.views.similar import search_sessions

        period = period_of(since, until, tz)
        filters = _session_filters(period, flavor, repo, model, outcome, branch)
        words, most = a_text("text", text), checked_limit(limit)
        self._complete_index()
        return search_sessions(self.store, words, filters, most)

    def similar(
        self, session: str | None = None, *, text: str | None = None, limit: int = 10
    ) -> "Similar":
        """Find sessions that are similar to a session or to a text. Give one of the two."""
        from session_memory.core.errors import InvalidRecord
        from session_memory.views.similar import similar_to_session, similar_to_text

        most, words = checked_limit(limit), maybe_text("text", text)
        self._complete_index()
        if session is not None and words is None:
            return similar_to_session(self.store, self._uid_or_hint(session), most)
        if words is not None and session is None:
            return similar_to_text(self.store, words, most)
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
        """Find how this error was resolved before: by which edit or command, in which session."""
        from session_memory.views.fixes import remedies

        message, most = a_text("error", error), checked_limit(limit)
        self._complete_index()
        return without_secrets(remedies(self.store, message, now=now_ms(), limit=most))

    def how(self, task: str, *, repo: str | None = None, limit: int = 5) -> "HowDone":
        """Find sessions that did a task like this, with the commands and files that mattered."""
        from session_memory.views.how import how_done

        words, of_repo, most = a_text("task", task), maybe_text("repo", repo), checked_limit(limit)
        self._complete_index()
        return without_secrets(how_done(self.store, words, repo=of_repo, limit=most))

    def why(self, path: str | Path, first: int | None = None, last: int | None = None) -> "Why":
        """Find the sessions, prompts and edits that wrote lines of a file in a git checkout.

        ``first`` and ``last`` are line numbers from 1. Without them, all lines are looked at.
        """
        from session_memory.views.why.answer import why_lines

        begin, end = maybe_count("first", first), maybe_count("last", last)
        self._complete_index()
        place = a_path("path", path).absolute()
        return without_secrets(why_lines(self.store, place, begin, end))

    def why_commit(self, name: str, directory: str | Path = ".") -> "WhyWholeCommit":
        """Find the sessions that wrote a commit's lines. ``directory`` is in its repository."""
        from session_memory.views.why.answer import why_commit

        place, named = a_path("directory", directory).absolute(), a_text("name", name)
        self._complete_index()
        return without_secrets(why_commit(self.store, place, named))


def _session_filters(
    period: TimeSpan,
    flavor: Names | None,
    repo: Names | None,
    model: Names | None,
    outcome: Names | None,
    branch: Names | None,
) -> "Filters":
    """Return a filter with the conditions that are about whole sessions."""
    from session_memory.search import Filters

    return Filters(
        since=period.since,
        until=period.until,
        flavors=names("flavor", flavor),
        repos=names("repo", repo),
        models=names("model", model),
        outcomes=names("outcome", outcome),
        branches=names("branch", branch),
    )
