from typing import Any

from real_agents.agent import KEY, Agent, Call, Place

_SETTINGS = """\
{
  // The model of the bench.
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false},
  "mcpServers": {"other": {"command": "true", "args": []}}
}
"""


class Gemini(Agent):
    name, title, program = "gemini", "Gemini CLI", "gemini"
    package = "@google/gemini-cli"
    consent = ("--consent",)

    def configure(self, place: Place) -> None:
        place.write(".gemini/settings.json", _SETTINGS)

    def trust(self, place: Place) -> None:
        place.write(".gemini/trustedFolders.json", {str(place.repo): "TRUST_FOLDER"})

    def environment(self, place: Place) -> dict[str, str]:
        return {
            "GEMINI_API_KEY": KEY,
            "GOOGLE_GEMINI_BASE_URL": place.url,
        }

    def arguments(self, prompt: str) -> list[str]:
        return ["-p", prompt, "--approval-mode", "yolo", "-m", "gemini-2.5-pro"]

    def shell(self, command: str) -> Call:
        return Call("run_shell_command", {"command": command, "description": "Run a check"})

    def memory(self, server: str, tool: str, arguments: dict[str, Any]) -> Call:
        return Call(f"mcp_{server}_{tool}", arguments)
