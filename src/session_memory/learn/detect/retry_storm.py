"""The same call failing again and again, or the model not to be reached for long."""

from collections.abc import Iterator

from session_memory.learn.digest import Digest
from session_memory.learn.fingerprints import normalized
from session_memory.learn.signal import Signal, signal


def retry_storm(digest: Digest) -> Iterator[Signal]:
    for repeat in digest.repeats:
        ended = "then it worked" if repeat.resolved else "it never worked"
        yield signal(
            digest,
            "retry_storm",
            locus=f"{repeat.tool or 'model'}: {normalized(repeat.call)}",
            magnitude=repeat.failures,
            detail=f"{repeat.failures} failures in a row of {repeat.call or 'the model'}; {ended}",
            evidence=repeat.event_uids,
            tokens=repeat.tokens,
        )
