import json
from pathlib import Path

from session_memory.conformance.driver import KEY, Driver, Launch
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.reply import MODEL, ModelCall
from session_memory.conformance.scenario import FORK, NEW

_SETTINGS = """\
{
  // The scripted model.
  "security": {"auth": {"selectedType": "openai"}},
  "general": {"disableAutoUpdate": true, "enableAutoUpdate": false},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false},
  "mcpServers": {%s},
  "$version": 4
}
"""


class Qwen(Driver):
    name, title, program = "qwen", "Qwen Code", "qwen"
    package = "@qwen-code/qwen-code"
    logs = (".qwen/projects", ".qwen/usage_record.jsonl")
    compact_prompt = "/compress"
    aside_words = "managed memory has two directories"
    summary_words, summary_form = "state_snapshot", "<state_snapshot>{}</state_snapshot>"

    def configure(self, place: AgentPlace) -> None:
        server = '"other": {"command": "true", "args": []}' if self.has_server else ""
        place.write(".qwen/settings.json", _SETTINGS % server)

    def environment(self, place: AgentPlace) -> dict[str, str]:
        return {
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{place.url}/v1",
            "OPENAI_MODEL": MODEL,
        }

    def arguments(self, launch: Launch, place: AgentPlace) -> list[str]:
        mode = "yolo" if launch.approve else "default"
        words = ["-p", launch.prompt, "--approval-mode", mode, "-m", launch.model]
        words += ["--continue"] if launch.start != NEW else []
        return words + (["--fork-session"] if launch.start == FORK else [])

    def listening(self, launch: Launch) -> list[str]:
        words = ["--approval-mode", "yolo", "-m", launch.model]
        return [*words, "--input-format", "stream-json", "--output-format", "stream-json"]

    def spoken(self, prompt: str, is_queued: bool = False) -> str:
        return json.dumps({"type": "user", "message": {"role": "user", "content": prompt}})

    def shell(self, command: str) -> ModelCall:
        given = {"command": command, "description": "Run a command", "is_background": False}
        return ModelCall("run_shell_command", given)

    def write(self, path: Path, text: str) -> ModelCall:
        return ModelCall("write_file", {"file_path": str(path), "content": text})

    def edit(self, path: Path, old: str, new: str) -> ModelCall:
        given = {"file_path": str(path), "old_string": old, "new_string": new}
        return ModelCall("edit", given)

    def read(self, path: Path) -> ModelCall:
        return ModelCall("read_file", {"file_path": str(path)})

    def delegate(self, prompt: str) -> ModelCall:
        given = {"description": "Look", "prompt": prompt, "subagent_type": "general-purpose"}
        return ModelCall("agent", {**given, "run_in_background": False})
