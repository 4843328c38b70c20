"""Detect errors that occurred in several sessions."""

from collections import defaultdict
from collections.abc import Iterator
from os.path import commonprefix

from session_memory.learn.detector import FleetDetector
from session_memory.learn.digest.fingerprints import rule_of
from session_memory.learn.digest.runner_lines import MISSING_FILE
from session_memory.learn.fleet import Fleet
from session_memory.learn.signal import Signal
from session_memory.store.digests import ErrorRow

SESSIONS = 2


def recurring_error(fleet: Fleet) -> Iterator[Signal]:
    by_error: dict[tuple[str, str], list[ErrorRow]] = defaultdict(list)
    for error in fleet.errors:
        # Paths do not matter for a fingerprint. But sessions that looked for different files in
        # vain have no problem in common.
        file = error.sample if MISSING_FILE.match(error.sample) else ""
        by_error[error.fingerprint, file].append(error)
    for (fingerprint, _), errors in sorted(by_error.items()):
        if len(errors) >= SESSIONS:
            # All signals of an error get the same text, in whatever order sessions were analyzed.
            detail = _detail(sorted({error.sample for error in errors}))
            for error in errors:
                yield fleet.signal(
                    error.session_uid,
                    "recurring_error",
                    locus=fingerprint,
                    magnitude=error.count,
                    detail=detail,
                    evidence=(error.event_uid,),
                    tokens=error.tokens,
                )


def _detail(samples: list[str]) -> str:
    """Return the first sample. Samples of a linter's rule differ in names, which become ``…``."""
    first, *others = samples
    if not others or not rule_of(first):
        return first
    words = [sample.split() for sample in samples]
    start = commonprefix(words)
    end = commonprefix([sample[len(start) :][::-1] for sample in words])[::-1]
    return " ".join([*start, "…", *end])


DETECTOR = FleetDetector(
    type="recurring_error",
    title="An error that comes back in session after session",
    advice="Write down how to avoid: {detail}",
    find=recurring_error,
)
