"""Which sessions were derived together."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from session_memory.derive.derivation import Derivation


@contextmanager
def derived_clusters() -> Iterator[list[int]]:
    """The number of sessions in each cluster that is derived within this block."""
    sizes: list[int] = []
    settle = Derivation.settle

    def counting(self: Derivation) -> None:
        sizes.append(len(self._rows))
        settle(self)

    with patch.object(Derivation, "settle", counting):
        yield sizes
