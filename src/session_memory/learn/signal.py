"""A signal: one thing that stands out in a session, with the events that prove it."""

from collections.abc import Iterator

import msgspec

from session_memory.core.text import one_line
from session_memory.learn.digest import Digest

POLARITIES = PROBLEM, SUCCESS = "problem", "success"
MEASURED, ESTIMATED = "measured", "estimated"
LOCUS, DETAIL = 200, 300


class Signal(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that stands out in a session: a problem or a success (``polarity``).

    Signals with the same ``type``, ``locus`` and ``repo`` form one pattern. ``locus`` is what the
    signal is about: the fingerprint of an error, a program, a file. ``magnitude`` is how often it
    occurred. ``tokens`` and ``microdollars`` are its cost; ``basis`` says whether the tokens were
    ``measured`` or ``estimated``. The money is the tokens' share of the session's cost.
    """

    session_uid: str
    flavor: str
    repo: str | None
    type: str
    polarity: str
    locus: str
    magnitude: int
    detail: str
    tokens: int = 0
    microdollars: int = 0
    basis: str = MEASURED
    evidence: tuple[str, ...] = ()
    at: str | None = None


def signal(
    digest: Digest,
    kind: str,
    *,
    locus: str,
    magnitude: int,
    detail: str,
    evidence: tuple[str, ...] = (),
    tokens: int = 0,
    polarity: str = PROBLEM,
    basis: str | None = None,
) -> Signal:
    """Make a signal of the digest's session. ``basis`` is by default that of the digest."""
    return Signal(
        session_uid=digest.session_uid,
        flavor=digest.flavor,
        repo=digest.repo,
        type=kind,
        polarity=polarity,
        locus=one_line(locus, LOCUS),
        magnitude=magnitude,
        detail=one_line(detail, DETAIL),
        tokens=tokens,
        microdollars=digest.money(tokens),
        basis=basis or digest.basis,
        evidence=evidence,
        at=digest.ended_at or digest.started_at,
    )


def ending_signals(
    digest: Digest, kind: str, outcome: str, words: dict[str, str]
) -> Iterator[Signal]:
    """Yield one signal if the session's outcome is ``outcome``.

    ``words`` has the text of the signal for each reason of the outcome.
    """
    ending = digest.outcome
    if ending.outcome == outcome:
        yield signal(
            digest,
            kind,
            locus=ending.reason,
            magnitude=1,
            detail=words.get(ending.reason, ending.reason),
            evidence=ending.evidence,
            tokens=digest.cost.tokens,
        )
