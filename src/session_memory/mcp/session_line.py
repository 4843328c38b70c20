"""Write the line that names a session: its ref, age, repository, branch, agent and outcome."""

import re

from session_memory.core.schema import Session
from session_memory.core.text import one_line
from session_memory.core.time import parse_time
from session_memory.mcp.asking import Question
from session_memory.views.paths import path_from
from session_memory.views.short_names import short_names

LONGEST_NAME = 60
# A log may contain any name. Without blanks and signs, a name cannot look like a sentence of ours.
_STRANGE = re.compile(r"[^\w./@+#-]+")


def head_line(question: Question, ref: str, session: Session, outcome: str) -> str:
    moment = session.ended_at or session.started_at
    when = question.age(parse_time(moment) if moment else None)
    is_elsewhere = not question.is_here(session.repo) and session.repo
    facts = [when]
    if is_elsewhere:
        facts.append(f"repository {_short(session.repo or '')}")
    if session.git_branch:
        facts.append(f"branch {_short(session.git_branch)}")
    facts.append(session.flavor)
    if outcome != "unknown":
        facts.append(outcome)
    return f"[{ref}] {', '.join(facts)}"


def event_ref(question: Question, uid: str, event_uid: str) -> str:
    """Return the ref of an event: ``5b0c6a1e#412``. It has no number if the session was evicted."""
    store = question.memory.store
    name = short_names(store, [uid])[uid]
    row = store.sessions.row(uid)
    chain = store.events.chain(row.id) if row else ()
    seq = next((seq for seq, _, _, known, _ in chain if known == event_uid), None)
    return name if seq is None else f"{name}#{seq}"


def shown_path(path: str, session: Session) -> str:
    """Return a path relative to the repository of the session; other paths stay as they are.

    The first directory that has the repository's name is taken as the repository, because a package
    inside it often has the same name."""
    if session.repo and path.startswith("/"):
        _, found, below = path.partition(f"/{session.repo}/")
        if found:
            return below
    return path_from(path, session.cwd)


def _short(name: str) -> str:
    return _STRANGE.sub("_", one_line(name, LONGEST_NAME))
