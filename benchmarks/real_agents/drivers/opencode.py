import json
from pathlib import Path
from typing import Any

from real_agents.agent import KEY, MODEL, Agent, Call, Place

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


def _fetched(directory: Path) -> None:
    library = {"dependencies": {"@opencode-ai/plugin": "*"}}
    (directory / "package.json").write_text(json.dumps(library))
    (directory / "package-lock.json").write_text(json.dumps({"packages": {"": library}}))
    (directory / "node_modules").mkdir()


class OpenCode(Agent):
    name, title, program = "opencode", "opencode", "opencode"
    package = "opencode-ai"
    seconds = 240

    def configure(self, place: Place) -> None:
        names = {"model": MODEL, "url": place.url, "key": KEY}
        place.write(".config/opencode/opencode.json", _CONFIG % names)
        # As after the first start with a network. Otherwise each start with a plugin waits for the
        # npm registry for a minute and a half.
        _fetched(place.home / ".config" / "opencode")

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

    def memory(self, server: str, tool: str, arguments: dict[str, Any]) -> Call:
        return Call(f"{server}_{tool}", arguments)
