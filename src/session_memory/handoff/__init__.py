"""Hand a session over: another agent continues it, with its calls and results.

The conversation is read from the store, its calls become calls of the target's own tools, and the
target's adapter makes the files of a new session. The old session is not touched.
"""

from session_memory.core.time import now_ms
from session_memory.derive.agents import handoff_targets as targets
from session_memory.handoff.handing import Handoff, HandoffOptions, hand_over
from session_memory.handoff.pack import text_pack
from session_memory.handoff.versions import InstalledVersion
from session_memory.handoff.writing import write
from session_memory.store import Store

__all__ = [
    "Handoff",
    "HandoffOptions",
    "hand_over",
    "hand_over_checked",
    "targets",
    "text_pack",
    "write",
]


def hand_over_checked(
    store: Store, uid: str, to: str, options: HandoffOptions, *, any_version: bool = False
) -> Handoff:
    """Write the session as a new session of the agent ``to``.

    Raises if this agent is not installed, or if its version is unknown or newer than the newest
    tested one. With ``any_version`` none of this is checked.
    """
    installed = InstalledVersion(to) if to in targets() and not any_version else None
    handoff = hand_over(store, uid, to, options, now_ms())
    if installed is not None:
        installed.refuse_untested()
    write(handoff)
    return handoff
