"""The drivers of the agents that the kit can run, one module for each agent. Other packages can add
drivers as entry points of the group ``session_memory.conformance``."""

from importlib.metadata import entry_points

from session_memory.conformance.driver import Driver
from session_memory.conformance.drivers.aider import Aider
from session_memory.conformance.drivers.claude import Claude
from session_memory.conformance.drivers.cline import Cline
from session_memory.conformance.drivers.codex import Codex
from session_memory.conformance.drivers.copilot import Copilot
from session_memory.conformance.drivers.droid import Droid
from session_memory.conformance.drivers.gemini import GeminiCli
from session_memory.conformance.drivers.goose import Goose
from session_memory.conformance.drivers.grok import Grok
from session_memory.conformance.drivers.kilo import Kilo
from session_memory.conformance.drivers.kimi import Kimi
from session_memory.conformance.drivers.opencode import OpenCode
from session_memory.conformance.drivers.pi import Pi
from session_memory.conformance.drivers.qwen import Qwen
from session_memory.conformance.drivers.vibe import Vibe

GROUP = "session_memory.conformance"
DRIVERS: tuple[type[Driver], ...] = (
    Claude,
    Codex,
    Grok,
    GeminiCli,
    Qwen,
    Copilot,
    OpenCode,
    Kilo,
    Pi,
    Kimi,
    Cline,
    Vibe,
    Droid,
    Goose,
    Aider,
    *(point.load() for point in entry_points(group=GROUP)),
)
