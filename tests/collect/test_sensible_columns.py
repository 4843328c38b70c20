"""A list of sessions tells people something about each one, whichever agent logged it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from session_memory.core.schema import Session
from session_memory.store import Store

pytestmark = pytest.mark.only("sqlite")
CollectedOnce = Callable[[Path], Store]

# What the logs of an agent do not say. Its page below docs/formats says so, too.
NOT_LOGGED = {
    "cline": {"subagent": {"repo", "cwd"}},
    "cursor": {None: {"repo", "cwd", "model"}, "subagent": {"repo", "cwd", "model", "title"}},
    "gemini": {None: {"repo", "cwd"}},
    "kimi": {None: {"repo", "cwd", "model"}},
    "roo": {None: {"model"}},
}


def _empty(session: Session) -> set[str]:
    return {name for name in ("title", "repo", "cwd", "model") if not getattr(session, name)}


def test_every_session_has_a_title_a_place_a_model_and_times(
    sample: Path, collected_once: CollectedOnce
) -> None:
    store = collected_once(sample / "home")
    sessions = list(store.sessions.every())
    assert sessions
    for session in sessions:
        allowed = NOT_LOGGED.get(session.flavor, {}).get(session.relation, set())
        assert _empty(session) <= allowed, session.session_uid
        title = session.title or "-"
        assert "\n" not in title and title[0] not in "{[<", title
        if session.started_at and session.ended_at:
            assert session.started_at <= session.ended_at
        assert session.flavor == session.session_uid.partition(":")[0]
