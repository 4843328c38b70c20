"""How often tests repeat what is random: generated examples, killed processes, concurrent writers.

``make test`` repeats enough to find what has ever been found. To search longer, overnight for
example: ``EFFORT=20 make test``.
"""

import os

EFFORT = float(os.environ.get("EFFORT", "1"))
# With more effort the examples are new ones each time; without, they are the same every time.
IS_REPEATABLE = "EFFORT" not in os.environ


def times(count: int) -> int:
    """``count`` repetitions, multiplied by EFFORT."""
    return max(1, round(count * EFFORT))
