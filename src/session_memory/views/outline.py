"""The outline of a session: turns, who worked when, marks, subagents, and the cost over time.

It is made in one pass over a few columns of the events, without their texts. The web page keeps it
and makes it again after the session has changed.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from session_memory.core.errors import UnknownSession
from session_memory.core.schema import Session
from session_memory.core.time import parse_time
from session_memory.pricing import tree_amounts
from session_memory.pricing.amounts import Charge, UsageFilter, charges
from session_memory.store import Store
from session_memory.store.digests import Digests
from session_memory.store.outlines import (
    OutlineEvent,
    first_own_times,
    outline_events,
    read_paths,
    summaries,
)
from session_memory.views.detours import SentTokens, detours
from session_memory.views.evicted import readable_events
from session_memory.views.failure_spans import failure_spans
from session_memory.views.session import children_of
from session_memory.views.session_titles import best_titles
from session_memory.views.work_pieces import OutlinePiece, work_pieces

SECTION = 50
"""How many places (values of ``seq``) a section of a transcript has."""
MOST_MARKS, MOST_POINTS = 1500, 200
MOST_DEEPER = 100

BEFORE_FIRST_PROMPT = "before the first prompt"


class OutlineTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn, from ``seq`` to ``last``. ``microdollars`` is its cost without subagents.

    ``is_left``: a rewind left the turn behind. The events before the first prompt are turn 0.
    """

    number: int
    seq: int
    last: int
    event_uid: str
    title: str
    started: int | None
    seconds: float | None
    microdollars: int
    output_tokens: int
    is_left: bool

    @property
    def name(self) -> str:
        """The number and the title of the turn; turn 0 is ``before the first prompt``."""
        return f"{self.number} {self.title}" if self.number else BEFORE_FIRST_PROMPT


class OutlineResponse(msgspec.Struct, frozen=True):
    """The cost of one response. ``made_of`` is the largest part of it: ``read`` (from the cache),
    ``written`` (other input) or ``output``. ``detour`` is a sort of detour as defined in
    `session_memory.views.detours`, or empty. ``tool`` is the tool that it called most."""

    seq: int
    ts: int | None
    microdollars: int
    made_of: str
    detour: str = ""
    tool: str = ""


class OutlineMark(msgspec.Struct, frozen=True):
    """A notable event. ``sort`` is ``passed`` or ``failed`` (tests), ``error``, ``edit``,
    ``compaction``, ``commit``, ``prompt`` or ``person`` (an interruption or a decision)."""

    seq: int
    ts: int | None
    sort: str


class OutlineLane(msgspec.Struct, frozen=True, kw_only=True):
    """Work beside the session: a subagent or fork (with ``uid``) or an abandoned branch (without).

    A subagent that another subagent started has the ``sort`` ``deeper``; its cost is also included
    in the cost of the other.
    """

    sort: str
    title: str
    seq: int | None
    start: int | None
    end: int | None
    microdollars: int
    uid: str | None = None
    model: str | None = None


class Outline(msgspec.Struct, frozen=True, kw_only=True):
    """The outline of a session. ``context`` has ``(seq, input tokens)`` of at most 200 responses,
    the largest of each stretch.

    ``calls`` has the subagents that each call started, by call id. ``unplaced`` are subagents that
    no call names.
    """

    uid: str
    revision: int
    events: int
    last_seq: int
    turns: tuple[OutlineTurn, ...]
    marks: tuple[OutlineMark, ...]
    pieces: tuple[OutlinePiece, ...]
    lanes: tuple[OutlineLane, ...]
    responses: tuple[OutlineResponse, ...]
    context: tuple[tuple[int, int], ...]
    calls: dict[str, tuple[str, ...]]
    unplaced: tuple[str, ...]
    microdollars: int

    @property
    def sections(self) -> int:
        return self.last_seq // SECTION + 1

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values for drawing. Instead of the responses, ``spend`` has the sums of at
        most 200 groups of them: ``(time, seq, microdollars)``."""
        values: dict[str, Any] = msgspec.to_builtins(self)
        del values["responses"]
        step = max(-(-len(self.responses) // MOST_POINTS), 1)
        groups = (self.responses[n : n + step] for n in range(0, len(self.responses), step))
        values["spend"] = [
            (group[0].ts, group[0].seq, sum(one.microdollars for one in group)) for group in groups
        ]
        return values


def outline(store: Store, uid: str) -> Outline:
    """Make the outline of a session. That of an evicted session is made from its archive."""
    session = store.sessions.get(uid)
    if session is None:
        raise UnknownSession(uid)
    read, _ = readable_events(store, uid)
    row = read.sessions.row(uid)
    events = [] if row is None else list(outline_events(read.db, read.names, row.id))
    spent = _spending(store, uid)
    prompts = [event for event in events if _is_prompt(event) and not event.is_inherited]
    titles = {} if row is None else summaries(read.db, row.id, [event.seq for event in prompts])
    reads = {} if row is None else read_paths(read.db, row.id)
    commits = _commits(store, uid, events)
    children = children_of(store, uid)
    call_seqs = {e.call_id: e for e in events if e.call_id and "tool_call" in e.kinds}
    calls: dict[str, tuple[str, ...]] = {}
    for child in children:
        if child.relation == "subagent" and child.spawn_call_id in call_seqs:
            calls[child.spawn_call_id] = (*calls.get(child.spawn_call_id, ()), child.session_uid)
    placed = {one for some in calls.values() for one in some}
    return Outline(
        uid=uid,
        revision=session.revision,
        events=len(events),
        last_seq=events[-1].seq if events else 0,
        turns=tuple(_turns(events, titles, spent)),
        marks=tuple(_marks(events, commits)),
        pieces=tuple(work_pieces(events)),
        lanes=(
            *_children(store, children, call_seqs, events),
            *_deeper(store, [child.session_uid for child in children]),
            *_branches(events, spent),
        ),
        responses=tuple(_responses(events, spent, reads, failure_spans(store, uid, events))),
        context=_context(spent),
        calls=calls,
        unplaced=tuple(
            child.session_uid
            for child in children
            if child.relation == "subagent" and child.session_uid not in placed
        ),
        microdollars=sum(one.microdollars for one in spent),
    )


class _Spent(msgspec.Struct, gc=False):
    seq: int
    ts: int | None
    microdollars: int
    output: int
    context: int
    read: int
    written: int
    picodollars: tuple[int, int, int]


def _spending(store: Store, uid: str) -> list[_Spent]:
    """Return tokens and cost, summed for each seq, in order. All usage without a seq comes last."""
    sums: dict[int, _Spent] = {}
    for charge in charges(store, ("seq",), UsageFilter(uids=(uid,))):
        seq = charge.key[0]
        place = 1 << 40 if seq is None else int(seq)
        one = sums.setdefault(place, _Spent(place, None, 0, 0, 0, 0, 0, (0, 0, 0)))
        uncached, output, read, written, *_ = charge.buckets
        one.microdollars += charge.microdollars
        one.output += output
        one.context = max(one.context, uncached + read + written)
        one.read += read
        one.written += written
        parts = charge_parts(charge)
        had = one.picodollars
        one.picodollars = (had[0] + parts[0], had[1] + parts[1], had[2] + parts[2])
    return [sums[seq] for seq in sorted(sums)]


_MADE_OF = ("read", "written", "output")


def charge_parts(charge: Charge) -> tuple[int, int, int]:
    """Return the cost of cache reads, of other input and of output, in picodollars."""
    uncached, output, read, written, written_1h, _, searches = charge.buckets
    price = charge.rate.price
    if price is None:
        return 0, 0, 0
    sent = uncached * price.input + (written - written_1h) * price.cache_write
    sent += written_1h * price.cache_write_1h
    answered = output * price.output + searches * (price.search or 0)
    return read * price.cache_read, sent, answered


def _responses(
    events: Sequence[OutlineEvent],
    spent: list[_Spent],
    reads: dict[int, str],
    spans: Sequence[tuple[int, int]],
) -> Iterable[OutlineResponse]:
    sent = [SentTokens(one.seq, one.read, one.written, one.context) for one in spent]
    sorts = detours(events, sent, reads, spans)
    calls = [event for event in events if "tool_call" in event.kinds and not event.is_inherited]
    at = 0
    for one in spent:
        tools: list[str] = []
        while at < len(calls) and calls[at].seq <= one.seq:
            tools.append(calls[at].tool or "")
            at += 1
        made_of = _MADE_OF[one.picodollars.index(max(one.picodollars))]
        # Most responses have one call.
        tool = tools[0] if len(tools) == 1 else max(tools, key=tools.count, default="")
        sort = sorts.get(one.seq, "")
        yield OutlineResponse(one.seq, one.ts, one.microdollars, made_of, sort, tool)


def _is_prompt(event: OutlineEvent) -> bool:
    return "user_msg" in event.kinds


def _turns(
    events: Sequence[OutlineEvent], titles: dict[int, str], spent: list[_Spent]
) -> Iterable[OutlineTurn]:
    own = [event for event in events if not event.is_inherited]
    if not own:
        return
    starts = [place for place, event in enumerate(own) if _is_prompt(event)]
    if not starts or starts[0] > 0:
        starts = [0, *starts]
    times = {event.seq: event.ts for event in own}
    for one in spent:
        one.ts = times.get(one.seq)
    at, number = 0, 0
    for place, following in zip(starts, [*starts[1:], len(own)], strict=True):
        first, last = own[place], own[following - 1]
        number += _is_prompt(first)
        until = own[following].seq if following < len(own) else 1 << 62
        microdollars = output = 0
        while at < len(spent) and spent[at].seq < until:
            microdollars += spent[at].microdollars
            output += spent[at].output
            at += 1
        if not _is_prompt(first) and not microdollars and following < len(own):
            continue
        yield OutlineTurn(
            number=number,
            seq=first.seq,
            last=last.seq,
            event_uid=first.event_uid,
            title=titles.get(first.seq, "") if _is_prompt(first) else "",
            started=first.ts,
            seconds=_seconds(first.ts, last.ts),
            microdollars=microdollars,
            output_tokens=output,
            is_left=first.branch is not None,
        )


def _seconds(first: int | None, last: int | None) -> float | None:
    return None if first is None or last is None else max(last - first, 0) / 1000


class _CommitEvent(msgspec.Struct):
    event_uid: str


class _CommitsOfDigest(msgspec.Struct):
    """The one field of a digest that an outline needs. It is decoded here, because importing the
    modules of digests takes long."""

    commits: tuple[_CommitEvent, ...] = ()


_COMMITS = msgspec.json.Decoder(_CommitsOfDigest)


def _commits(store: Store, uid: str, events: Sequence[OutlineEvent]) -> set[int]:
    """Return the seqs of the calls that committed, according to the digest of the session.

    The result is empty if the session was not analyzed.
    """
    body = Digests(store.db).body(uid)
    uids = set() if body is None else {one.event_uid for one in _COMMITS.decode(body).commits}
    if not uids:
        return set()
    calls = (event for event in events if "tool_call" in event.kinds)
    return {call.seq for call in calls if call.event_uid in uids}


def _marks(events: Iterable[OutlineEvent], commits: set[int]) -> list[OutlineMark]:
    """Return the notable events. If there are too many, some edits and errors are left out."""
    found = [
        OutlineMark(event.seq, event.ts, sort)
        for event in events
        if (sort := _mark_of(event, commits))
    ]
    for sort in ("edit", "error"):
        if len(found) > MOST_MARKS:
            rare = [mark for mark in found if mark.sort != sort]
            common = [mark for mark in found if mark.sort == sort]
            step = max(len(common) // max(MOST_MARKS - len(rare), 1), 1)
            found = sorted([*rare, *common[::step]], key=lambda mark: mark.seq)
    return found[:MOST_MARKS]


def _mark_of(event: OutlineEvent, commits: set[int]) -> str | None:
    kinds = event.kinds
    if "user_msg" in kinds:
        return "prompt"
    if "tool_result" in kinds and "test_run" in kinds:
        return "failed" if event.is_error else "passed"
    if event.is_error or "error" in kinds:
        return "error"
    if "human_intervention" in kinds or "decision" in kinds:
        return "person"
    if event.seq in commits:
        return "commit"
    if "edit" in kinds and "tool_call" in kinds:
        return "edit"
    if "lifecycle" in kinds and "compact" in event.native_kind:
        return "compaction"
    return None


def _children(
    store: Store,
    children: list[Session],
    calls: dict[str, OutlineEvent],
    events: Sequence[OutlineEvent],
) -> Iterable[OutlineLane]:
    uids = [child.session_uid for child in children]
    titles = best_titles(store, uids) if uids else {}
    amounts = tree_amounts(store, uids) if uids else {}
    forks = [child.session_uid for child in children if child.relation == "fork"]
    begun = first_own_times(store.db, forks) if forks else {}
    for child in children:
        call = calls.get(child.spawn_call_id or "")
        uid = child.session_uid
        seq = None if call is None else call.seq
        start = None if child.started_at is None else parse_time(child.started_at)
        if uid in begun:
            # A fork begins with its first event of its own, after the history that it copied.
            start = begun[uid]
            seq = max((e.seq for e in events if e.ts is not None and e.ts <= start), default=None)
        yield OutlineLane(
            sort=child.relation or "child",
            title=titles[uid],
            seq=seq,
            start=start,
            end=None if child.ended_at is None else parse_time(child.ended_at),
            microdollars=amounts[uid].microdollars,
            uid=uid,
            model=child.model,
        )


def _deeper(store: Store, children: Sequence[str]) -> Iterable[OutlineLane]:
    """Yield the subagents of subagents. They have no seq: no event of this session started them."""
    below = store.sessions.subagents_below(children) if children else []
    uids = [uid for uid in dict.fromkeys(uid for _, uid in below) if uid not in children]
    uids = uids[:MOST_DEEPER]
    titles = best_titles(store, uids) if uids else {}
    amounts = tree_amounts(store, uids) if uids else {}
    for found in filter(None, map(store.sessions.get, uids)):
        uid = found.session_uid
        yield OutlineLane(
            sort="deeper",
            title=titles[uid],
            seq=None,
            start=None if found.started_at is None else parse_time(found.started_at),
            end=None if found.ended_at is None else parse_time(found.ended_at),
            microdollars=amounts[uid].microdollars,
            uid=uid,
            model=found.model,
        )


def _branches(events: Sequence[OutlineEvent], spent: list[_Spent]) -> Iterable[OutlineLane]:
    found: dict[str, list[OutlineEvent]] = {}
    for event in events:
        if event.branch is not None and not event.is_inherited:
            found.setdefault(event.branch, []).append(event)
    for members in found.values():
        seqs = {event.seq for event in members}
        times = [event.ts for event in members if event.ts is not None]
        yield OutlineLane(
            sort="left",
            title="left behind",
            seq=members[0].seq,
            start=min(times, default=None),
            end=max(times, default=None),
            microdollars=sum(one.microdollars for one in spent if one.seq in seqs),
        )


def _context(spent: list[_Spent]) -> tuple[tuple[int, int], ...]:
    sizes = [(one.seq, one.context) for one in spent if one.context]
    step = max(-(-len(sizes) // MOST_POINTS), 1)
    # The largest of each group, so that a peak stays visible.
    return tuple(
        max(sizes[start : start + step], key=lambda point: point[1])
        for start in range(0, len(sizes), step)
    )
