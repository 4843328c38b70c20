"""The tool ``hook``: an agent asks the running server instead of starting ``session-memory hook``.

Models do not see it. ``agent`` and ``event`` are the arguments of that command, and the other
arguments are named as in the input that the agent gives to it. The tool never fails: if there is no
answer, the text is empty. If the reason is an error, ``session-memory doctor`` shows it.
"""

import json
from typing import Any

from session_memory.hooks.agents import AGENTS
from session_memory.hooks.events import answer
from session_memory.hooks.hook_input import HookInput
from session_memory.hooks.place import store_place
from session_memory.hooks.running import note

# The event `end` is missing: this server ends with the session, so another process collects it.
EVENTS = ("failure", "prompt", "start")


def answer_hook(given: dict[str, Any], store: str | None, config: str | None) -> str:
    name, event = str(given.get("agent")), str(given.get("event"))
    try:
        if name not in AGENTS or event not in EVENTS:
            raise ValueError("unknown agent or event")
        hook = HookInput(AGENTS[name], given)
        text = answer(hook, event, store or store_place(config))
    except Exception as error:
        # The error is only noted, because the agent would show it to its user.
        note(name, event, error)
        return ""
    if not text:
        return ""
    return json.dumps(hook.agent.answer(event, hook.native_event, text))
