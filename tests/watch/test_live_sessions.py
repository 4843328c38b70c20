"""A watch follows live sessions too: no file changes, so it asks."""

from collections.abc import Callable

from session_memory.live.store import SessionStore

from .conftest import Memory
from .watching import Watching


def test_a_message_that_is_appended_is_in_the_store(
    memory: Memory, watch: Callable[..., Watching]
) -> None:
    with SessionStore.open(memory.place, durability="normal") as live:
        session = live.create_session(cwd="/home/mira/code/kiln")
        following = watch()
        live.append_message(session, role="user", content="how hot is it?")
        changed = following.has_events(f"live:{session}", 1)
        assert changed["repo"] == "kiln"
        live.append_message(session, role="assistant", content="900 degrees")
        following.has_events(f"live:{session}", 2)
    assert memory.summaries(f"live:{session}") == ["how hot is it?", "900 degrees"]
