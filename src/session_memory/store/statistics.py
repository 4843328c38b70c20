"""Statistics over events and usage, counted by the database. docs/stats.md defines each figure.

Each event and each response counts for one session, its owner. Times are grouped by quarters of an
hour, because the offset of every time zone is a multiple of a quarter of an hour.
"""

from collections.abc import Iterable, Iterator

from session_memory.store.database import Database, Row
from session_memory.store.statistics_parts import (
    CAP_MS,
    SHIFT,
    MomentPart,
    PeriodPart,
    QuarterPart,
    Scope,
    bands,
    is_among,
    is_one_of,
    kind_conditions,
)
from session_memory.store.statistics_sql import (
    CACHED,
    CALLED,
    DURATIONS,
    ENDED,
    FACETS,
    FILES,
    LONGEST,
    OUTCOME,
    PULSE,
    RETRIED,
    RETRYING,
    SESSIONS,
    SIZES,
    TESTS,
    TOOLS,
    USED,
    USED_MODELS,
    WAITS,
    WHO,
)


class Statistics:
    """Counts over everything in a `Scope`."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._kinds = kind_conditions(db)

    def facets(self) -> tuple[set[str], set[str], set[str]]:
        """Every flavor, repository and model in the store."""
        rows = self._db.all(FACETS)
        used = {str(row[0]) for row in self._db.all(USED_MODELS)}
        flavors, repos, models = ({row[n] for row in rows if row[n]} for n in range(3))
        return flavors, repos, models | used

    def sessions(self, scope: Scope) -> list[Row]:
        """Started sessions: ``(flavor, repo, quarter hour, sessions, subagent sessions)``."""
        return self._placed(SESSIONS, scope, 2)

    def pulse(self, scope: Scope) -> list[Row]:
        """Events: ``(flavor, repo, quarter hour, events, prompts, completions, calls, results,
        failed results, edits, retries, errors that are not results, events without a time)``.

        Completions are those of turns, not of subagents.
        """
        return self._placed(PULSE, scope, 2)

    def tools(self, scope: Scope) -> list[Row]:
        """Calls of tools: ``(tool, calls, results, failed results)``."""
        return self._all(TOOLS, scope)

    def durations(self, scope: Scope) -> Iterator[Row]:
        """The time of each result in ms: ``(tool, ms)``."""
        return self._each(DURATIONS, scope)

    def files(self, scope: Scope) -> list[Row]:
        """Edited files: ``(repo, path, edits, failed edits, sessions, last moment)``."""
        return self._all(FILES, scope)

    def names(self) -> list[str]:
        """Every name in the name table: of tools, kinds, roles, models and others."""
        return [str(name) for (name,) in self._db.all("select name from names")]

    def called(self, tools: Iterable[str], state: str | None) -> dict[str, int]:
        """Session uid → number of calls of these tools that ended in ``state`` (None: all)."""
        given: dict[str, object] = {}
        sql = CALLED.replace("{outcome_if_asked}", OUTCOME if state else "0")
        parts = {**self._parts(Scope(), given), "unless": "", "ended": ENDED[state]}
        parts["tools"] = is_among("name", tools, "tool", given)
        return {str(uid): int(calls) for uid, calls in self._db.all(sql.format_map(parts), given)}

    def tests(self, scope: Scope) -> list[Row]:
        """Test runs except refused ones: ``(flavor, repo, quarter hour, runs, passed, failed)``."""
        return self._placed(TESTS, scope, 2, unless="and not {human_intervention:r}")

    def retried(self, scope: Scope) -> list[Row]:
        """Calls that repeat a failed call: ``(tool, such calls, how many of them succeeded)``."""
        return self._all(RETRIED, scope)

    def sessions_with_retries(self, scope: Scope) -> int:
        return int(self._all(RETRYING, scope)[0][0])

    def waits(self, scope: Scope) -> list[Row]:
        """Waits: ``(flavor, repo, waited for, waits, ms up to the cap, ms beyond the cap)``."""
        return self._all(WAITS, scope, cap=CAP_MS)

    def used(self, scope: Scope) -> list[Row]:
        """Usage by model: ``(flavor, repo, model, responses, sessions, *token buckets)``."""
        return self._all(USED, scope)

    def cached(self, scope: Scope) -> list[Row]:
        """Cache use: ``(quarter hour, tokens read from a cache, all tokens sent)``."""
        return self._placed(CACHED, scope, 0)

    def contexts(self, scope: Scope) -> Iterator[Row]:
        """Context sizes in tokens: ``(what, tokens)``.

        ``what`` is an index into ``BANDS``, or ``PEAKS`` (the largest context of each session),
        ``STEPS`` (growth from one response to the next), or ``DROPS`` (how much a context shrank
        when it fell to less than half).
        """
        return self._each(SIZES, scope)

    def longest(self, scope: Scope, limit: int) -> list[Row]:
        """The longest sessions: ``(uid, title, flavor, repo, model, started_at, wall_clock_ms,
        turns, events, output_tokens)``."""
        return self._all(LONGEST, scope, limit=limit)

    # ------------------------------------------------------------ statements

    def _placed(self, sql: str, scope: Scope, place: int, unless: str = "") -> list[Row]:
        """Rows whose column ``place`` is the number of a quarter of an hour since 1970."""
        return [
            (*row[:place], None if row[place] is None else row[place] - SHIFT, *row[place + 1 :])
            for row in self._all(sql, scope, unless=unless)
        ]

    def _all(
        self, sql: str, scope: Scope, *, limit: int = 0, unless: str = "", **params: int
    ) -> list[Row]:
        return self._db.all(*self._filled(sql, scope, limit=limit, unless=unless, **params))

    def _each(self, sql: str, scope: Scope) -> Iterator[Row]:
        return self._db.each(*self._filled(sql, scope))

    def _filled(
        self, sql: str, scope: Scope, *, limit: int = 0, unless: str = "", **params: int
    ) -> tuple[str, dict[str, object]]:
        """Replace every ``{name}`` in a statement. Returns the SQL and its parameters."""
        limited = f"limit {int(limit)}" if limit else ""
        # In this order: what replaces one name may contain another name.
        for part, text in (
            ("{outcome}", OUTCOME),
            ("{who}", WHO),
            ("{unless}", unless),
            ("{limit}", limited),
            ("{bands}", bands()),
        ):
            sql = sql.replace(part, text)
        given: dict[str, object] = dict(params)
        return sql.format_map(self._parts(scope, given)), given

    def _parts(self, scope: Scope, given: dict[str, object]) -> dict[str, object]:
        """Placeholder → part of a statement. Their parameters are added to ``given``."""
        owners = [
            is_one_of("s.id", scope.ids),
            is_among("s.uid", scope.uids, "uid", given),
            is_among("s.flavor", scope.flavors, "flavor", given),
            is_among("s.repo", scope.repos, "repo", given),
        ]
        of_session = is_among("s.model", scope.models, "model", given)
        of_model = of_session.replace("s.model", "(select name from names where id = u.model)")
        return {
            **self._kinds,
            "sessions": " and ".join([*owners, of_session]),
            "owners": " and ".join(owners),
            "of_model": of_model,
            "of_response": of_model.replace("u.model", "p.model"),
            "within": PeriodPart(scope, given),
            "ended": "1 = 1" if scope.since is None else "s.ended_at >= :since",
            "quarter": QuarterPart(),
            "moment": MomentPart(),
        }
