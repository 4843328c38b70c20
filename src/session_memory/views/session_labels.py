"""The names of sessions in a list of results: a short name to type, and a title to read."""

from collections.abc import Iterable
from typing import NamedTuple

from session_memory.redact import mask_cut
from session_memory.store import Store
from session_memory.views.session_titles import best_titles
from session_memory.views.short_names import short_names


class SessionLabels(NamedTuple):
    """Short names and titles by uid. Secrets in titles are masked."""

    names: dict[str, str]
    titles: dict[str, str]

    def name(self, uid: str) -> str:
        """Return the short name; the uid itself if the session is not in the store."""
        return self.names.get(uid, uid)

    def title(self, uid: str) -> str:
        """Return the best title there is; empty if the session is not in the store."""
        return self.titles.get(uid, "")


def session_labels(store: Store, uids: Iterable[str]) -> SessionLabels:
    wanted = set(uids)
    titles = {uid: mask_cut(title) for uid, title in best_titles(store, wanted).items()}
    return SessionLabels(short_names(store, wanted), titles)
