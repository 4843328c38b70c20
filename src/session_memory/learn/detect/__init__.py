"""Detectors: pure functions that find what stands out. The two tuples are the whole of it.

A detector in `IN_A_SESSION` looks at one digest, so its signals are stored with it; one in
`ACROSS_SESSIONS` compares sessions, so it is asked whenever somebody wants to know.
"""

from collections.abc import Callable, Iterator

from session_memory.learn.detect.abandoned import abandoned
from session_memory.learn.detect.budget_overrun import budget_overrun
from session_memory.learn.detect.clean_pass import clean_pass
from session_memory.learn.detect.context_overflow import context_overflow
from session_memory.learn.detect.failed import failed
from session_memory.learn.detect.flaky_test import flaky_test
from session_memory.learn.detect.oversized_output import oversized_output
from session_memory.learn.detect.permission_denied import permission_denied
from session_memory.learn.detect.recovery import recovery
from session_memory.learn.detect.recurring_error import recurring_error
from session_memory.learn.detect.recurring_instruction import recurring_instruction
from session_memory.learn.detect.repeated_error import repeated_error
from session_memory.learn.detect.repeated_instruction import repeated_instruction
from session_memory.learn.detect.reread_file import reread_file
from session_memory.learn.detect.retry_storm import retry_storm
from session_memory.learn.detect.schema_thrash import schema_thrash
from session_memory.learn.detect.thrown_away import thrown_away
from session_memory.learn.detect.timeout import timeout
from session_memory.learn.digest import Digest
from session_memory.learn.fleet import Fleet
from session_memory.learn.signal import Signal

IN_A_SESSION: tuple[Callable[[Digest], Iterator[Signal]], ...] = (
    retry_storm,
    repeated_error,
    schema_thrash,
    permission_denied,
    timeout,
    flaky_test,
    oversized_output,
    reread_file,
    thrown_away,
    context_overflow,
    repeated_instruction,
    failed,
    abandoned,
    recovery,
    clean_pass,
)
ACROSS_SESSIONS: tuple[Callable[[Fleet], Iterator[Signal]], ...] = (
    recurring_error,
    recurring_instruction,
    budget_overrun,
)


def signals_in(digest: Digest) -> Iterator[Signal]:
    """What stands out in one session, in the order of the detectors."""
    for detect in IN_A_SESSION:
        yield from detect(digest)


def signals_across(fleet: Fleet) -> Iterator[Signal]:
    """What stands out when sessions are compared."""
    for detect in ACROSS_SESSIONS:
        yield from detect(fleet)
