"""Build the search index, with a progress bar."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from session_memory.cli.kit.settings import Settings

if TYPE_CHECKING:
    from session_memory.store import Store


def make_index_whole(settings: Settings, store: "Store") -> None:
    """Build the search index if it is incomplete, for example after an update."""
    if not store.index.is_complete:
        from session_memory.derive.reindex import ensure_index

        with _index_progress(settings, store) as on_session:
            ensure_index(store, on_session)


def build_index(settings: Settings, store: "Store") -> int:
    from session_memory.derive.reindex import reindex

    with _index_progress(settings, store) as on_session:
        return reindex(store, on_session)


@contextmanager
def _index_progress(settings: Settings, store: "Store") -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar and yield the function that advances it after each session."""
    # Imported late: the progress bar loads the collector, which a plain search does not need.
    from session_memory.cli.kit.progress import progress

    raw, _ = store.raw.stored_bytes()
    count = store.sessions.count()
    with progress(settings, "Indexing") as bar:
        bar.begin(count, raw)
        share = raw // max(count, 1)
        yield lambda done, whole: bar.advance(share)
