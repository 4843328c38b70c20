"""The agents of the conformance kit, with what the memory needs to know about them."""

from typing import Any

from session_memory.conformance import drivers
from session_memory.conformance.driver import Driver
from session_memory.conformance.reply import ModelCall

SERVER = "session-memory"


class WithMemory(Driver):
    """What a driver of the kit gets in addition."""

    # What is added to the command that installs a plugin, and how its server is called then.
    consent: tuple[str, ...] = ()
    plugin_server = SERVER
    # An agent whose servers and hooks this one reads as well.
    reads = ""

    def __init__(self) -> None:
        super().__init__(server=True)

    def memory(self, server: str, tool: str, arguments: dict[str, Any]) -> ModelCall:
        """The call of a tool of an MCP server, as this agent names it."""
        return ModelCall(f"mcp__{server}__{tool}", arguments)


class Claude(WithMemory, drivers.Claude):
    plugin_server = f"plugin_{SERVER}_{SERVER}"
    allowed = f"Bash mcp__{SERVER} mcp__{plugin_server}"


class Codex(WithMemory, drivers.Codex):
    def memory(self, server: str, tool: str, arguments: dict[str, Any]) -> ModelCall:
        return ModelCall(tool, arguments, namespace="mcp__" + server.replace("-", "_"))


class Grok(WithMemory, drivers.Grok):
    reads = "claude"

    def memory(self, server: str, tool: str, arguments: dict[str, Any]) -> ModelCall:
        return ModelCall("use_tool", {"tool_name": f"{server}__{tool}", "tool_input": arguments})


class Gemini(WithMemory, drivers.GeminiCli):
    consent = ("--consent",)

    def memory(self, server: str, tool: str, arguments: dict[str, Any]) -> ModelCall:
        return ModelCall(f"mcp_{server}_{tool}", arguments)


class Qwen(WithMemory, drivers.Qwen):
    consent = ("--consent",)


class Copilot(WithMemory, drivers.Copilot):
    def memory(self, server: str, tool: str, arguments: dict[str, Any]) -> ModelCall:
        return ModelCall(f"{server}-{tool}", arguments)


class OpenCode(WithMemory, drivers.OpenCode):
    def memory(self, server: str, tool: str, arguments: dict[str, Any]) -> ModelCall:
        return ModelCall(f"{server}_{tool}", arguments)


class Pi(WithMemory, drivers.Pi):
    def memory(self, server: str, tool: str, arguments: dict[str, Any]) -> ModelCall:
        return ModelCall(tool, arguments)


AGENTS: tuple[WithMemory, ...] = (
    Claude(),
    Codex(),
    Grok(),
    Gemini(),
    Qwen(),
    Copilot(),
    OpenCode(),
    Pi(),
)
