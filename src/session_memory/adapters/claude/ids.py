"""Convert the ids of sessions and records in Claude Code's logs to ids that the store accepts."""

from functools import lru_cache

from session_memory.adapters.base import SourceRef
from session_memory.adapters.claude.lines import ClaudeLine
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped


def session_of(ref: SourceRef, line: ClaudeLine | None) -> str:
    """Return the native id of the session that a line belongs to: the line names it, else its
    file does."""
    session = (line.sessionId if line is not None else None) or ref.session
    return agent_session(session, ref.agent) if ref.agent else fit(session)


@lru_cache(maxsize=4096)
def agent_session(session: str, agent: str) -> str:
    """Return the native id of a subagent's session: ``<session>:<agent>``."""
    return fit(f"{session}:{agent}" if session else f"agent-{agent}")


@lru_cache(maxsize=4096)
def fit(native_id: str) -> str:
    """Return the native id, or a hash of it if the store does not accept it."""
    # An id may be part of a file's name, and the store escapes such names. The id is escaped here
    # too, so that it is the same when the name is read back from the store.
    return fit_native_id(escaped(native_id))[0]


def record_id(uuid: str | None) -> str | None:
    """Return the native id of a record; None for a line without a ``uuid``."""
    if not uuid:
        return None
    return uuid if len(uuid) == 36 and uuid.replace("-", "").isalnum() else fit(uuid)
