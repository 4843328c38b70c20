"""The events of hooks, by our own names. Each has a module, which is loaded when it is needed."""

import time

from session_memory.hooks.hook_input import HookInput

EVENTS = ("failure", "end", "prompt", "start")


def answer(hook: HookInput, event: str, store: str) -> str | None:
    """Handle an event, and return the text that the model shall get, or None."""
    if event == "failure":
        from session_memory.hooks import failure

        return failure.answer(hook, store)
    if event == "end":
        from session_memory.hooks import ending

        ending.end(hook)
    if event == "prompt":
        from session_memory.hooks import prompting

        return prompting.answer(hook, store, time.time())
    if event == "start":
        from session_memory.hooks import starting

        return starting.answer(hook, store)
    return None
