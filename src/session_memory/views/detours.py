"""Find the responses that were a detour: they failed, were paid for twice, or were left behind.

A response is at most one of these detours, so detours never cost more than the session itself:

- ``failed``: every call of the response failed, or it stands between a call that failed and the
  call that then worked.
- ``uncached``: the cache was gone, so that most of the former context was paid for twice.
- ``reread``: every call read a file again that a compaction had removed from the context.
- ``left``: a rewind left the response behind.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

import msgspec

from session_memory.store.outlines import OutlineEvent

UNCACHED, REREAD, FAILED, LEFT = "uncached", "reread", "failed", "left"
DETOURS = (UNCACHED, REREAD, FAILED, LEFT)
# A smaller context costs so little that it does not matter whether it was cached.
LEAST_CACHED = 4096


class SentTokens(msgspec.Struct, gc=False):
    """The input tokens of one response: ``read`` from the cache, ``written`` to it, and all of
    them (``context``)."""

    seq: int
    read: int
    written: int
    context: int


def detours(
    events: Sequence[OutlineEvent],
    sent: Sequence[SentTokens],
    reads: dict[int, str],
    spans: Sequence[tuple[int, int]] = (),
) -> dict[int, str]:
    """Return the sort of detour of each response that was a detour, by the seq of the response.

    ``reads`` are the paths of file reads by the seq of the call. ``spans`` are those of
    `failure_spans`: from the seq of a call that failed to where the same call worked.
    """
    own = [event for event in events if not event.is_inherited]
    made = _calls_of(own, sent)
    folds = [event.seq for event in own if _is_fold(event)]
    found = dict.fromkeys(_uncached(folds, sent), UNCACHED)
    found |= dict.fromkeys(_read_again(folds, made, reads), REREAD)
    failures = {
        event.call_id
        for event in own
        if event.is_error and "tool_result" in event.kinds and not _by_a_person(event)
    }
    for seq in _until_success(spans, sent):
        found.setdefault(seq, FAILED)
    for seq, calls in made.items():
        if calls and all(call.call_id in failures for call in calls):
            found[seq] = FAILED
    places = {one.seq for one in sent}
    found |= {event.seq: LEFT for event in own if event.branch is not None and event.seq in places}
    return found


def _until_success(spans: Sequence[tuple[int, int]], sent: Sequence[SentTokens]) -> Iterable[int]:
    """Yield the responses from the one that failed to the last before the one that worked."""
    seqs = [one.seq for one in sent]
    for first, last in spans:
        yield from seqs[bisect_left(seqs, first) : bisect_left(seqs, last)]


def _by_a_person(event: OutlineEvent) -> bool:
    return "human_intervention" in event.kinds or "decision" in event.kinds


def _calls_of(
    events: Iterable[OutlineEvent], sent: Sequence[SentTokens]
) -> dict[int, list[OutlineEvent]]:
    """Return the calls of each response, by the seq of its last event, where its usage is."""
    seqs = [one.seq for one in sent]
    made: dict[int, list[OutlineEvent]] = {seq: [] for seq in seqs}
    for event in events:
        if "tool_call" in event.kinds:
            place = bisect_left(seqs, event.seq)
            if place < len(seqs):
                made[seqs[place]].append(event)
    return made


def _is_fold(event: OutlineEvent) -> bool:
    return "lifecycle" in event.kinds and "compact" in event.native_kind


def _uncached(folds: Sequence[int], sent: Sequence[SentTokens]) -> Iterable[int]:
    """Yield responses for which most of the context that was cached had to be sent again."""
    for before, one in zip(sent, sent[1:], strict=False):
        cached = before.read + before.written
        if cached < LEAST_CACHED or one.read * 2 >= cached:
            continue
        is_folded = bisect_left(folds, before.seq) != bisect_left(folds, one.seq)
        # A context that is much smaller belongs to other work (a sidechain), or follows a rewind.
        is_same = one.context * 5 >= before.context * 4
        if is_same and not is_folded:
            yield one.seq


def _read_again(
    folds: Sequence[int], made: dict[int, list[OutlineEvent]], reads: dict[int, str]
) -> Iterable[int]:
    """Yield responses that only read files which were already read before the last compaction."""
    if not reads or not folds:
        return
    first: dict[str, int] = {}
    for seq in sorted(reads):
        first.setdefault(reads[seq], seq)
    for seq, calls in made.items():
        latest = bisect_left(folds, seq)
        fold = folds[latest - 1] if latest else -1
        paths = [reads.get(call.seq) for call in calls]
        if paths and all(path is not None and first[path] < fold for path in paths):
            yield seq
