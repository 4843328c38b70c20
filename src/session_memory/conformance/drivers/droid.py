from pathlib import Path

from session_memory.conformance.driver import KEY, Driver, Launch
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.reply import ModelCall
from session_memory.conformance.scenario import FORK, NEW

_RESUME = "Droid asks Factory's server for a session that it resumes in one-shot mode"
_NOT_RESUMED = {"script": _RESUME, "prompts": _RESUME}
_STOPPED = {"interrupt": "stopped by Ctrl-C in one-shot mode, Droid writes nothing more"}


class Droid(Driver):
    name, title, program = "droid", "Factory Droid", "droid"
    package = "droid"
    logs = (".factory/sessions",)
    hour_cache = False
    usage_per_turn = True
    known = {
        **dict.fromkeys(("interrupt", "interrupt_twice"), {**_NOT_RESUMED, **_STOPPED}),
        **dict.fromkeys(("killed", "killed_early", "killed_call", "error"), _NOT_RESUMED),
    }
    cannot = {
        **dict.fromkeys(("resume", "compact", "model_change"), _RESUME),
        "queued": "without an account, Droid ends each prompt of its standard input with an error",
        "subagent": "Droid's subagents need its daemon, which does not start without a network",
    }

    def configure(self, place: AgentPlace) -> None:
        models = [
            {
                "model": model,
                "displayName": model,
                "baseUrl": place.url,
                "apiKey": KEY,
                "provider": "anthropic",
                "maxOutputTokens": 8192,
            }
            for model in self.models
        ]
        place.write(
            ".factory/settings.json",
            {"customModels": models, "cloudSessionSync": False, "enableAutoUpdate": False},
        )

    def environment(self, place: AgentPlace) -> dict[str, str]:
        return {"FACTORY_DROID_AUTO_UPDATE_ENABLED": "false", "OTEL_SDK_DISABLED": "true"}

    def arguments(self, launch: Launch, place: AgentPlace) -> list[str]:
        number = self.models.index(launch.model)
        words = ["exec", "-m", f"custom:{launch.model}-{number}"]
        words += ["--skip-permissions-unsafe"] if launch.approve else []
        if launch.start != NEW:
            words += ["--fork" if launch.start == FORK else "--session-id", self._session(place)]
        return [*words, launch.prompt]

    def _session(self, place: AgentPlace) -> str:
        if not any(place.home.glob(".factory/sessions/*/*.jsonl")):
            return "none"
        return self.newest(place, ".factory/sessions/*/*.jsonl").stem

    def shell(self, command: str) -> ModelCall:
        return ModelCall("Execute", {"command": command, "summary": "Run a command"})

    def write(self, path: Path, text: str) -> ModelCall:
        return ModelCall("Create", {"file_path": str(path), "content": text})

    def edit(self, path: Path, old: str, new: str) -> ModelCall:
        return ModelCall("Edit", {"file_path": str(path), "old_str": old, "new_str": new})

    def read(self, path: Path) -> ModelCall:
        return ModelCall("Read", {"file_path": str(path)})

    def delegate(self, prompt: str) -> ModelCall:
        given = {"subagent_type": "worker", "description": "Look", "prompt": prompt}
        return ModelCall("Task", given)
