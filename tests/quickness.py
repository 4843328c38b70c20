"""A limit on the processor time of a block. On a busy machine, a clock shows what others do."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def within_cpu_seconds(limit: float) -> Iterator[None]:
    start = time.process_time()
    yield
    assert time.process_time() - start < limit
