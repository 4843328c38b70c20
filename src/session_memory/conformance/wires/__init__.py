"""The four wire formats in which agents talk to models."""

from session_memory.conformance.wires.anthropic import Anthropic
from session_memory.conformance.wires.base import Wire
from session_memory.conformance.wires.chat import Chat
from session_memory.conformance.wires.gemini import Gemini
from session_memory.conformance.wires.responses import Responses

WIRES: tuple[Wire, ...] = (Anthropic(), Responses(), Chat(), Gemini())


def wire_of(path: str) -> Wire | None:
    """The format of the requests to a URL path, given without its query; None if it is unknown."""
    return next((wire for wire in WIRES if path.endswith(wire.path)), None)
