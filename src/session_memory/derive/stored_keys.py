"""Hold the keys of all stored records, the ids of all responses and all sources in memory."""

KEYS_IN_MEMORY = 300_000


class StoredKeys:
    """Answers whether records are new without asking the database.

    It is right only for a store that was empty when the sync began, and while no other process
    writes to it. Such a store has no names that people gave to sessions.
    """

    def __init__(self) -> None:
        self._records: set[bytes] = set()
        self._responses: set[str] = set()
        self._sources: set[tuple[str, int]] = set()

    def add_if_new(self, records: list[bytes], responses: set[str]) -> bool:
        """Add the keys. Returns whether none of them was there before."""
        is_new = self._records.isdisjoint(records) and self._responses.isdisjoint(responses)
        self._records.update(records)
        self._responses.update(responses)
        return is_new

    def add_source(self, source: tuple[str, int]) -> bool:
        """Add a new source by its path and generation. Returns whether it was not there before."""
        is_new = source not in self._sources
        self._sources.add(source)
        return is_new

    @property
    def is_full(self) -> bool:
        return len(self._records) > KEYS_IN_MEMORY
