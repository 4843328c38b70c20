from pathlib import Path

from session_memory.conformance.driver import KEY, ONE_PROMPT, Driver, Launch
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.reply import ModelCall, Reply
from session_memory.conformance.scenario import NEW

_SETTINGS = """\
{
  // The scripted model.
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false},
  "mcpServers": {%s}
}
"""


class GeminiCli(Driver):
    name, title, program = "gemini", "Gemini CLI", "gemini"
    package = "@google/gemini-cli"
    logs = (".gemini/tmp", ".gemini/projects.json", ".gemini/history")
    compact_prompt = "/compress"
    summary_words, summary_form = "state_snapshot", "<state_snapshot>{}</state_snapshot>"
    models = ("gemini-2.5-pro", "gemini-2.5-flash")
    cannot = {"fork": "Gemini CLI has no fork", "queued": ONE_PROMPT}
    known = {
        "compact": {"summary requests": "Gemini CLI logs no usage of the request for the summary"},
        "interrupt": {"interrupt": "stopped by Ctrl-C in one-shot mode, it writes nothing more"},
        "cut": {"script": "Gemini CLI ends with an error when a stream is cut"},
        "cut_call": {"script": "Gemini CLI ends with an error when a stream is cut"},
        "interrupt_twice": {
            "interrupt": "stopped by Ctrl-C in one-shot mode, it writes nothing more"
        },
        "compact_twice": {
            "summary requests": "Gemini CLI logs no usage of the request for the summary"
        },
        "empty": {"script": "the agent ends the turn at an answer without words"},
    }

    def configure(self, place: AgentPlace) -> None:
        server = '"other": {"command": "true", "args": []}' if self.has_server else ""
        place.write(".gemini/settings.json", _SETTINGS % server)

    def trust(self, place: AgentPlace) -> None:
        place.write(".gemini/trustedFolders.json", {str(place.repo): "TRUST_FOLDER"})

    def environment(self, place: AgentPlace) -> dict[str, str]:
        return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": place.url}

    def arguments(self, launch: Launch, place: AgentPlace) -> list[str]:
        model = launch.model if launch.model in self.models else self.models[0]
        mode = "yolo" if launch.approve else "default"
        words = ["-p", launch.prompt, "--approval-mode", mode, "-m", model]
        return words + (["--resume", "latest"] if launch.start != NEW else [])

    def shell(self, command: str) -> ModelCall:
        return ModelCall("run_shell_command", {"command": command, "description": "Run a command"})

    def write(self, path: Path, text: str) -> ModelCall:
        return ModelCall("write_file", {"file_path": str(path), "content": text})

    def edit(self, path: Path, old: str, new: str) -> ModelCall:
        given = {"file_path": str(path), "old_string": old, "new_string": new}
        return ModelCall("replace", {**given, "instruction": "Replace the line"})

    def read(self, path: Path) -> ModelCall:
        return ModelCall("read_file", {"file_path": str(path)})

    def delegate(self, prompt: str) -> ModelCall:
        return ModelCall("invoke_agent", {"agent_name": "generalist", "prompt": prompt})

    def conclusion(self, text: str) -> Reply:
        return Reply(calls=(ModelCall("complete_task", {"result": {"response": text}}),))
