"""How often tests repeat what is random: generated examples, killed processes, concurrent writers.

``make test`` repeats each a few times. To search longer, overnight for example:
``EFFORT=20 make test``.
"""

import os

EFFORT = float(os.environ.get("EFFORT", "1"))
# With more effort the examples are new ones each time; without, they are the same every time.
IS_REPEATABLE = "EFFORT" not in os.environ
# All tests together shall take five minutes on two processors. This share of the counts that the
# tests name is what there is time for.
SHARE = 0.6


def times(count: int) -> int:
    """``count`` repetitions, multiplied by SHARE and EFFORT."""
    return max(1, round(count * SHARE * EFFORT))
