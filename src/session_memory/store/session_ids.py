"""Find sessions by parts of their ids, by their titles, and by the names that people gave them.

Ids are found by their beginnings, through the index of ``uid``, so few other rows are read. Both
databases compare ids byte by byte.
"""

from collections.abc import Iterable, Iterator, Sequence

from session_memory.store.database import Database
from session_memory.store.session_pages import like_literal

# The character after ":". All ids that begin with "x:" are from "x:" up to "x;".
AFTER_COLON = ";"
# Less and greater than any character of an id.
FIRST, LAST = "\x01", "\x7f"
# Greater than any character of a title.
LAST_OF_ALL = "\U0010ffff"

_DIRECTORIES = "select distinct cwd from sessions where cwd is not null order by cwd"
_NEXT = "select min(uid) from sessions where uid >= :start"
_WITHIN = "select uid from sessions where uid >= :low and uid < :high order by uid limit :most"
_COUNTED = "select count(*) from sessions where uid >= :low and uid < :high"
_LIKE = """
    select uid from sessions
    where uid >= :low and uid < :high and uid like :pattern escape '\\' order by uid
"""
_BEFORE = "select uid from sessions where uid < :place order by uid desc limit :most"
_AFTER = "select uid from sessions where uid >= :place order by uid limit :most"
_KNOWN = "select uid from sessions where uid in ({keys})"
# As in the index `sessions_by_title`.
_TITLE, TITLE_LENGTH = "substr(lower(title), 1, 100)", 100
_TITLED = f"""
    select uid, coalesce(ended_at, 0), lower(title) = :title as is_exact from sessions
    where {_TITLE} >= :low and {_TITLE} <= :high and lower(title) like :begins escape '\\'
        and (relation is null or relation <> 'subagent')
    order by is_exact desc, ended_at desc nulls last, uid limit :most
"""
# The databases know only the capital letters of ASCII, so other titles are compared in Python.
_NOT_ASCII = """
    select uid, coalesce(ended_at, 0), title from sessions
    where octet_length(title) <> length(title) and (relation is null or relation <> 'subagent')
    order by ended_at desc nulls last, uid
"""
# A name that a person gave is shown in place of the title. A subagent can have one, too.
_NAMED = """
    select s.uid, coalesce(s.ended_at, 0), g.name from given_names g
    join sessions s on s.uid = g.session_uid
"""
_BELOW = "(select max(uid) from sessions where uid >= {least} and uid < {place})"
_ABOVE = "(select min(uid) from sessions where uid >= {place} and uid < {most})"
PROBES_AT_ONCE = 100


class SessionIds:
    def __init__(self, db: Database) -> None:
        self._db = db

    def directories(self) -> list[str]:
        """The working directories of all sessions."""
        return [cwd for (cwd,) in self._db.all(_DIRECTORIES)]

    def flavors(self) -> list[str]:
        """The flavors of which there are sessions, found by stepping from one to the next."""
        found: list[str] = []
        start = ""
        while (uid := self._db.value(_NEXT, {"start": start})) is not None:
            found.append(str(uid).partition(":")[0])
            start = found[-1] + AFTER_COLON
        return found

    def known(self, uids: Iterable[str]) -> list[str]:
        """Those of ``uids`` that are in the store."""
        return sorted(row[0] for row in self._db.matching(_KNOWN, sorted(set(uids))))

    def within(self, low: str, high: str, most: int) -> list[str]:
        """The first uids from ``low`` on that come before ``high``."""
        return [row[0] for row in self._db.all(_WITHIN, {"low": low, "high": high, "most": most})]

    def count_within(self, low: str, high: str) -> int:
        return int(self._db.value(_COUNTED, {"low": low, "high": high}))

    def beginning(self, parent: str, own: str) -> list[str]:
        """Subagents whose uid begins with ``parent`` and whose own part begins with ``own``."""
        return self.split(parent, f":{own}")

    def split(self, start: str, later: str) -> list[str]:
        """The uids that begin with ``start`` and contain ``later`` anywhere after that."""
        pattern = f"{like_literal(start)}%{like_literal(later)}%"
        given = {"low": start, "high": start + LAST, "pattern": pattern}
        return [row[0] for row in self._db.all(_LIKE, given)]

    def around(self, place: str, most: int) -> list[str]:
        """The uids next to where ``place`` is or would be, at most ``most`` on either side."""
        given = {"place": place, "most": most}
        before = [row[0] for row in self._db.all(_BEFORE, given)]
        return [*reversed(before), *(row[0] for row in self._db.all(_AFTER, given))]

    def neighbours(self, ranges: Sequence[tuple[str, str, str, str]]) -> list[tuple[str, str]]:
        """Find the uids next to each gap. A gap is ``(least, below, above, most)``.

        The result for a gap has two uids: the last one with ``least <= uid < below``, and the first
        one with ``above <= uid < most``. Either is ``""`` if there is no such uid.
        """
        found: list[tuple[str, str]] = []
        for start in range(0, len(ranges), PROBES_AT_ONCE):
            given: dict[str, str] = {}
            parts = []
            for place, (least, below, above, most) in enumerate(
                ranges[start : start + PROBES_AT_ONCE]
            ):
                keys = {f"l{place}": least, f"b{place}": below, f"a{place}": above}
                given |= {**keys, f"m{place}": most}
                before = _BELOW.format(least=f":l{place}", place=f":b{place}")
                after = _ABOVE.format(place=f":a{place}", most=f":m{place}")
                parts.append(f"select {place} as n, {before} as b, {after} as a")
            sql = f"select b, a from ({' union all '.join(parts)}) as probes order by n"
            found += [(row[0] or "", row[1] or "") for row in self._db.all(sql, given)]
        return found

    def titled(self, text: str, most: int) -> list[str]:
        """The uids of sessions with the title or name ``text``, the newest first.

        If there are none, of those whose title or name begins with ``text``. A subagent counts only
        if a person named it. Upper and lower case count as equal (``str.casefold``). Titles with
        letters outside of ASCII have no index. They are compared only if ``text`` has such letters
        too, or if nothing else fits.
        """
        title = text.casefold()
        found = [*self._titled_in_ascii(title, most), *self._beginning_with(title, _NAMED)]
        if not (found and text.isascii()):
            found += self._beginning_with(title, _NOT_ASCII)
        # A session can be in two of these lists: the first also has titles in scripts without
        # capital letters.
        ended = {uid: end for uid, end, is_exact in found if is_exact}
        ended = ended or {uid: end for uid, end, _ in found}
        return sorted(ended, key=lambda uid: (-ended[uid], uid))[:most]

    def _titled_in_ascii(self, title: str, most: int) -> list[tuple[str, int, bool]]:
        """The uid, the end, and whether the whole title is the same, for sessions in the index of
        titles."""
        low = title[:TITLE_LENGTH]
        given = {"title": title, "low": low, "high": low + LAST_OF_ALL, "most": most}
        rows = self._db.all(_TITLED, {**given, "begins": f"{like_literal(title)}%"})
        return [(uid, ended, bool(is_exact)) for uid, ended, is_exact in rows]

    def _beginning_with(self, title: str, sql: str) -> Iterator[tuple[str, int, bool]]:
        """The same for sessions whose text in the third column of ``sql`` begins with ``title``."""
        for uid, ended, other in self._db.each(sql):
            if (folded := other.casefold()).startswith(title):
                yield uid, ended, folded == title
