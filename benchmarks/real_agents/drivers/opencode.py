from typing import Any

from real_agents.agent import KEY, MODEL, SERVER, Agent, Call, Place

_CONFIG = """\
{
  "$schema": "https://opencode.ai/config.json",
  // The model of the bench.
  "autoupdate": false,
  "share": "disabled",
  "model": "script/%(model)s",
  "small_model": "script/%(model)s",
  "permission": {"edit": "allow", "bash": "allow", "webfetch": "deny"},
  "provider": {
    "script": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "Script",
      "options": {"baseURL": "%(url)s/v1", "apiKey": "%(key)s"},
      "models": {
        "%(model)s": {"name": "Script", "limit": {"context": 200000, "output": 8192}}
      }
    }
  },
  "mcp": {"other": {"type": "local", "command": ["true"], "enabled": false}}
}
"""


class OpenCode(Agent):
    name, title, program = "opencode", "opencode", "opencode"
    package = "opencode-ai"
    # It asks the npm registry for its plugin library at each start, and waits for the answer.
    seconds = 240

    def configure(self, place: Place) -> None:
        names = {"model": MODEL, "url": place.url, "key": KEY}
        place.write(".config/opencode/opencode.json", _CONFIG % names)

    def environment(self, place: Place) -> dict[str, str]:
        return {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        }

    def arguments(self, prompt: str) -> list[str]:
        return ["run", prompt]

    def shell(self, command: str) -> Call:
        return Call("bash", {"command": command, "description": "Run a check"})

    def memory(self, tool: str, arguments: dict[str, Any]) -> Call:
        return Call(f"{SERVER}_{tool}", arguments)
