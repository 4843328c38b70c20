from typing import Any

from real_agents.agent import MODEL, Agent, Call, Place


class Copilot(Agent):
    name, title, program = "copilot", "Copilot CLI", "copilot"
    package = "@github/copilot"

    def configure(self, place: Place) -> None:
        place.write(
            ".copilot/mcp-config.json",
            {"mcpServers": {"other": {"type": "local", "command": "true", "args": []}}},
        )

    def trust(self, place: Place) -> None:
        place.write(".copilot/config.json", {"trustedFolders": [str(place.repo)]})

    def environment(self, place: Place) -> dict[str, str]:
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{place.url}/v1",
            "COPILOT_PROVIDER_API_KEY": "scripted",
            "COPILOT_PROVIDER_MODEL_ID": "gpt-4.1",
            "COPILOT_PROVIDER_WIRE_MODEL": MODEL,
            "COPILOT_MODEL": "gpt-4.1",
            "COPILOT_AUTO_UPDATE": "false",
        }

    def arguments(self, prompt: str) -> list[str]:
        return ["-p", prompt, "--allow-all-tools", "--disable-client-telemetry", "--no-auto-update"]

    def shell(self, command: str) -> Call:
        return Call("bash", {"command": command, "description": "Run a check"})

    def memory(self, server: str, tool: str, arguments: dict[str, Any]) -> Call:
        return Call(f"{server}-{tool}", arguments)
