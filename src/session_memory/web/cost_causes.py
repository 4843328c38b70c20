"""Say in a few words what made a session expensive, for lists of sessions."""

from session_memory.core.schema import Session
from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.render.text import cut
from session_memory.views.cost_blocks import cost_blocks, largest_cause
from session_memory.web.asked import Asked

LONGEST_TITLE = 40
# Making the outline of a longer session takes most of a second. So only a kept outline is used.
MOST_EVENTS = 20_000


def cost_cause(asked: Asked, session: Session) -> str:
    """Return the largest cause of what a session cost; empty if it is unknown."""
    store, uid = asked.memory.store, session.session_uid
    row = store.sessions.row(uid)
    if row is None:
        return ""
    outline = asked.site.kept_outline(uid)
    if outline is None or outline.revision != session.revision:
        if store.events.last_seq(row.id) > MOST_EVENTS:
            return ""
        outline = asked.site.outline(asked.memory, uid, session.revision)
    cause = largest_cause(outline, cost_blocks(store, outline))
    if cause is None:
        return ""
    named = cause.what.startswith("one ")
    words = f"{cause.what}, {cut(cause.which, LONGEST_TITLE)}" if named else cause.what
    return f"{words}: {money(Amount(cause.microdollars))}"
