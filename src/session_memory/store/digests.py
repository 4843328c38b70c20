"""The results of analyses: digests, error fingerprints, signals. They stay if logs are evicted.

One transaction replaces all rows of a session and records the revision that was analyzed.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from session_memory.core.text import escaped
from session_memory.core.time import MAX_MS, MIN_MS
from session_memory.store.figure_marks import mark_outcome
from session_memory.store.kept_answers import note_digests
from session_memory.store.row_values import storable
from session_memory.store.zstandard import compressed, zstd

if TYPE_CHECKING:
    from session_memory.store.database import Database, Row


LEVEL = 3


class AnalysisVersion(msgspec.Struct, frozen=True):
    """The analysis code: a hash of its source, and a number that grows with releases and, within
    a release, with the time when the source was changed."""

    code: str
    release: int


class _DigestVersion(msgspec.Struct, frozen=True):
    """The code and the prices that some digests were made with; ``digests`` is their number.

    Its methods test the same conditions as `_IS_OUTDATED` and `_HAS_OTHER_PRICES`, which are SQL.
    """

    analysis: str
    release: int
    prices: str
    digests: int

    def is_outdated(self, by: AnalysisVersion) -> bool:
        if self.release == by.release:
            return self.analysis < by.code
        return self.release < by.release and self.analysis != by.code

    def has_other_prices(self, version: AnalysisVersion, prices: str) -> bool:
        is_same = self.analysis == version.code and self.release <= version.release
        return self.prices != prices and (is_same or self.is_outdated(version))


class DigestRow(msgspec.Struct):
    """A row of ``digests``; `packed_body` makes its ``body``. Times are milliseconds."""

    session_uid: str
    version: int
    revision: int
    prices: str
    flavor: str
    repo: str | None
    relation: str | None
    outcome: str
    started_at: int | None
    ended_at: int | None
    tokens: int
    microdollars: int
    unpriced_tokens: int
    basis: str
    directives: str
    analysis: str = ""
    analysis_release: int = 0
    body: bytes = b""


class ErrorRow(msgspec.Struct):
    """An error of a session. ``resolution`` is the kind of change that resolved it, or None."""

    session_uid: str
    fingerprint: str
    tool: str | None
    count: int
    sample: str
    event_uid: str
    tokens: int
    resolution: str | None
    resolved_by: str


class SignalRow(msgspec.Struct):
    """A row of ``signals``. ``evidence`` is a JSON list of event_uids."""

    session_uid: str
    place: int
    flavor: str
    repo: str | None
    type: str
    polarity: str
    locus: str
    magnitude: int
    detail: str
    tokens: int
    microdollars: int
    basis: str
    evidence: str
    at: int | None


class UnanalyzedSession(msgspec.Struct, frozen=True):
    """A session that has to be analyzed, with its revision and its number of events."""

    id: int
    uid: str
    revision: int
    events: int


_DIGEST = DigestRow.__struct_fields__
# The columns before the body. To read a column after the body, SQLite reads the whole body.
_BRIEF = _DIGEST[: _DIGEST.index("analysis")]
_STORED = f"select {', '.join(_DIGEST)} from digests order by session_uid"
_ERROR = ErrorRow.__struct_fields__
_SIGNAL = SignalRow.__struct_fields__
# Whether older analysis code made a digest. All versions have an order. So of two installations
# that share a store, only the newer one makes the digests of the other again.
_IS_OUTDATED = """
    (d.analysis_release < :release and d.analysis <> :code
        or d.analysis_release = :release and d.analysis < :code)
"""
_HAS_OTHER_PRICES = f"""
    (d.prices <> :prices
        and ({_IS_OUTDATED} or d.analysis = :code and d.analysis_release <= :release))
"""
# An evicted session cannot be read, so its digest stays as it is.
_OF_UNREAD = f"""
    from sessions s left join digests d on d.session_uid = s.uid
    where s.evicted_at is null and s.stale = 0
        and (d.revision is null or d.revision <> s.revision or {_IS_OUTDATED}
            or {_HAS_OTHER_PRICES} or s.analyzed_revision is null
            or s.analyzed_revision <> s.revision)
"""
_UNREAD = f"select s.id, s.uid, s.revision, s.event_count {_OF_UNREAD} order by s.id"
# A digest and the ``analyzed_revision`` of its session are written in one transaction. So sessions
# that changed can be counted without a look at their digests.
_COUNT_CHANGED = """
    select count(*) from sessions
    where evicted_at is null and stale = 0
        and (analyzed_revision is null or analyzed_revision <> revision)
"""
_VERSIONS = """
    select analysis, analysis_release, prices, count(*) from digests
    group by analysis, analysis_release, prices
"""
# Few sessions are evicted, stale or changed, and indexes find them. So it is fast to count all
# digests of a version and to subtract those of such sessions.
_OF_EXCEPTIONS = """
    select count(*) from sessions s cross join digests d
    where {exceptions} and d.session_uid = s.uid and d.analysis = :analysis
        and d.analysis_release = :release and d.prices = :prices
"""
_EVICTED = "s.evicted_at is not null"
_STALE = "s.stale = 1 and s.evicted_at is null"
_CHANGED = """
    s.evicted_at is null and (s.analyzed_revision is null or s.analyzed_revision <> s.revision)
    and s.stale = 0
"""
_WAITING = """
    select count(*) from sessions
    where evicted_at is null and (analyzed_revision is null or analyzed_revision <> revision)
"""
_IS_OUTDATED_ONE = f"select 1 from digests d where d.session_uid = :uid and {_IS_OUTDATED}"
_UNREAD_OF = """
    select s.id, s.uid, s.revision, s.event_count from sessions s
    where s.evicted_at is null and s.uid in ({keys})
"""
_KNOWN = """
    select d.revision from sessions s left join digests d on d.session_uid = s.uid
    where s.uid = :uid
"""
_USED = """
    select seq, model, input_tokens + cache_read_tokens + cache_write_tokens, output_tokens
    from usage where owner_id = :session order by seq, usage_id
"""
_BODY = "select body from digests where session_uid = :uid"
_FORGET = tuple(
    f"delete from {table} where session_uid = :uid"
    for table in ("digests", "error_fingerprints", "signals")
)
_ANALYZED = """
    update sessions set outcome = :outcome, outcome_evidence = :evidence, analyzed_at = :now,
        analyzed_revision = :revision
    where uid = :uid
"""
# Two conditions, because an index finds only the sessions whose end is known. The rows are not
# sorted here: to save the sorting, SQLite would read all digests in the order of their uids.
_BRIEFS = f"""
    select {", ".join(_BRIEF)} from digests where ended_at >= :since and ended_at < :until
    union all
    select {", ".join(_BRIEF)} from digests
    where ended_at is null and coalesce(started_at, 0) >= :since
        and coalesce(started_at, 0) < :until
"""
_ALL_BRIEFS = f"select {', '.join(_BRIEF)} from digests order by session_uid"
_ERRORS = f"select {', '.join(_ERROR)} from error_fingerprints order by session_uid, event_uid"
_LAST_WITH = """
    select {column}, max(session_uid) from error_fingerprints where fingerprint = :fingerprint
    group by {column}
"""
_SESSIONS_WITH = """
    select distinct e.session_uid, s.repo, coalesce(s.ended_at, 0) from error_fingerprints e
    join sessions s on s.uid = e.session_uid where e.fingerprint in ({keys})
"""
_SIGNALS = f"select {', '.join(_SIGNAL)} from signals order by session_uid, place"
_SIGNALS_OF = f"select {', '.join(_SIGNAL)} from signals where session_uid in ({{keys}})"
_ERRORS_OF = f"select {', '.join(_ERROR)} from error_fingerprints where session_uid in ({{keys}})"
MANY_NAMED = 10_000
"""If a caller asks for more sessions than this, all rows are read and others are skipped."""
_COUNT = "select count(*) from digests"


class Digests:
    def __init__(self, db: "Database") -> None:
        self._db = db

    def unanalyzed(self, version: AnalysisVersion, prices: str) -> list[UnanalyzedSession]:
        """Sessions that have to be analyzed.

        Their digest is missing or outdated, or it was made at another revision or with other
        prices. A digest that a later version made at the present revision is left alone, whatever
        its prices.
        """
        given = {"code": version.code, "release": version.release, "prices": prices}
        return [UnanalyzedSession(*row) for row in self._db.all(_UNREAD, given)]

    def count_unanalyzed(self, version: AnalysisVersion, prices: str) -> int:
        """How many sessions have to be analyzed."""
        changed = int(self._db.value(_COUNT_CHANGED))
        outdated = [
            one
            for one in self._versions()
            if one.is_outdated(version) or one.has_other_prices(version, prices)
        ]
        return changed + self._count_without(outdated, _EVICTED, _STALE, _CHANGED)

    def outdated(self, version: AnalysisVersion) -> int:
        """The number of digests made by older analysis code, without those of evicted sessions."""
        outdated = [one for one in self._versions() if one.is_outdated(version)]
        return self._count_without(outdated, _EVICTED)

    def _versions(self) -> "list[_DigestVersion]":
        return [_DigestVersion(*row) for row in self._db.all(_VERSIONS)]

    def _count_without(self, versions: "list[_DigestVersion]", *exceptions: str) -> int:
        """Count the digests of these versions, without those of sessions in ``exceptions``.

        Each exception is a condition in SQL on the session ``s``.
        """
        number = 0
        for one in versions:
            given = {"analysis": one.analysis, "release": one.release, "prices": one.prices}
            number += one.digests - sum(
                int(self._db.value(_OF_EXCEPTIONS.format(exceptions=which), given))
                for which in exceptions
            )
        return number

    def count_waiting(self) -> int:
        """The number of sessions that are new or changed since their analysis."""
        return int(self._db.value(_WAITING))

    def is_outdated(self, uid: str, version: AnalysisVersion) -> bool:
        """Whether older analysis code made the session's digest."""
        given = {"uid": uid, "code": version.code, "release": version.release}
        return self._db.value(_IS_OUTDATED_ONE, given) is not None

    def readable(self, uids: Sequence[str]) -> list[UnanalyzedSession]:
        """The sessions with these uids, whether analyzed or not, except evicted ones."""
        rows = [
            UnanalyzedSession(*row)
            for row in self._db.matching(_UNREAD_OF, list(dict.fromkeys(uids)))
        ]
        return sorted(rows, key=lambda row: row.id)

    def save(
        self,
        row: DigestRow,
        errors: Iterable[ErrorRow],
        signals: Iterable[SignalRow],
        *,
        evidence: str,
        now: int,
    ) -> bool:
        """Replace all rows of a session. Call this inside a transaction.

        False if the session was forgotten since it was read. Then nothing is written.
        """
        known = self._db.one(_KNOWN, {"uid": row.session_uid})
        if known is None:
            return False
        if known[0] is not None:
            self.forget(row.session_uid)
        self._db.insert("digests", _DIGEST, [_values(row)])
        self._db.insert("error_fingerprints", _ERROR, map(_values, errors))
        self._db.insert("signals", _SIGNAL, map(_values, signals))
        given = {"outcome": row.outcome, "evidence": escaped(evidence), "uid": row.session_uid}
        self._db.execute(_ANALYZED, {**given, "now": now, "revision": row.revision})
        mark_outcome(self._db, row.session_uid)
        note_digests(self._db)
        return True

    def used(self, session_id: int) -> "list[Row]":
        """``(seq, model, context, output)`` of each response whose tokens count for a session."""
        return self._db.all(_USED, {"session": session_id})

    def forget(self, uid: str) -> None:
        """Delete all rows of a session. Call this inside a transaction."""
        for statement in _FORGET:
            self._db.execute(statement, {"uid": uid})
        note_digests(self._db)

    def body(self, uid: str) -> bytes | None:
        """The digest's JSON, or None if the session was never analyzed."""
        packed = self._db.value(_BODY, {"uid": uid})
        return None if packed is None else zstd.decompress(packed)

    def stored(self) -> Iterator[tuple[DigestRow, bytes]]:
        """Every digest without its body, together with the compressed body."""
        for row in self._db.each(_STORED):
            values = dict(zip(_DIGEST, row, strict=True))
            body = values.pop("body")
            yield DigestRow(**values), body

    def briefs(self, since: int, until: int) -> Iterator[DigestRow]:
        """Read the digests of sessions that ended from ``since`` until before ``until``, by uid.

        If a session's end is unknown, its start counts. Bodies and versions of the analysis code
        are left out.
        """
        if (since, until) == (MIN_MS, MAX_MS):
            rows: Iterable[Row] = self._db.each(_ALL_BRIEFS)
        else:
            rows = sorted(self._db.all(_BRIEFS, {"since": since, "until": until}))
        return (DigestRow(*row) for row in rows)

    def errors(self, uids: Collection[str] | None = None) -> Iterator[ErrorRow]:
        """Every error of these sessions, or of all, ordered by session and event."""
        if uids is None or len(uids) > MANY_NAMED:
            rows: Iterable[Row] = self._db.each(_ERRORS)
        else:
            rows = sorted(self._db.matching(_ERRORS_OF, list(uids)), key=_by_session_and_event)
        return (ErrorRow(*row) for row in rows if uids is None or row[0] in uids)

    def last_with(self, column: str, fingerprint: str) -> dict[str, str]:
        """Map each value that a column of an error has to one of the sessions with this value.

        ``column`` is ``sample`` or ``resolved_by``. Of several sessions, the last uid in
        alphabetical order is taken.
        """
        rows = self._db.all(_LAST_WITH.format(column=column), {"fingerprint": fingerprint})
        return {row[0]: row[1] for row in rows}

    def sessions_with(
        self, fingerprints: Sequence[str], repos: Collection[str] | None = None
    ) -> list[str]:
        """The uids of the sessions with one of these errors, the newest first. If ``repos`` are
        given, their sessions come before all others."""
        rows = {uid: row for uid, *row in self._db.matching(_SESSIONS_WITH, list(fingerprints))}

        def order(uid: str) -> tuple[bool, int, str]:
            repo, ended = rows[uid]
            return repos is not None and repo not in repos, -ended, uid

        return sorted(rows, key=order)

    def signals(self, uids: Collection[str] | None = None) -> Iterator[SignalRow]:
        """Yield the signals of these sessions, or of all, by session and in the stored order."""
        if uids is None or len(uids) > MANY_NAMED:
            rows: Iterable[Row] = self._db.each(_SIGNALS)
        else:
            rows = sorted(self._db.matching(_SIGNALS_OF, list(uids)), key=lambda row: row[:2])
        return (SignalRow(*row) for row in rows if uids is None or row[0] in uids)

    def count(self) -> int:
        return int(self._db.value(_COUNT))


def packed_body(body: bytes) -> bytes:
    """The JSON of a digest as it is stored. Packing takes long: do it before the transaction."""
    return compressed(body, LEVEL)


def _by_session_and_event(row: "Row") -> tuple[str, str]:
    return row[0], row[_ERROR.index("event_uid")]


def _values(row: msgspec.Struct) -> list[Any]:
    return list(storable(row).values())
