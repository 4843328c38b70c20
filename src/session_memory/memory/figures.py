"""The methods of `Memory` for figures: cost, prices, budget, statistics, files and commands.

Each method returns a value of `session_memory.views`. Its ``to_dict()`` is what the command for it
prints with ``--json``; the command usually has the name of the method.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Unpack

from session_memory.core.choices import one_of
from session_memory.memory.arguments import (
    CostFilters,
    SessionFilters,
    UsageFilters,
    WorkFilters,
    Zone,
    period_of,
    refuse_unknown,
    time_zone,
)
from session_memory.memory.base import OpenMemory
from session_memory.memory.checks import checked_limit, maybe_text

if TYPE_CHECKING:
    from session_memory.core.schema import Session
    from session_memory.views.budget import Budget
    from session_memory.views.commands import CommandList
    from session_memory.views.cost import CostFilter, CostReport
    from session_memory.views.cost_comparison import CostComparison
    from session_memory.views.cost_prices import PriceRows
    from session_memory.views.files import FileList
    from session_memory.views.sessions import Filter
    from session_memory.views.stats import StatsReport


class FigureMethods(OpenMemory):
    """Methods of `Memory` that count and add up."""

    def cost(self, by: str = "day", **filters: Unpack[CostFilters]) -> "CostReport":
        """Report what was spent, by ``day``, ``week``, ``month``, ``block`` (five hours),
        ``model``, ``repo``, ``flavor``, ``session``, ``task``, ``commit``, ``branch`` or ``pr``.

        Filters are ``since``, ``until``, ``tz``, ``flavor``, ``repo``, ``model``, ``session`` and
        ``task``.
        """
        from session_memory.views.cost import GROUPINGS, cost_report

        refuse_unknown(filters, CostFilters)
        return cost_report(self.store, self._cost_filter(filters, one_of("by", by, GROUPINGS)))

    def prices(self, **filters: Unpack[UsageFilters]) -> "PriceRows":
        """List the prices of the models in the store, own prices included: as ``cost --prices``.

        Filters are those of `cost`, without ``task``.
        """
        from session_memory.views.cost_prices import price_rows

        refuse_unknown(filters, UsageFilters)
        return price_rows(self.store, self._cost_filter(filters))

    def cost_audit(self, **filters: Unpack[UsageFilters]) -> "CostComparison":
        """Compare the costs that agents logged for responses and sessions with our amounts.

        Filters are those of `cost`, without ``task``. `session(uid).audit()` explains the amounts
        of one session.
        """
        from session_memory.views.cost_comparison import compare_costs

        refuse_unknown(filters, UsageFilters)
        return compare_costs(self.store, self._cost_filter(filters))

    def _cost_filter(self, filters: UsageFilters | CostFilters, by: str = "day") -> "CostFilter":
        from session_memory.views.cost import CostFilter

        session, task = filters.get("session"), filters.get("task")
        return CostFilter(
            by=by,
            session=None if session is None else self._uid(session),
            task=maybe_text("task", task),
            **self._work(filters),
        )

    def budget(self, *, tz: Zone | None = None) -> "Budget":
        """Return the spending of today and this month, beside the limits in the configuration."""
        from session_memory.views.budget import budget

        return budget(self.store, self.config.budget, tz=time_zone(tz))

    def stats(
        self, *sections: str, limit: int = 10, **filters: Unpack[WorkFilters]
    ) -> "StatsReport":
        """Return statistics about the work with agents: all ``sections``, or those named.

        Filters are ``since``, ``until``, ``tz``, ``flavor``, ``repo`` and ``model``.
        """
        from session_memory.views.stats import SECTIONS, StatsFilter, statistics

        for section in sections:
            one_of("section", section, SECTIONS)
        refuse_unknown(filters, WorkFilters)
        wanted = StatsFilter(limit=checked_limit(limit), **self._work(filters))
        return statistics(self.store, wanted, sections or SECTIONS)

    def files(
        self,
        session: str | None = None,
        *,
        sort: str = "changed",
        limit: int = 0,
        **filters: Unpack[SessionFilters],
    ) -> "FileList":
        """List the files that sessions read, edited and wrote: those of one session with its
        subagents, or of all sessions that the filters admit.

        Filters are ``since``, ``until``, ``tz``, ``flavor``, ``host``, ``repo``, ``branch`` and
        ``model``. A named session that was evicted is read from the archive. Without a name,
        evicted sessions are left out, and ``evicted`` of the result counts them.
        """
        from session_memory.views.files import SORTS, list_files
        from session_memory.views.kept_files import all_files

        one_of("sort", sort, SORTS)
        if session is None and not any(value is not None for value in filters.values()):
            found = all_files(self.store, sort=sort, limit=checked_limit(limit))
            if found is not None:
                return found
        records = self._records(session, filters)
        return list_files(
            self.store,
            records,
            sort=sort,
            limit=checked_limit(limit),
            from_archive=session is not None,
        )

    def commands(
        self,
        session: str | None = None,
        *,
        state: str | None = None,
        text: str | None = None,
        limit: int = 0,
        **filters: Unpack[SessionFilters],
    ) -> "CommandList":
        """List the shell commands that one session with its subagents ran, or all sessions that
        the filters admit. ``state`` is ``ok``, ``failed`` or ``open``.

        Filters are those of `files`.
        """
        from session_memory.views.commands import list_commands
        from session_memory.views.sessions import session_uids

        if state is not None:
            one_of("state", state, ("ok", "failed", "open"))
        if session is None:
            uids: Iterable[str] = session_uids(self.store, self._filter(filters))
        else:
            uids = self._with_subagents(session, filters)
        part = maybe_text("text", text)
        return list_commands(
            self.store,
            uids,
            state=state,
            text=part,
            limit=checked_limit(limit),
            from_archive=session is not None,
        )

    def _records(self, session: str | None, filters: SessionFilters) -> "Iterator[Session]":
        """Return ``session`` with its subagents. If it is None, return all that match the filters.

        Raises if a session and filters are given.
        """
        from session_memory.views.sessions import each_session

        if session is None:
            return each_session(self.store, self._filter(filters))
        records = map(self.store.sessions.get, self._with_subagents(session, filters))
        return (record for record in records if record is not None)

    def _with_subagents(self, session: str, filters: SessionFilters) -> "Iterator[str]":
        from session_memory.core.errors import InvalidRecord
        from session_memory.views.calls import with_subagents
        from session_memory.views.sessions import Filter

        if self._filter(filters) != Filter():
            hint = "Leave out the session, or the filters."
            raise InvalidRecord("give a session or filters, not both", hint, field="session")
        return with_subagents(self.store, self._uid(session))

    def _filter(self, filters: SessionFilters) -> "Filter":
        from session_memory.views.sessions import Filter

        refuse_unknown(filters, SessionFilters)
        work = self._work(filters)
        del work["tz"]
        host, branch = (maybe_text(name, filters.get(name)) for name in ("host", "branch"))
        return Filter(host=host, branch=branch, **work)

    def _work(self, filters: WorkFilters) -> dict[str, Any]:
        """Return the filters that all figures have, as the views take them."""
        from session_memory.views.known_names import check_flavors

        tz = filters.get("tz")
        period = period_of(filters.get("since"), filters.get("until"), tz)
        texts = {name: maybe_text(name, filters.get(name)) for name in ("flavor", "repo", "model")}
        check_flavors(self.store, texts["flavor"])
        return {"since": period.since, "until": period.until, "tz": time_zone(tz), **texts}
