"""Questions to the store: finding sessions, what they cost, and what can be learned from them.

Each method returns a value of `session_memory.views`, whose ``to_dict()`` is what the command of
the same name prints with ``--json``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from session_memory.core.schema import Session
from session_memory.core.time import now_ms
from session_memory.memory.arguments import (
    Dollars,
    Names,
    SessionFilters,
    When,
    Zone,
    end_of,
    microdollars,
    names,
    one_of,
    start_of,
    time_zone,
)
from session_memory.memory.base import OpenMemory, without_secrets
from session_memory.memory.query import SessionQuery
from session_memory.memory.session import StoredSession

if TYPE_CHECKING:
    from session_memory.views.budget import Budget
    from session_memory.views.commands import CommandList
    from session_memory.views.cost import CostReport
    from session_memory.views.cost_prices import PriceRows
    from session_memory.views.files import FileList
    from session_memory.views.fixes import Remedies
    from session_memory.views.how import HowDone
    from session_memory.views.learning import PatternList
    from session_memory.views.lessons import LessonList
    from session_memory.views.search import Results
    from session_memory.views.similar import Similar
    from session_memory.views.skills import SkillList
    from session_memory.views.stats import StatsReport


class Questions(OpenMemory):
    """What can be asked of a store."""

    # ------------------------------------------------------------ sessions

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
        min_cost: Dollars | None = None,
        sort: str = "newest",
        limit: int = 0,
    ) -> SessionQuery:
        """Sessions that have all of this, read when they are iterated over.

        ``flavor``, ``host``, ``repo``, ``domain`` and ``branch`` are names or patterns
        (``web*``); ``model`` and ``title`` match anywhere. ``roots`` leaves subagents out.
        ``min_cost`` is in dollars that the session used itself. ``limit`` 0 means all.
        """
        from session_memory.views.sessions import SORTS, Filter

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
            since=start_of(since, tz),
            until=end_of(until, tz),
            min_cost=microdollars(min_cost),
        )
        return SessionQuery(self.store, wanted, sort=one_of("sort", sort, SORTS), limit=limit)

    def session(self, uid: str) -> StoredSession:
        """The session with this uid, native id, or beginning of either that only it has."""
        return StoredSession.of(self.store, self._uid(uid))

    # ------------------------------------------------------------ finding

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
        filters = Filters(
            since=start_of(since, tz),
            until=end_of(until, tz),
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
            raise InvalidRecord("there is nothing to look for", hint, field="text")
        self._complete_index()
        return search(self.store, text, filters, now=now_ms(), limit=limit)

    def similar(
        self, session: str | None = None, *, text: str | None = None, limit: int = 10
    ) -> "Similar":
        """Sessions like a session, or like a text. Give one of the two."""
        from session_memory.core.errors import InvalidRecord
        from session_memory.views.similar import similar_to_session, similar_to_text

        self._complete_index()
        if session is not None and text is None:
            return similar_to_session(self.store, self._uid(session), limit)
        if text is not None and session is None:
            return similar_to_text(self.store, text, limit)
        hint = "Write memory.similar(uid) or memory.similar(text=...)."
        raise InvalidRecord("give a session or a text", hint, field="session")

    def fix(self, error: str, *, limit: int = 5) -> "Remedies":
        """How this error was resolved before: the edit or the command, and in which session."""
        from session_memory.views.fixes import remedies

        self._complete_index()
        return without_secrets(remedies(self.store, error, now=now_ms(), limit=limit))

    def how(self, task: str, *, repo: str | None = None, limit: int = 5) -> "HowDone":
        """Sessions that did a task like this, with the commands and files that mattered."""
        from session_memory.views.how import how_done

        self._complete_index()
        return without_secrets(how_done(self.store, task, now=now_ms(), repo=repo, limit=limit))

    # ------------------------------------------------------------ figures

    def cost(
        self,
        by: str = "day",
        *,
        since: When | None = None,
        until: When | None = None,
        tz: Zone | None = None,
        flavor: str | None = None,
        repo: str | None = None,
        model: str | None = None,
        session: str | None = None,
    ) -> "CostReport":
        """What was spent, by ``day``, ``week``, ``month``, ``block``, ``model``, ``repo``,
        ``flavor`` or ``session``. A ``session`` takes its subagents along."""
        from session_memory.views.cost import GROUPINGS, CostFilter, cost_report

        wanted = CostFilter(
            by=one_of("by", by, GROUPINGS),
            since=start_of(since, tz),
            until=end_of(until, tz),
            tz=time_zone(tz),
            flavor=flavor,
            repo=repo,
            model=model,
            session=None if session is None else self._uid(session),
        )
        return cost_report(self.store, wanted)

    def prices(
        self,
        *,
        since: When | None = None,
        until: When | None = None,
        tz: Zone | None = None,
        flavor: str | None = None,
        repo: str | None = None,
        model: str | None = None,
        session: str | None = None,
    ) -> "PriceRows":
        """The prices of the models in the store, own ones included: as ``cost --prices``."""
        from session_memory.views.cost import CostFilter
        from session_memory.views.cost_prices import price_rows

        wanted = CostFilter(
            since=start_of(since, tz),
            until=end_of(until, tz),
            flavor=flavor,
            repo=repo,
            model=model,
            session=None if session is None else self._uid(session),
        )
        return price_rows(self.store, wanted)

    def budget(self, *, tz: Zone | None = None) -> "Budget":
        """What is left of the limits in the configuration."""
        from session_memory.views.budget import budget

        return budget(self.store, self.config.budget, tz=time_zone(tz))

    def stats(
        self,
        *sections: str,
        since: When | None = None,
        until: When | None = None,
        tz: Zone | None = None,
        flavor: str | None = None,
        repo: str | None = None,
        model: str | None = None,
        limit: int = 10,
    ) -> "StatsReport":
        """Figures about the work: all sections, or those that are named."""
        from session_memory.views.stats import SECTIONS, StatsFilter, statistics

        for section in sections:
            one_of("section", section, SECTIONS)
        wanted = StatsFilter(
            flavor=flavor,
            repo=repo,
            model=model,
            since=start_of(since, tz),
            until=end_of(until, tz),
            tz=time_zone(tz),
            limit=limit,
        )
        return statistics(self.store, wanted, sections or SECTIONS)

    def files(
        self,
        session: str | None = None,
        *,
        sort: str = "changed",
        limit: int = 0,
        **filters: Unpack[SessionFilters],
    ) -> "FileList":
        """The files that sessions read, edited and wrote: of one session with its subagents, or
        of all that the filters admit."""
        from session_memory.views.files import SORTS, list_files

        one_of("sort", sort, SORTS)
        records = self._records(session, filters)
        return list_files(self.store, records, sort=sort, limit=limit)

    def commands(
        self,
        session: str | None = None,
        *,
        state: str | None = None,
        text: str | None = None,
        limit: int = 0,
        **filters: Unpack[SessionFilters],
    ) -> "CommandList":
        """The shell commands that sessions ran: of one session with its subagents, or of all that
        the filters admit. ``state`` is ``ok``, ``failed`` or ``open``."""
        from session_memory.views.commands import list_commands

        if state is not None:
            one_of("state", state, ("ok", "failed", "open"))
        records = self._records(session, filters)
        return list_commands(self.store, records, state=state, text=text, limit=limit)

    def _records(self, session: str | None, filters: SessionFilters) -> "Iterator[Session]":
        """One session with its subagents; without one, the sessions that the filters admit."""
        from session_memory.core.errors import InvalidRecord
        from session_memory.views.calls import with_subagents
        from session_memory.views.sessions import Filter, each_session

        wanted = Filter(
            flavor=filters.get("flavor"),
            host=filters.get("host"),
            repo=filters.get("repo"),
            branch=filters.get("branch"),
            model=filters.get("model"),
            since=start_of(filters.get("since"), filters.get("tz")),
            until=end_of(filters.get("until"), filters.get("tz")),
        )
        if session is None:
            return each_session(self.store, wanted)
        if wanted != Filter():
            raise InvalidRecord("give a session or filters, not both", field="session")
        uids = with_subagents(self.store, self._uid(session))
        records = (self.store.sessions.get(uid) for uid in uids)
        return (record for record in records if record is not None)

    # ------------------------------------------------------------ what was learned

    def patterns(
        self,
        *,
        since: When | None = None,
        until: When | None = None,
        tz: Zone | None = None,
        repo: str | None = None,
        type: str | None = None,
        polarity: str | None = None,
        limit: int = 0,
    ) -> "PatternList":
        """What goes wrong or right in many analyzed sessions, the most important first."""
        from session_memory.views.learning import list_patterns

        listing = list_patterns(
            self.store,
            since=start_of(since, tz),
            until=end_of(until, tz),
            repo=repo,
            kind=type,
            polarity=polarity,
            limit=limit,
        )
        return without_secrets(listing)

    def lessons(
        self, *, status: str | None = None, directory: str | Path | None = None
    ) -> "LessonList":
        """The lessons in the folder of the configuration, or in another directory."""
        from session_memory.views.lessons import applied_of, lessons_of, list_lessons

        place = None if directory is None else Path(directory).expanduser()
        lessons = lessons_of(self.store, self.config, place)
        return without_secrets(list_lessons(lessons, applied_of(self.store), self.store, status))

    def skills(
        self, skill: str | None = None, *, model: str | None = None, windows: Names | None = None
    ) -> "SkillList":
        """How often skills pass, and which model to use for each."""
        from session_memory.live.skill_rates import ALWAYS
        from session_memory.views.skills import list_skills

        spans = names(windows) or (ALWAYS,)
        return list_skills(self.store, windows=spans, skill=skill, model=model)
