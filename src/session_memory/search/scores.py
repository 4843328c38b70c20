"""Compute the score of a hit, and the text that says why it matched.

The score depends on the class of the hit (title, message, summary, call, output). Newer hits score
a little higher. The class mostly matters more than the age: an old message beats a new tool output.
"""

import math
from collections.abc import Mapping, Sequence

import msgspec

from session_memory.search.filters import TITLE
from session_memory.search.query import Term
from session_memory.store.hits import Hit, HitSession

WEIGHTS = {TITLE: 1.2, "message": 1.0, "summary": 0.9, "call": 0.8, "output": 0.6}
PROMPT = 1.05
ABANDONED = 0.9
# A very old hit keeps this share of its score.
OLDEST = 0.88
HALF_LIFE_MS = 60 * 86_400_000

Expanded = Mapping[str, tuple[str, ...]]


class ScoredHit(msgspec.Struct, frozen=True):
    """A hit of a search with its score. ``hit`` is the event; None for a session's title.

    ``name`` is the class, and ``why`` says what matched: "a prompt has login".
    """

    session: HitSession
    hit: Hit | None
    score: float
    name: str
    why: str


class Scoring:
    """Scores the hits of one search. ``now`` decides how old they are.

    ``expanded`` are the words that some of the ``terms`` were expanded to.
    """

    def __init__(self, terms: Sequence[Term], expanded: Expanded, now: int) -> None:
        reasons = [_reason(term, expanded) for term in terms if not term.is_negative]
        self._reasons = f" has {', '.join(reasons)}" if reasons else ""
        self._now = now

    def title(self, session: HitSession) -> ScoredHit:
        score = round(WEIGHTS[TITLE] * self._fresh(session.ended_at), 4)
        return ScoredHit(session, None, score, TITLE, f"the title{self._reasons}")

    def event(self, hit: Hit, session: HitSession, name: str) -> ScoredHit:
        score = WEIGHTS[name] * self._fresh(hit.ts or session.ended_at)
        if "user_msg" in hit.kinds:
            score *= PROMPT
        if hit.branch is not None:
            score *= ABANDONED
        return ScoredHit(session, hit, round(score, 4), name, f"{_place(hit, name)}{self._reasons}")

    def _fresh(self, ts: int | None) -> float:
        age = max(self._now - ts, 0) if ts is not None else 1 << 62
        return OLDEST + (1 - OLDEST) * math.exp2(-min(age / HALF_LIFE_MS, 60))


def best_first(one: ScoredHit) -> tuple[float, int, str, int]:
    hit = one.hit
    when = (hit.ts if hit else one.session.ended_at) or 0
    return (-one.score, -when, one.session.uid, hit.seq if hit else -1)


def _place(hit: Hit, name: str) -> str:
    if name == "call":
        return f"a call of {hit.tool}" if hit.tool else "a call"
    if name == "output":
        return "what a tool printed"
    if name == "summary":
        return "a note"
    if "user_msg" in hit.kinds:
        return "a prompt"
    return "a thought" if "thinking" in hit.kinds else "an answer"


def _reason(term: Term, expanded: Expanded) -> str:
    if term.shown in expanded:
        return f"a word with {term.shown.strip('*')}"
    return term.shown
