"""List the secrets in the store. Every stored byte is searched, also records without events.

A finding has the kind and the place of a secret, and a number that is equal for equal secrets. The
secret itself, or a part of it, never leaves this module.
"""

import os
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from typing import Any, BinaryIO, NamedTuple

import msgspec

from session_memory.collect.sync_report import ReadProgress
from session_memory.core.errors import StoreBusy
from session_memory.core.ids import make_uid
from session_memory.core.roles import SPILL
from session_memory.core.schema import SessionEvent
from session_memory.core.text import one_line
from session_memory.derive.archived import readable_store
from session_memory.derive.bodies import Bodies
from session_memory.derive.live_sources import is_table
from session_memory.derive.raw_records import place_of
from session_memory.derive.raw_source import RawSource
from session_memory.redact import VERSION, Secret, mask, plain_form, secrets
from session_memory.store import Store
from session_memory.store.live_rows import LiveRows
from session_memory.store.secret_scans import SearchedStretch, SecretScan, SecretScans
from session_memory.store.sources import SourceRow
from session_memory.views.sessions import Filter, each_session

READ_AT_ONCE = 1024 * 1024
# A longer line is searched in parts. They overlap by more than any secret except a long key.
LONGEST_LINE = 8 * 1024 * 1024
OVERLAP = 64 * 1024
AROUND = 60
MOST_NUMBERED = 100_000
# After this many bytes, the store notes what was searched, so that the next search can skip it.
KEPT_EVERY = 256 * 1024 * 1024


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One secret that occurs ``count`` times in one event.

    ``event_uid`` is None if the record has no event, or the file is not a log. ``number`` is equal
    for equal secrets, and 0 if there are too many secrets. ``genuine`` says whether the checksum of
    the secret is right; it is None if its format has no checksum.
    """

    session_uid: str | None
    event_uid: str | None
    seq: int | None
    kind: str
    number: int
    count: int
    genuine: bool | None
    preview: str
    path: str
    offset: int


class SecretList(msgspec.Struct, frozen=True):
    """Where secrets are. ``total`` is the number of places, ``distinct`` the number of different
    secrets; both include secrets that are not listed."""

    findings: list[Finding]
    total: int
    distinct: int
    kinds: dict[str, int]
    bytes: int
    evicted: int = 0
    """The number of evicted sessions, whose logs were not searched."""

    def to_dict(self) -> dict[str, Any]:
        more = {"evicted": self.evicted} if self.evicted else {}
        return {
            "secrets": msgspec.to_builtins(self.findings),
            "total": self.total,
            "distinct": self.distinct,
            "kinds": self.kinds,
            "bytes": self.bytes,
            **more,
        }


class _SecretPlace(NamedTuple):
    offset: int
    secret: Secret
    number: int
    preview: str


def list_secrets(
    store: Store,
    filters: Filter | None = None,
    *,
    uid: str | None = None,
    kind: str | None = None,
    limit: int = 0,
    progress: ReadProgress | None = None,
) -> SecretList:
    """List the secrets of all sessions, of those that ``filters`` admits, or of session ``uid``.

    With ``uid``, an evicted session is read from the archive. Otherwise evicted sessions are only
    counted.
    """
    evicted = 0 if uid is not None else _count_evicted(store, filters)
    store = store if uid is None else readable_store(store, uid)
    search = _SecretSearch(store, kind)
    sources = _sources(store, filters, uid)
    progress = progress or ReadProgress()
    progress.begin(len(sources), sum(row.kept for row in sources))
    findings: list[Finding] = []
    for row in sources:
        for finding in search.at(row, progress):
            if not limit or len(findings) < limit:
                findings.append(finding)
    search.keep()
    progress.end()
    kinds = dict(sorted(search.kinds.items(), key=lambda item: (-item[1], item[0])))
    total = sum(kinds.values())
    return SecretList(findings, total, search.distinct, kinds, search.bytes, evicted)


def _count_evicted(store: Store, filters: Filter | None) -> int:
    if filters is None:
        return store.retention.count_evicted()
    return sum(one.evicted_at is not None for one in each_session(store, filters))


def _sources(store: Store, filters: Filter | None, uid: str | None) -> list[SourceRow]:
    if filters is None and uid is None:
        return store.sources.every()
    sources: dict[int, SourceRow] = {}
    for session in each_session(store, filters or Filter()):
        if uid in (None, session.session_uid):
            row = store.sessions.row(session.session_uid)
            named = store.sources.named_for(session.flavor, session.native_session_id)
            read = store.sources.read_by(row.id) if row is not None else []
            sources.update((source.id, source) for source in (*read, *named))
    return list(sources.values())


class _SecretSearch:
    """Searches many sources. Numbers and counts the secrets."""

    def __init__(self, store: Store, kind: str | None) -> None:
        self._store = store
        self._kind = kind
        # A random key, so that the remembered hashes reveal nothing about the secrets.
        self._key = os.urandom(16)
        self._numbers: dict[bytes, int] = {}
        self._scans = SecretScans(store.db, VERSION)
        self._new: list[SecretScan] = []
        self._searched = 0
        self.kinds: dict[str, int] = {}
        self.distinct = 0
        self.bytes = 0

    def at(self, row: SourceRow, progress: ReadProgress) -> Iterator[Finding]:
        seen = []
        for place, data, secret in self._secrets(row, progress):
            if self._kind in (None, secret.kind):
                self.kinds[secret.kind] = self.kinds.get(secret.kind, 0) + 1
                number = self._number(data[secret.start : secret.end])
                seen.append(_SecretPlace(place, secret, number, preview(data, secret)))
        if seen:
            yield from self._placed(row, seen)

    def _secrets(
        self, row: SourceRow, progress: ReadProgress
    ) -> Iterator[tuple[int, bytes, Secret]]:
        """Yield ``(place, data, secret)`` for each secret of a source.

        ``place`` is a byte offset, or the place of a row if the source is a table. ``data`` is the
        text that the secret was found in.
        """
        places = _places_of_rows(self._store, row)
        last = lines = 0
        for offset, data, end in self._stretches(row, progress):
            for secret in secrets(data):
                if secret.start < end and offset + secret.start >= last:
                    last = offset + secret.end
                    line = lines + data.count(b"\n", 0, secret.start) if places else 0
                    yield places[line] if places else offset + secret.start, data, secret
            lines += data.count(b"\n", 0, end) if places else 0

    def _stretches(
        self, row: SourceRow, progress: ReadProgress
    ) -> Iterator[tuple[int, bytes, int]]:
        """Yield the stretches of a source that have a secret: ``(offset, data, end)``.

        A stretch without secrets is noted, so that the next search does not read it again. The rows
        of a table cannot be noted, because they are in no pack; all are searched.
        """
        packs = b"" if is_table(row) else self._scans.packs_of(row.id)
        known = self._scans.known(row.id, row.kept, packs) if packs else []
        for one in known:
            if one.has_secret:
                yield one.start, self._store.raw.record(row.id, one.start, one.length), one.end
            self._count(one.end, progress)
        start, ahead = (known[-1].start + known[-1].end, _ahead(known[-1])) if known else (0, 0)
        if packs and start == row.kept:
            return
        searched = list(known)
        with RawSource(self._store, row).open(start) as file:
            for offset, data, end in stretches(file, start, ahead):
                has_secret = any(True for _ in secrets(data))
                searched.append(SearchedStretch(offset, end, len(data), has_secret))
                if has_secret:
                    yield offset, data, end
                self._count(end, progress)
                self._searched += end
        if packs:
            self._new.append(SecretScan(row.id, row.kept, packs, searched))
        if self._searched >= KEPT_EVERY:
            self.keep()

    def _count(self, size: int, progress: ReadProgress) -> None:
        progress.advance(size)
        self.bytes += size

    def keep(self) -> None:
        """Note what was searched, so that the next search leaves it out."""
        db = self._store.db
        if self._new and not (db.is_read_only or db.in_transaction):
            # If another process writes for a long time, nothing is noted.
            with suppress(StoreBusy), db.transaction():
                self._scans.keep(self._new)
        self._new, self._searched = [], 0

    def _number(self, secret: bytes) -> int:
        # The same secret may be escaped, coloured or wrapped differently.
        plain = plain_form(secret.decode("latin-1"))
        digest = blake2b(plain.encode("latin-1"), digest_size=16, key=self._key).digest()
        known = self._numbers.get(digest)
        if known is None:
            self.distinct += 1
            if len(self._numbers) >= MOST_NUMBERED:
                return 0
            known = self._numbers[digest] = len(self._numbers) + 1
        return known

    def _placed(self, row: SourceRow, seen: list[_SecretPlace]) -> Iterator[Finding]:
        """Yield one finding for each event and each different secret in it."""
        events = _Events(self._store, row, [one.offset for one in seen])
        grouped: dict[tuple[Any, ...], list[_SecretPlace]] = {}
        for one in seen:
            session, event = events.of(one)
            place = (session, event.event_uid, event.seq) if event else (session, None, None)
            grouped.setdefault((*place, one.secret.kind, one.number), []).append(one)
        for (session, event_uid, seq, kind, number), alike in grouped.items():
            yield Finding(
                session_uid=session,
                event_uid=event_uid,
                seq=seq,
                kind=kind,
                number=number,
                count=len(alike),
                genuine=alike[0].secret.genuine,
                preview=alike[0].preview,
                path=row.path,
                offset=alike[0].offset,
            )


class _Events:
    """Finds the event at a place of a source."""

    def __init__(self, store: Store, row: SourceRow, offsets: list[int]) -> None:
        self._bodies = Bodies(store)
        self._at: list[tuple[int, int, list[SessionEvent]]] = []
        ids = store.sessions.of_source(row.id)
        uids = [store.sessions.row_by_id(session_id).uid for session_id in ids]
        if row.role == SPILL and row.session:
            uids = [make_uid(row.flavor, row.session)]
        self._only = uids[0] if len(uids) == 1 else None
        if row.role == SPILL:
            return
        places, events_at = sorted(offsets), dict[tuple[int, int], list[SessionEvent]]()
        for session_id, uid in zip(ids, uids, strict=True):
            for event in store.events.each_of(session_id, uid):
                source, place, length, _ = place_of(event)
                end = place + (1 if is_table(row) else max(length, 1))
                if source == row.uid and _any_within(places, place, end):
                    events_at.setdefault((place, end), []).append(event)
        self._at = [(*span, events) for span, events in sorted(events_at.items())]

    def of(self, seen: _SecretPlace) -> tuple[str | None, SessionEvent | None]:
        for start, end, events in self._at:
            if start <= seen.offset < end:
                event = self._among(events, seen.secret.kind)
                return event.session_uid, event
        return self._only, None

    def _among(self, events: list[SessionEvent], kind: str) -> SessionEvent:
        """Return the event whose text has a secret of this kind, else the first event."""
        for event in events if len(events) > 1 else ():
            text = self._bodies.of(event).text
            if any(secret.kind == kind for secret in secrets(text)):
                return event
        return events[0]


def _places_of_rows(store: Store, row: SourceRow) -> list[int]:
    if not is_table(row) or not row.read_to:
        return []
    return [item.place for item in LiveRows(store.db).order(row.session)]


def _any_within(offsets: list[int], start: int, end: int) -> bool:
    place = bisect_left(offsets, start)
    return place < len(offsets) and offsets[place] < end


def _ahead(one: SearchedStretch) -> int:
    return one.length - one.end


def stretches(file: BinaryIO, offset: int = 0, ahead: int = 0) -> Iterator[tuple[int, bytes, int]]:
    """Read a file in stretches that end with a line, if possible: ``(offset, data, end)``.

    The bytes of ``data`` after ``end`` come again at the start of the next stretch. To continue
    after a stretch, pass its end as ``offset`` and the number of bytes after it as ``ahead``. Then
    the next stretches are the same as if all had been read at once.
    """
    rest = file.read(ahead)
    while more := file.read(READ_AT_ONCE):
        data = rest + more
        end = data.rfind(b"\n") + 1
        if not end:
            if len(data) < LONGEST_LINE:
                rest = data
                continue
            end = len(data) - OVERLAP
        yield offset, data, end
        offset, rest = offset + end, data[end:]
    if rest:
        yield offset, rest, len(rest)


def preview(data: bytes, secret: Secret) -> str:
    """Return the text around a secret on one line, with all secrets masked."""
    start, end = max(secret.start - AROUND, 0), secret.end + AROUND
    before, after = data[start : secret.start], data[secret.end : end]
    # Half a secret at the edge would not be recognized, so only whole words are shown.
    before = before.partition(b" ")[2] if start else before
    after = after.rpartition(b" ")[0] if end < len(data) else after
    around = b"".join((before.rpartition(b"\n")[2], f"[redacted:{secret.kind}]".encode()))
    text = mask(around + after.partition(b"\n")[0]).decode("utf-8", "replace")
    for escape in ("\\n", "\\t", "\\r"):
        text = text.replace(escape, " ")
    return one_line(text.replace('\\"', '"').replace("\\\\", "\\"), 2 * AROUND)
