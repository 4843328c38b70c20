from pathlib import Path

from session_memory.conformance.driver import KEY, ONE_PROMPT, OTHER_MODEL, Driver, Launch
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.reply import MODEL, ModelCall
from session_memory.conformance.scenario import NEW

_PROVIDER = "openai-compatible"


class Cline(Driver):
    name, title, program = "cline", "Cline CLI", "cline"
    package = "cline"
    seconds = 180.0
    logs = (".cline/data/sessions",)
    models = (MODEL, OTHER_MODEL)
    summary_words = "summar"
    known = {"*": {"reasoning": "Cline does not log how many tokens were reasoning"}}
    cannot = {
        "fork": "Cline CLI has no fork",
        "queued": ONE_PROMPT,
        **dict.fromkeys(
            ("resume", "compact", "interrupt", "killed", "error", "model_change"),
            "Cline CLI goes on with a session only in its terminal interface",
        ),
    }

    def configure(self, place: AgentPlace) -> None:
        settings = {
            "provider": _PROVIDER,
            "apiKey": KEY,
            "model": MODEL,
            "baseUrl": f"{place.url}/v1",
        }
        stored = {"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z"}
        place.write(
            ".cline/data/settings/providers.json",
            {
                "version": 1,
                "lastUsedProvider": _PROVIDER,
                "modes": {},
                "providers": {_PROVIDER: stored | {"tokenSource": "manual"}},
            },
        )
        place.write(".cline/data/settings/global-settings.json", {"telemetryOptOut": True})

    def environment(self, place: AgentPlace) -> dict[str, str]:
        return {
            "CLINE_NO_AUTO_UPDATE": "1",
            "DISABLE_TELEMETRY": "1",
            "OTEL_TELEMETRY_ENABLED": "false",
        }

    def arguments(self, launch: Launch, place: AgentPlace) -> list[str]:
        words = ["-P", _PROVIDER, "-m", launch.model]
        words += ["--auto-approve", "true" if launch.approve else "false"]
        if launch.start != NEW:
            found = sorted(place.home.glob(".cline/data/sessions/*/*.messages.json"))
            words += ["--tui", "--id", found[-1].parent.name if found else "none"]
        return [*words, launch.prompt]

    def shell(self, command: str) -> ModelCall:
        return ModelCall("run_commands", {"commands": [command]})

    def write(self, path: Path, text: str) -> ModelCall:
        return ModelCall("editor", {"path": str(path), "new_text": text})

    def edit(self, path: Path, old: str, new: str) -> ModelCall:
        return ModelCall("editor", {"path": str(path), "old_text": old, "new_text": new})

    def read(self, path: Path) -> ModelCall:
        return ModelCall("read_files", {"files": [{"path": str(path)}]})

    def delegate(self, prompt: str) -> ModelCall:
        return ModelCall("spawn_agent", {"systemPrompt": "You look and answer.", "task": prompt})
