"""The event ``start``: give the agent a line about the tools of the memory.

After a compaction, give it a text about what the compaction may have removed from the context.

This hook is off by default.
"""

import os

from session_memory.hooks.hook_input import HookInput
from session_memory.hooks.injection import repository_text

SOURCE = ("source", "trigger")


def answer(hook: HookInput, store: str) -> str | None:
    """The text for the model, or None."""
    source = hook.text(SOURCE)
    if source == "compact":
        return _after_compaction(hook, store)
    # A session that is resumed has the line already.
    return None if source == "resume" else _about_repository(hook, store)


def _about_repository(hook: HookInput, store: str) -> str | None:
    from session_memory.hooks.repository import stored_repository
    from session_memory.store.quick_reading import QuickReader

    reader = QuickReader(store)
    try:
        repo = stored_repository(reader, hook.cwd or os.getcwd())
    finally:
        reader.close()
    return None if repo is None else repository_text(repo)


def _after_compaction(hook: HookInput, store: str) -> str | None:
    """Collect the log of the session up to now, and say what is in it.

    This takes longer than other hooks, but a compaction itself takes much longer."""
    from session_memory.hooks.collecting import collect_now
    from session_memory.hooks.injection import compaction_text
    from session_memory.store.quick_reading import QuickReader

    # This raises if the store is of another release. Opening an older store would migrate it.
    QuickReader(store).close()
    found = collect_now(hook.agent.name, hook.session, store)
    return None if found is None else compaction_text(*found)
