from pathlib import Path

from session_memory.conformance.driver import ONE_PROMPT, Driver, Launch
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.reply import MODEL, ModelCall
from session_memory.conformance.scenario import FORK, NEW

_FLAGS = ["--disable-client-telemetry", "--no-auto-update"]


class Copilot(Driver):
    name, title, program = "copilot", "Copilot CLI", "copilot"
    package = "@github/copilot"
    logs = (".copilot/session-state", ".copilot/session-store.db")
    compact_prompt = "/compact"
    subagents_inside = True
    known = {
        "compact": {"summary tokens": "Copilot CLI sums up summaries without their reasoning"},
        "compact_twice": {
            "summary tokens": "Copilot CLI sums up summaries without their reasoning"
        },
        "empty": {"script": "the agent ends the turn at an answer without words"},
    }
    models = ("gpt-4.1", "gpt-5.4")
    cannot = {"fork": "Copilot CLI forks only in its terminal interface", "queued": ONE_PROMPT}

    def configure(self, place: AgentPlace) -> None:
        if self.has_server:
            other = {"type": "local", "command": "true", "args": []}
            place.write(".copilot/mcp-config.json", {"mcpServers": {"other": other}})

    def trust(self, place: AgentPlace) -> None:
        place.write(".copilot/config.json", {"trustedFolders": [str(place.repo)]})

    def environment(self, place: AgentPlace) -> dict[str, str]:
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{place.url}/v1",
            "COPILOT_PROVIDER_API_KEY": "scripted",
            "COPILOT_PROVIDER_MODEL_ID": "gpt-4.1",
            "COPILOT_PROVIDER_WIRE_MODEL": MODEL,
            "COPILOT_MODEL": "gpt-4.1",
            "COPILOT_AUTO_UPDATE": "false",
        }

    def arguments(self, launch: Launch, place: AgentPlace) -> list[str]:
        words = ["-p", launch.prompt, *_FLAGS]
        words += ["--allow-all-tools"] if launch.approve else []
        words += ["--model", launch.model] if launch.model in self.models[1:] else []
        return words + (["--continue"] if launch.start not in (NEW, FORK) else [])

    def shell(self, command: str) -> ModelCall:
        given = {"command": command, "description": "Run a command", "initial_wait": 60}
        return ModelCall("bash", given)

    def write(self, path: Path, text: str) -> ModelCall:
        return ModelCall("create", {"path": str(path), "file_text": text})

    def edit(self, path: Path, old: str, new: str) -> ModelCall:
        return ModelCall("edit", {"path": str(path), "old_str": old, "new_str": new})

    def read(self, path: Path) -> ModelCall:
        return ModelCall("view", {"path": str(path)})

    def delegate(self, prompt: str) -> ModelCall:
        given = {"description": "Look", "prompt": prompt, "agent_type": "task", "name": "look"}
        return ModelCall("task", {**given, "mode": "sync"})
