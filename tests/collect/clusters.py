"""Which sessions were derived together."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from session_memory.derive.derivation import Derivation


@contextmanager
def derived_clusters() -> Iterator[list[int]]:
    """The number of sessions in each cluster that is derived within this block."""
    sizes: list[int] = []
    run = Derivation._run

    def counting(self: Derivation) -> None:
        sizes.append(len(self._rows))
        run(self)

    with patch.object(Derivation, "_run", counting):
        yield sizes
