"""Decide whether a skill gets another attempt. A pure function of the attempts so far."""

from collections.abc import Sequence

from session_memory.core.schema import Attempt

MOST_ATTEMPTS = 3


def may_try_again(attempts: Sequence[Attempt], most: int = MOST_ATTEMPTS) -> bool:
    """Whether to try again: not after a verified attempt, two equal outputs or ``most`` tries."""
    if not attempts:
        return most > 0
    if attempts[-1].verified or len(attempts) >= most:
        return False
    outputs = [(attempt.output_summary, attempt.runner_output) for attempt in attempts[-2:]]
    return len(outputs) < 2 or outputs[0] != outputs[1]
