"""The changes that a person can make on the page: pins, names, and patterns as lessons.

Each change needs a form of our own page with its token, and does what a command does. The page
names that command.
"""

from starlette.responses import RedirectResponse, Response

from session_memory.core.time import now_ms
from session_memory.learn.curate import DecisionNote, accept, current_user, reject
from session_memory.views.lessons import lessons_of, pattern_named, pattern_or_lesson
from session_memory.web.asked import Asked
from session_memory.web.pages.session_head import session_of
from session_memory.web.rows import session_address

WHY = "on the web page"


def pin(asked: Asked) -> Response:
    """Pin a session, as ``session-memory pin`` does: it is never evicted."""
    uid, store = session_of(asked).session_uid, asked.memory.store
    with store.transaction():
        store.retention.pin(uid, now_ms())
    return RedirectResponse(session_address(uid), 303)


def unpin(asked: Asked) -> Response:
    """Unpin a session, as ``session-memory unpin`` does."""
    uid, store = session_of(asked).session_uid, asked.memory.store
    with store.transaction():
        store.retention.unpin(uid)
    return RedirectResponse(session_address(uid), 303)


def name(asked: Asked) -> Response:
    """Name a session, as ``session-memory name`` does. An empty name removes the name."""
    uid = session_of(asked).session_uid
    asked.memory.session(uid).set_name(asked.form.get("name") or None)
    return RedirectResponse(session_address(uid), 303)


def accept_lesson(asked: Asked) -> Response:
    """Make a pattern a lesson, as ``session-memory lessons accept`` does."""
    store, config = asked.memory.store, asked.memory.config
    folder = lessons_of(store, config)
    pattern = pattern_named(store, folder, asked.path["id"])
    lesson = accept(folder, store, pattern, config.lessons, _note())
    return RedirectResponse(f"/lessons/{lesson.id}", 303)


def reject_lesson(asked: Asked) -> Response:
    """Reject a pattern or lesson, as ``session-memory lessons reject`` does."""
    store, config = asked.memory.store, asked.memory.config
    folder = lessons_of(store, config)
    reject(folder, store, pattern_or_lesson(store, folder, asked.path["id"]), _note())
    return RedirectResponse("/lessons", 303)


def _note() -> DecisionNote:
    return DecisionNote(now_ms(), current_user(), WHY, force=False)
