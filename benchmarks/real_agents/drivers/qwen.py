from typing import Any

from real_agents.agent import KEY, MODEL, Agent, Call, Place

_SETTINGS = """\
{
  // The model of the bench.
  "security": {"auth": {"selectedType": "openai"}},
  "general": {"disableAutoUpdate": true, "enableAutoUpdate": false},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false},
  "mcpServers": {"other": {"command": "true", "args": []}},
  "$version": 4
}
"""


class Qwen(Agent):
    name, title, program = "qwen", "Qwen Code", "qwen"
    package = "@qwen-code/qwen-code"
    consent = ("--consent",)

    def configure(self, place: Place) -> None:
        place.write(".qwen/settings.json", _SETTINGS)

    def environment(self, place: Place) -> dict[str, str]:
        return {
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{place.url}/v1",
            "OPENAI_MODEL": MODEL,
        }

    def arguments(self, prompt: str) -> list[str]:
        return ["-p", prompt, "--approval-mode", "yolo"]

    def shell(self, command: str) -> Call:
        given = {"command": command, "description": "Run a check", "is_background": False}
        return Call("run_shell_command", given)

    def memory(self, server: str, tool: str, arguments: dict[str, Any]) -> Call:
        return Call(f"mcp__{server}__{tool}", arguments)
