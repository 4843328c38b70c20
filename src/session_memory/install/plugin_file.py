"""Make a plugin in the language of an agent from a template."""

import json
from pathlib import Path
from typing import Any

from session_memory.install.agent import Request
from session_memory.install.parts import Whole
from session_memory.install.skill import MARK

_TEMPLATES = Path(__file__).parent / "agents"
# The part of a plugin that starts `session-memory hook`, the same for each agent.
HOOK_CALL = "plugin_hook.js"


def plugin_file(template: str, agent: str, request: Request, **constants: Any) -> Whole:
    """Return the plugin for an agent: the file ``template``, filled in.

    ``@COMMAND@``, ``@EVENTS@`` and ``@SIZE@`` become the values of ``request``, and ``@TOOLS@``
    becomes the constant ``TOOLS``, all as JSON.
    """
    text = (_TEMPLATES / template).read_text(encoding="utf-8")
    text = text.replace("@HOOK@", (_TEMPLATES / HOOK_CALL).read_text(encoding="utf-8"))
    size = len(request.program)
    values = {"COMMAND": request.words, "EVENTS": request.hooks, "SIZE": size, **constants}
    for name, value in values.items():
        text = text.replace(f"@{name}@", json.dumps(value, ensure_ascii=False))
    return Whole(text.replace("@AGENT@", agent), MARK, template)
