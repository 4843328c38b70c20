"""Whether a skill is worth another try. Pure: what was tried decides, nothing else."""

from collections.abc import Sequence

from session_memory.core.schema import Attempt

MOST_ATTEMPTS = 3


def may_try_again(attempts: Sequence[Attempt], most: int = MOST_ATTEMPTS) -> bool:
    """Not after a try that was verified, not after two equal outputs in a row, and not for ever."""
    if not attempts:
        return most > 0
    if attempts[-1].verified or len(attempts) >= most:
        return False
    outputs = [(attempt.output_summary, attempt.runner_output) for attempt in attempts[-2:]]
    return len(outputs) < 2 or outputs[0] != outputs[1]
