"""Plugins in the language of an agent: a template whose constants are filled in."""

import json
from pathlib import Path
from typing import Any

from session_memory.install.agent import Request
from session_memory.install.parts import Whole
from session_memory.install.skill import MARK

_TEMPLATES = Path(__file__).parent / "agents"


def plugin_file(template: str, agent: str, request: Request, **constants: Any) -> Whole:
    """The plugin for an agent. A constant ``TOOLS`` stands for ``@TOOLS@`` as JSON."""
    text = (_TEMPLATES / template).read_text(encoding="utf-8")
    size = len(request.program)
    values = {"COMMAND": request.words, "EVENTS": request.hooks, "SIZE": size, **constants}
    for name, value in values.items():
        text = text.replace(f"@{name}@", json.dumps(value, ensure_ascii=False))
    return Whole(text.replace("@AGENT@", agent), MARK, template)
