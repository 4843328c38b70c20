import json
from pathlib import Path

from session_memory.conformance.driver import KEY, OTHER_MODEL, Driver, Launch
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.reply import MODEL, ModelCall
from session_memory.conformance.scenario import FORK, NEW


class Pi(Driver):
    name, title, program = "pi", "pi", "pi"
    package = "@earendil-works/pi-coding-agent"
    logs = (".pi/agent/sessions",)
    summary_words = "summar"
    over = '"agent_settled"'
    cannot = {
        "subagent": "pi has no subagents",
        "denied": "pi asks for no permission",
    }

    known = {
        "interrupt": {"interrupt": "stopped by Ctrl-C in one-shot mode, pi writes nothing more"},
        "interrupt_twice": {
            "interrupt": "stopped by Ctrl-C in one-shot mode, pi writes nothing more"
        },
        "compact_twice": {
            "summary requests": "pi logs one sum for the two requests of a second compaction",
            "extra": "pi logs one sum for the two requests of a second compaction",
        },
        "empty": {"script": "the agent ends the turn at an answer without words"},
    }

    def configure(self, place: AgentPlace) -> None:
        models = [
            {"id": name, "name": "Script", "contextWindow": 200_000, "maxTokens": 8192}
            for name in (MODEL, OTHER_MODEL)
        ]
        provider = {"baseUrl": place.url, "api": "anthropic-messages", "apiKey": KEY}
        place.write(
            ".pi/agent/models.json", {"providers": {"script": provider | {"models": models}}}
        )

        # With this setting, pi compacts a short history as well.
        place.write(".pi/agent/settings.json", {"compaction": {"keepRecentTokens": 1}})

    def environment(self, place: AgentPlace) -> dict[str, str]:
        return {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}

    def arguments(self, launch: Launch, place: AgentPlace) -> list[str]:
        # --approve: the user allows the extensions of the project to run.
        words = ["-p", "--approve", "--provider", "script", "--model", launch.model]
        if launch.start == FORK:
            words += ["--fork", str(self.newest(place, ".pi/agent/sessions/*/*.jsonl"))]
        elif launch.start != NEW:
            words += ["--continue"]
        return [*words, launch.prompt]

    def listening(self, launch: Launch) -> list[str]:
        return ["--mode", "rpc", "--approve", "--provider", "script", "--model", launch.model]

    def spoken(self, prompt: str, is_queued: bool = False) -> str:
        return json.dumps({"type": "steer" if is_queued else "prompt", "message": prompt})

    def shell(self, command: str) -> ModelCall:
        return ModelCall("bash", {"command": command})

    def write(self, path: Path, text: str) -> ModelCall:
        return ModelCall("write", {"path": str(path), "content": text})

    def edit(self, path: Path, old: str, new: str) -> ModelCall:
        return ModelCall("edit", {"path": str(path), "edits": [{"oldText": old, "newText": new}]})

    def read(self, path: Path) -> ModelCall:
        return ModelCall("read", {"path": str(path)})
