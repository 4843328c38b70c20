import json
from pathlib import Path

from session_memory.conformance.driver import KEY, ONE_PROMPT, OTHER_MODEL, Driver, Launch
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.reply import MODEL, ModelCall
from session_memory.conformance.scenario import FORK, NEW

_CONFIG = """\
{
  "$schema": "https://opencode.ai/config.json",
  // The scripted model.
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
        "%(model)s": {"name": "Script", "limit": {"context": 200000, "output": 8192}},
        "%(other)s": {"name": "Other", "limit": {"context": 200000, "output": 8192}}
      }
    }
  },
  "mcp": {%(server)s}
}
"""
_SERVER = '"other": {"type": "local", "command": ["true"], "enabled": false}'


def _fetched(directory: Path, plugin: str) -> None:
    library = {"dependencies": {plugin: "*"}}
    (directory / "package.json").write_text(json.dumps(library))
    (directory / "package-lock.json").write_text(json.dumps({"packages": {"": library}}))
    (directory / "node_modules").mkdir()


class OpenCode(Driver):
    name, title, program = "opencode", "opencode", "opencode"
    package = "opencode-ai"
    # The npm package that plugins are written with.
    plugin = "@opencode-ai/plugin"
    seconds = 240.0
    known = {
        "*": {"aux requests": "the log has no usage of the request for a title"},
        "compact": {"script": "after a compaction, the agent asks the model to go on by itself"},
        "denied": {"script": "the agent ends the turn when a tool is denied in one-shot mode"},
        "interrupt": {"interrupt": "stopped by Ctrl-C in one-shot mode, it writes nothing more"},
        "interrupt_twice": {
            "interrupt": "stopped by Ctrl-C in one-shot mode, it writes nothing more"
        },
        "empty": {"script": "the agent ends the turn at an answer without words"},
        "compact_twice": {
            "script": "after a compaction, the agent asks the model to go on by itself"
        },
        "denied_then_allowed": {
            "script": "the agent ends the turn when a tool is denied in one-shot mode"
        },
    }
    cannot = {"queued": ONE_PROMPT}
    full_context = 196_000
    summary_words = "summar"
    logs = (".local/share/opencode",)

    def configure(self, place: AgentPlace) -> None:
        server = _SERVER if self.has_server else ""
        names = {"model": MODEL, "other": OTHER_MODEL, "url": place.url, "key": KEY}
        place.write(f".config/{self.name}/{self.name}.json", _CONFIG % {**names, "server": server})
        # Create the files that a first start with a network would create. Without these files, each
        # start with a plugin waits for the npm registry for a minute and a half.
        _fetched(place.home / ".config" / self.name, self.plugin)

    def environment(self, place: AgentPlace) -> dict[str, str]:
        return {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        }

    def variables(self, launch: Launch) -> dict[str, str]:
        # In one-shot mode nobody can be asked, so opencode refuses what needs a permission.
        asks = json.dumps({"permission": {"edit": "ask"}})
        return {} if launch.approve else {f"{self.name.upper()}_CONFIG_CONTENT": asks}

    def arguments(self, launch: Launch, place: AgentPlace) -> list[str]:
        words = ["run", "-m", f"script/{launch.model}"]
        words += ["--continue"] if launch.start != NEW else []
        words += ["--fork"] if launch.start == FORK else []
        return [*words, launch.prompt]

    def shell(self, command: str) -> ModelCall:
        return ModelCall("bash", {"command": command, "description": "Run a command"})

    def write(self, path: Path, text: str) -> ModelCall:
        return ModelCall("write", {"filePath": str(path), "content": text})

    def edit(self, path: Path, old: str, new: str) -> ModelCall:
        return ModelCall("edit", {"filePath": str(path), "oldString": old, "newString": new})

    def read(self, path: Path) -> ModelCall:
        return ModelCall("read", {"filePath": str(path)})

    def delegate(self, prompt: str) -> ModelCall:
        given = {"description": "Look", "prompt": prompt, "subagent_type": "general"}
        return ModelCall("task", given)
