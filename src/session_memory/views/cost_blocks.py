"""The cost of a session as nested blocks: turns, their steps and subagents, single responses.

The blocks inside a block add up to its cost to the micro-dollar.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from session_memory.pricing import session_amounts
from session_memory.pricing.amounts import UsageFilter, charges
from session_memory.pricing.sessions import family, subagents
from session_memory.store import Store
from session_memory.views.detours import DETOURS
from session_memory.views.figures import plural
from session_memory.views.outline import Outline, OutlineLane, OutlineResponse, OutlineTurn
from session_memory.views.session_titles import best_titles

AGENT = "agent"
# Subagents that are nested more deeply are one block.
DEEPEST = 8
_STEPS = {
    "failed": "failed",
    "uncached": "cache gone",
    "reread": "read again",
    "left": "left behind",
    "": "answers",
}


class CostBlock(msgspec.Struct, frozen=True):
    """A part of a session's cost. The blocks ``below`` are its own parts and add up to it.

    ``look`` decides how a map draws it: the kind of tokens that cost most (``read``, ``written``,
    ``output``), a detour such as ``failed``, or ``agent`` for a subagent.
    """

    title: str
    microdollars: int
    look: str
    seq: int | None = None
    uid: str | None = None
    below: tuple["CostBlock", ...] = ()


def cost_blocks(store: Store, outline: Outline) -> tuple[CostBlock, ...]:
    """Return a block for each turn that cost something, subagents included.

    Subagents that no turn started are one more block. Together the blocks are the whole cost of the
    session with its subagents.
    """
    lanes = [lane for lane in outline.lanes if lane.uid and lane.sort == "subagent"]
    agents = _agents(store, [lane for lane in lanes if lane.microdollars])
    turns = []
    ends = [turn.seq for turn in outline.turns[1:]]
    seqs = [one.seq for one in outline.responses]
    start = 0
    for number, turn in enumerate(outline.turns):
        end = bisect_left(seqs, ends[number]) if number < len(ends) else len(seqs)
        responses = [one for one in outline.responses[start:end] if one.microdollars]
        start = end
        mine = [one for one in agents if one.seq is not None and turn.seq <= one.seq <= turn.last]
        agents = [one for one in agents if one not in mine]
        turns.append(_turn(turn, responses, mine))
    if agents:
        total = sum(one.microdollars for one in agents)
        turns.append(
            CostBlock("subagents that no call names", total, AGENT, below=tuple(agents)),
        )
    return tuple(turn for turn in turns if turn.microdollars)


def _turn(
    turn: OutlineTurn, responses: list[OutlineResponse], agents: list[CostBlock]
) -> CostBlock:
    below = tuple(_steps(responses, agents))
    total = turn.microdollars + sum(one.microdollars for one in agents)
    look = "left" if turn.is_left else _largest(below)
    return CostBlock(turn.name, total, look, turn.seq, below=below)


def _largest(blocks: Sequence[CostBlock]) -> str:
    """Return the ``look`` that cost most. Detours and subagents do not count."""
    sums: dict[str, int] = {}
    for block in blocks:
        sums[block.look] = sums.get(block.look, 0) + block.microdollars
    plain = [look for look in sums if look not in (*DETOURS, AGENT)]
    return max(plain or ["read"], key=lambda look: sums.get(look, 0))


def _steps(responses: list[OutlineResponse], agents: list[CostBlock]) -> Iterator[CostBlock]:
    """Join neighbouring responses to steps if they are the same sort of detour or use one tool.

    The block of a subagent stands at the place where it was started.
    """
    waiting = sorted(agents, key=lambda one: one.seq or 0)

    def sort(one: OutlineResponse) -> tuple[int, str, str]:
        before = sum(1 for agent in waiting if (agent.seq or 0) < one.seq)
        return before, one.detour, "" if one.detour else one.tool

    done = 0
    for (before, detour, tool), some in groupby(responses, sort):
        yield from waiting[done:before]
        done = max(done, before)
        members = list(some)
        below = tuple(_response(one) for one in members)
        total = sum(one.microdollars for one in members)
        title = _STEPS[detour] if detour or not tool else f"{tool} {len(members)} ×"
        if not detour and len(members) == 1:
            title = tool or "answer"
        yield CostBlock(title, total, detour or _largest(below), members[0].seq, below=below)
    yield from waiting[done:]


def _response(one: OutlineResponse) -> CostBlock:
    return CostBlock(f"#{one.seq}", one.microdollars, one.detour or one.made_of, one.seq)


def _agents(store: Store, lanes: list[OutlineLane]) -> list[CostBlock]:
    """Return a block for each subagent in ``lanes``.

    It contains the responses of the subagent. If subagents below it cost something, it contains
    their blocks and one block for the subagent itself.
    """
    uids = [lane.uid for lane in lanes if lane.uid]
    below = subagents(store, uids) if uids else {}
    members = {one for uid in uids for one in family(uid, below)}
    own = session_amounts(store, members) if members else {}
    titles = best_titles(store, members) if members else {}
    responses = _single_responses(store, sorted(members))
    # Logs may claim that two subagents started each other. Each is counted once.
    seen = set(uids)

    def block(uid: str, title: str, seq: int | None, depth: int = 0) -> CostBlock:
        if depth == DEEPEST:
            rest = [one for one in family(uid, below) if one == uid or one not in seen]
            seen.update(rest)
            return CostBlock(title, sum(own[one].microdollars for one in rest), AGENT, seq, uid)
        fresh = [child for child in below.get(uid, ()) if child not in seen]
        seen.update(fresh)
        nested = [block(child, titles[child], seq, depth + 1) for child in fresh]
        nested = [one for one in nested if one.microdollars]
        itself, single = own[uid].microdollars, tuple(responses.get(uid, ()))
        total = itself + sum(one.microdollars for one in nested)
        if not nested:
            return CostBlock(title, total, AGENT, seq, uid, single)
        first = [CostBlock("itself", itself, AGENT, seq, uid, single)] if itself else []
        return CostBlock(title, total, AGENT, seq, uid, (*first, *nested))

    return [block(lane.uid, lane.title, lane.seq) for lane in lanes if lane.uid]


def _single_responses(store: Store, uids: list[str]) -> dict[str, list[CostBlock]]:
    found: dict[str, list[CostBlock]] = {}
    if not uids:
        return found
    costs = charges(store, ("session", "seq"), UsageFilter(uids=tuple(uids)))
    for charge in sorted(costs, key=lambda one: one.key[1] or 0):
        if charge.microdollars:
            uid, seq = charge.key
            title = "no place" if seq is None else f"#{seq}"
            found.setdefault(uid, []).append(
                CostBlock(title, charge.microdollars, AGENT, None, uid)
            )
    return found


class CostCause(msgspec.Struct, frozen=True):
    """A part of a session that cost much. ``what`` and ``which`` name it in words, ``seq`` is an
    event in it."""

    what: str
    which: str
    microdollars: int
    seq: int | None = None


def detour_sums(outline: Outline) -> dict[str, int]:
    """Return the cost of each sort of detour, highest first. Subagents are not included."""
    sums: dict[str, int] = {}
    for one in outline.responses:
        if one.detour and one.microdollars:
            sums[one.detour] = sums.get(one.detour, 0) + one.microdollars
    return dict(sorted(sums.items(), key=lambda pair: -pair[1]))


def largest_cause(outline: Outline, blocks: Sequence[CostBlock]) -> CostCause | None:
    """Return the largest cause of a session's cost; None if it cost nothing.

    That is a subagent or a sort of detour with at least a fifth of the cost, else the dearest turn.
    """
    total = sum(block.microdollars for block in blocks)
    if not total:
        return None
    causes = [
        CostCause("one subagent", part.title, part.microdollars, part.seq)
        for block in blocks
        for part in block.below
        if part.look == AGENT
    ]
    words = {
        "failed": "calls that failed, until they worked",
        "uncached": "paid for twice because the cache was gone",
        "reread": "paid for twice because files were read again after a compaction",
        "left": "left behind by a rewind",
    }
    for sort, amount in detour_sums(outline).items():
        members = [one for one in outline.responses if one.detour == sort and one.microdollars]
        dearest = max(members, key=lambda one: one.microdollars)
        some = plural(len(members), "response")
        causes.append(CostCause(words[sort], some, amount, dearest.seq))
    largest = max(causes, key=lambda cause: cause.microdollars, default=None)
    if largest is not None and largest.microdollars * 5 >= total:
        return largest
    turn = max(blocks, key=lambda block: block.microdollars)
    return CostCause("one turn", turn.title, turn.microdollars, turn.seq)
