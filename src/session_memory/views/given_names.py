"""Names that people give to sessions, and the sessions that have one."""

from typing import Any

import msgspec

from session_memory.store import Store


class NamedSessions(msgspec.Struct, frozen=True):
    """The names that people gave to sessions, by the uid of the session."""

    names: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        rows = [{"session_uid": uid, "name": name} for uid, name in self.names.items()]
        return {"named": rows, "total": len(rows)}


def named_sessions(store: Store) -> NamedSessions:
    return NamedSessions(store.given_names.every())
