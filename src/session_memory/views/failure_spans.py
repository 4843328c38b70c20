"""Find the spans of a session from a call that failed to the same call when it worked.

The digest (the result of the analysis) names both calls. A span ends at the next prompt at the
latest, because a person may ask for something else there.
"""

from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from session_memory.store import Store
from session_memory.store.digests import Digests
from session_memory.store.outlines import OutlineEvent


class _Success(msgspec.Struct):
    succeeded: str = ""


class _ResolvedError(msgspec.Struct):
    event_uids: tuple[str, ...] = ()
    resolution: _Success | None = None
    origin: str = "call"


class _DigestErrors(msgspec.Struct):
    error_snippets: tuple[_ResolvedError, ...] = ()


_ERRORS = msgspec.json.Decoder(_DigestErrors)


def failure_spans(
    store: Store, uid: str, events: Sequence[OutlineEvent]
) -> tuple[tuple[int, int], ...]:
    """Return ``(seq of the call that failed, seq of the end)`` of each span, in order.

    The end is the call that worked, or a prompt before it. There are no spans without an analysis.
    """
    body = Digests(store.db).body(uid)
    resolved = [] if body is None else _pairs(_ERRORS.decode(body))
    if not resolved:
        return ()
    wanted = {one for pair in resolved for one in pair}
    calls: dict[str, int] = {}
    placed: dict[str, int] = {}
    prompts: list[int] = []
    for event in events:
        if "tool_call" in event.kinds and event.call_id:
            calls.setdefault(event.call_id, event.seq)
        if "user_msg" in event.kinds:
            prompts.append(event.seq)
        if event.call_id and event.event_uid in wanted:
            placed[event.event_uid] = calls.get(event.call_id, event.seq)
    spans = []
    for failed, worked in resolved:
        first, last = placed.get(failed), placed.get(worked)
        if first is not None and last is not None and first < last:
            following = bisect_right(prompts, first)
            spans.append((first, min([last, *prompts[following : following + 1]])))
    return tuple(sorted(spans))


def _pairs(digest: _DigestErrors) -> list[tuple[str, str]]:
    return [
        (error.event_uids[0], error.resolution.succeeded)
        for error in digest.error_snippets
        if error.origin == "call" and error.event_uids and error.resolution is not None
    ]
