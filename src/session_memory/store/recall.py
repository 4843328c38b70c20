"""The terms (stems of words, parts of names) of analyzed sessions, with their weights.

They can be read by session and by term, and stay when a session is evicted. Rows are replaced in
the transaction that stores the session's digest. The table ``recall_terms`` holds numbers of terms,
so it contains no text of a session.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from session_memory.store.zstandard import compressed, zstd

if TYPE_CHECKING:
    from session_memory.store.database import Database


LEVEL = 3
MOST_NUMBERS = 1 << 15
# A place is the number of a term, and in its lower bits the number of a session.
SESSION_BITS = 24
TERM_BITS = 63 - SESSION_BITS
_SESSION = (1 << SESSION_BITS) - 1

_STORED = "select id, terms from recall_sessions where session_uid = :uid"
_FORGET = "delete from recall_sessions where id = :id"
_FORGET_TERM = "delete from recall_terms where place = :place"
_FORGET_ALL = f"delete from recall_terms where (place & {_SESSION}) = :id"
_COUNT = "select count(*) from recall_sessions"
_COUNT_OF = "select count(*) from recall_terms where place >= :first and place <= :last"
_OF_TERM = "select place, weight from recall_terms where place >= :first and place <= :last"
_AT = "select place, weight from recall_terms where place in ({keys})"
_UIDS = "select id, session_uid from recall_sessions where id in ({keys})"
_PLACES = """
    select r.id, r.session_uid, coalesce(s.repo, '') from recall_sessions r
    join sessions s on s.uid = r.session_uid where r.id in ({keys})
"""
_NUMBERS = "select id, session_uid from recall_sessions where session_uid in ({keys})"
_SUBAGENTS = """
    select r.id, p.id from recall_sessions r
    left join recall_sessions p on p.session_uid = r.asked_by
    where r.asked_by is not null
"""
_SESSIONS = "select count(*) from sessions"
_ABSENT = """
    from sessions s
    where not exists (select 1 from recall_sessions r where r.session_uid = s.uid)
"""
_TITLES = f"""
    select s.uid, s.title, s.repo {_ABSENT} and s.title is not null and s.title <> ''
    order by s.ended_at desc, s.uid limit :most
"""
_EVICTED = f"select s.uid {_ABSENT} and s.evicted_at is not null order by s.uid"
_OF_REPO = """
    select r.id from recall_sessions r join sessions s on s.uid = r.session_uid
    where s.repo = :repo
"""
_DECODER = msgspec.json.Decoder(dict[str, int])


# The number of a session that has a term, and the weight of the term there.
Posting = tuple[int, int]


class SessionTerms(NamedTuple):
    """The terms of a session, ready to be stored: all of them packed, and the weight by number."""

    packed: bytes
    weights: dict[int, int]


def session_terms(terms: Mapping[str, int]) -> SessionTerms:
    """Pack terms and their weights for `Recall.save`. Call it before the transaction."""
    # Two terms with the same number are one term for the index.
    return SessionTerms(_packed(terms), {_numbers[term]: weight for term, weight in terms.items()})


class Recall:
    def __init__(self, db: "Database") -> None:
        self._db = db
        # The weights that `saving` writes at its end, by the number of the session.
        self._rows: dict[int, dict[int, int]] = {}

    @contextmanager
    def saving(self, transaction: AbstractContextManager[None]) -> Iterator[None]:
        """Open a transaction in which `save` can be called. The rows are written at its end.

        They are sorted first, so that the rows of one term are stored side by side.
        """
        with transaction:
            self._rows.clear()
            yield
            rows = [
                (term << SESSION_BITS | session, weight)
                for session, weights in self._rows.items()
                for term, weight in weights.items()
            ]
            rows.sort()
            self._db.insert("recall_terms", ("place", "weight"), rows)
            self._rows.clear()

    def save(self, uid: str, asked_by: str | None, terms: SessionTerms) -> None:
        """Replace the terms of a session. Call this inside `saving`.

        ``asked_by`` is the session that started a subagent.
        """
        self.forget(uid)
        columns = ("session_uid", "asked_by", "terms")
        number = self._db.insert_one("recall_sessions", columns, (uid, asked_by, terms.packed))
        self._rows[number] = terms.weights

    def forget(self, uid: str) -> None:
        """Delete the terms of a session. Call this inside a transaction."""
        found = self._db.one(_STORED, {"uid": uid})
        if found is None:
            return
        number, packed = found
        self._rows.pop(number, None)
        try:
            places = sorted({_place(term, number) for term in unpacked_terms(packed)})
            self._db.update_many(_FORGET_TERM, [{"place": place} for place in places])
        except (zstd.ZstdError, msgspec.MsgspecError):
            # The list of its terms is damaged, so every row has to be looked at.
            self._db.execute(_FORGET_ALL, {"id": number})
        self._db.execute(_FORGET, {"id": number})

    def count(self) -> int:
        """The number of sessions whose terms are stored."""
        return int(self._db.value(_COUNT))

    def terms_of(self, uid: str) -> dict[str, int] | None:
        """The terms of a session with their weights; None if it was never analyzed."""
        found = self._db.one(_STORED, {"uid": uid})
        return None if found is None else unpacked_terms(found[1])

    def is_whole(self, uid: str, terms: Mapping[str, int]) -> bool:
        """Whether the index has each of these terms for the session, with its weight."""
        number = self.numbers([uid]).get(uid)
        if number is None:
            return False
        rows = {_place(term, number): weight for term, weight in terms.items()}
        return dict(self._db.matching(_AT, sorted(rows))) == rows

    def count_of(self, term: str) -> int:
        """The number of sessions that have a term."""
        return int(self._db.value(_COUNT_OF, _range(term)))

    def of_term(self, term: str) -> list[Posting]:
        """All sessions that have a term, with its weight in each."""
        rows = self._db.all(_OF_TERM, _range(term))
        return [(place & _SESSION, weight) for place, weight in rows]

    def weights(self, term: str, sessions: Sequence[int]) -> list[Posting]:
        """Those of ``sessions`` that have a term, with its weight in each."""
        places = [_place(term, number) for number in sessions]
        rows = self._db.matching(_AT, places)
        return [(place & _SESSION, weight) for place, weight in rows]

    def uids(self, numbers: Sequence[int]) -> dict[int, str]:
        return dict(self._db.matching(_UIDS, list(numbers)))

    def places(self, numbers: Sequence[int]) -> dict[int, tuple[str, str]]:
        """For each session number, the uid and the repository, which is empty if there is none."""
        rows = self._db.matching(_PLACES, list(numbers))
        return {number: (uid, repo) for number, uid, repo in rows}

    def numbers(self, uids: Sequence[str]) -> dict[str, int]:
        return {uid: number for number, uid in self._db.matching(_NUMBERS, list(uids))}

    def subagents(self) -> dict[int, int | None]:
        """For each subagent the session that started it; None if that one is not analyzed."""
        return dict(self._db.all(_SUBAGENTS))

    def absent_titles(self, most: int, repo: str | None) -> list[tuple[str, str]]:
        """The uids and titles of the newest sessions whose terms are not stored."""
        if self._is_complete():
            return []
        rows = self._db.all(_TITLES, {"most": most})
        return [(uid, title) for uid, title, of_repo in rows if repo in (None, of_repo)]

    def absent_evicted(self) -> list[str]:
        """Evicted sessions whose terms are not stored.

        They were never analyzed, or an older release analyzed them.
        """
        return [] if self._is_complete() else [uid for (uid,) in self._db.all(_EVICTED)]

    def _is_complete(self) -> bool:
        return self.count() == int(self._db.value(_SESSIONS))

    def of_repo(self, repo: str) -> set[int]:
        """The numbers of the sessions of a repository."""
        return {number for (number,) in self._db.all(_OF_REPO, {"repo": repo})}


class _TermNumbers(dict[str, int]):
    """Term → its number. A look-up is three times as fast as a call of a function with a cache."""

    def __missing__(self, term: str) -> int:
        if len(self) >= MOST_NUMBERS:
            self.clear()
        digest = blake2b(term.encode(errors="replace"), digest_size=8).digest()
        number = self[term] = int.from_bytes(digest, "big") >> (64 - TERM_BITS)
        return number


_numbers = _TermNumbers()


def _place(term: str, session: int) -> int:
    return _numbers[term] << SESSION_BITS | session


def _range(term: str) -> dict[str, int]:
    first = _place(term, 0)
    return {"first": first, "last": first | _SESSION}


def _packed(terms: Mapping[str, int]) -> bytes:
    return compressed(msgspec.json.encode(terms, order="sorted"), LEVEL)


def unpacked_terms(packed: bytes) -> dict[str, int]:
    """Unpack the terms of a session. Raises `ZstdError` or `MsgspecError` if they are damaged."""
    return _DECODER.decode(zstd.decompress(packed))
