from typing import Any

from real_agents.agent import MODEL, Agent, Call, Place

_CONFIG = """\
# The model of the bench.
model = "{model}"
model_provider = "script"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.script]
name = "Script"   # on loopback
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPT_KEY"
request_max_retries = 1
stream_max_retries = 1

[projects."{repo}"]
trust_level = "trusted"

[mcp_servers.other]
command = "true"
args = []
"""


class Codex(Agent):
    name, title, program = "codex", "Codex", "codex"
    package = "@openai/codex"

    def configure(self, place: Place) -> None:
        text = _CONFIG.format(model=MODEL, url=place.url, repo=place.repo)
        place.write(".codex/config.toml", text)

    def environment(self, place: Place) -> dict[str, str]:
        return {"SCRIPT_KEY": "scripted"}

    def arguments(self, prompt: str) -> list[str]:
        # The user reviews hooks once, in the terminal.
        return ["exec", "--dangerously-bypass-hook-trust", prompt]

    def shell(self, command: str) -> Call:
        return Call("exec_command", {"cmd": command})

    def memory(self, server: str, tool: str, arguments: dict[str, Any]) -> Call:
        return Call(tool, arguments, namespace="mcp__" + server.replace("-", "_"))
