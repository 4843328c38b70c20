"""The command that resumes a session in its own agent. It is an argument list, run without a
shell."""

import re
import shlex
from pathlib import Path
from typing import Any

import msgspec

from session_memory.collect.discover import roots
from session_memory.collect.row_sources import file_of
from session_memory.config import Config
from session_memory.core.errors import CannotResume
from session_memory.core.roles import FIRST_LOGS
from session_memory.core.schema import Session
from session_memory.derive.agents import about
from session_memory.store import Store
from session_memory.views.short_names import short_names

# An id that begins with a dash would be read as an option.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,199}")


class Resume(msgspec.Struct, frozen=True):
    """How to resume a session. ``cwd`` is the directory to start the agent in. ``is_gone``: the
    log is not where the agent looks for it. ``is_cwd_gone``: the directory does not exist."""

    session_uid: str
    argv: tuple[str, ...]
    cwd: str | None
    is_gone: bool
    is_cwd_gone: bool
    host: str | None

    @property
    def line(self) -> str:
        """The command as a line to paste into a shell, with every word quoted."""
        command = shlex.join(self.argv)
        return f"cd {shlex.quote(self.cwd)} && {command}" if self.cwd else command

    def to_dict(self) -> dict[str, Any]:
        return {**msgspec.to_builtins(self), "argv": list(self.argv), "line": self.line}


def resume(store: Store, session: Session, here: str) -> Resume:
    """Return the command that resumes ``session``. ``here`` is the name of this machine."""
    name = short_names(store, [session.session_uid])[session.session_uid]
    if session.relation == "subagent":
        parent = session.parent_uid
        is_stored = parent is not None and store.sessions.row(parent) is not None
        raise CannotResume(
            f"{session.session_uid} is a subagent and cannot be resumed alone",
            f"Open the session that started it: session-memory open {parent}"
            if is_stored
            else f"Read it instead: session-memory show {name}",
        )
    agent, native = about(session.flavor), session.native_session_id
    command = agent.resume_command
    if not command or not native.startswith(agent.resumable_ids):
        raise CannotResume(
            f"the command that resumes {session.session_uid} is not known",
            f"Read it instead: session-memory show {name}",
        )
    if not _ID.fullmatch(native) or not _is_plain(session.cwd):
        raise CannotResume(
            f"the id or directory of {session.session_uid} is not safe to start a program with",
            f"Read it instead: session-memory show {name}",
        )
    return Resume(
        session_uid=session.session_uid,
        argv=command if agent.resumes_without_id else (*command, native),
        cwd=session.cwd,
        is_gone=not _is_there(store, session, here),
        is_cwd_gone=session.cwd is not None and not Path(session.cwd).is_dir(),
        host=session.host if session.host not in (None, here) else None,
    )


def _is_plain(cwd: str | None) -> bool:
    """Whether a directory is safe in a line that a person pastes: printable and absolute."""
    return cwd is None or (cwd.isprintable() and cwd.startswith("/"))


def _is_there(store: Store, session: Session, here: str) -> bool:
    row = store.sessions.row(session.session_uid)
    sources = store.sessions.source_ids(row.id) if row else []
    rows = [store.sources.get(source) for source in sources]
    logs = [file_of(one) for one in rows if one.role in FIRST_LOGS and one.host == here]
    agent = about(session.flavor)
    if agent.in_repositories:
        return any(log.exists() for log in logs if log and "\0" not in str(log))
    # Only where the agent itself looks, not the roots that the user configured.
    own = [root.path for root in roots(Config(), only=(session.flavor,))]
    outside = (place for root in own for place in agent.outside(root))
    places = [place.resolve() for place in (*own, *outside)]
    return any(_is_below(log, places) for log in logs if log and "\0" not in str(log))


def _is_below(log: Path, places: list[Path]) -> bool:
    real = log.resolve()
    return real.exists() and any(real.is_relative_to(place) for place in places)
