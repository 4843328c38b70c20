import json
from pathlib import Path

from session_memory.conformance.driver import KEY, ONE_PROMPT, Driver, Launch
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.reply import MODEL, ModelCall
from session_memory.conformance.scenario import FORK, NEW

_CONFIG = """\
# The scripted model.
default_model = "%(alias)s"
telemetry = false

[providers.script]
type = "anthropic"
base_url = "%(url)s"
api_key = "%(key)s"
"""
_MODEL = """
[models."%(alias)s"]
provider = "script"
model = "%(model)s"
max_context_size = 200000
capabilities = ["thinking", "tool_use"]
"""
# In one-shot mode, Kimi Code allows every call, whatever its permission rules say. Only a hook can
# refuse a call.
_DENIED = """
[[hooks]]
event = "PreToolUse"
matcher = "Write"
command = "echo 'The user does not allow this.' >&2; exit 2"
"""


class Kimi(Driver):
    name, title, program = "kimi", "Kimi Code", "kimi"
    package = "@moonshot-ai/kimi-code"
    logs = (".kimi-code/sessions", ".kimi-code/session_index.jsonl")
    summary_words = "create a handoff summary"
    hour_cache = False
    cannot = {"queued": ONE_PROMPT}
    known = {
        "empty": {
            "requests": "Kimi Code takes an answer without words for a failed one, logs no usage of"
            " it and asks again"
        },
        "fork_subagent": {"sessions": "a fork copies each subagent as a session of its own"},
    }

    def configure(self, place: AgentPlace) -> None:
        self._settings(place)
        if self.has_server:
            other = {"command": "true", "args": []}
            place.write(".kimi-code/mcp.json", {"mcpServers": {"other": other}})

    def _settings(self, place: AgentPlace, more: str = "") -> None:
        text = _CONFIG % {"alias": _alias(MODEL), "url": place.url, "key": KEY}
        for model in self.models:
            text += _MODEL % {"alias": _alias(model), "model": model}
        place.write(".kimi-code/config.toml", text + more)

    def environment(self, place: AgentPlace) -> dict[str, str]:
        return {"KIMI_DISABLE_TELEMETRY": "1", "KIMI_CODE_NO_AUTO_UPDATE": "1"}

    def preparations(self, launch: Launch, place: AgentPlace) -> list[list[str]]:
        self._settings(place, "" if launch.approve else _DENIED)
        return [["fork", "--yes"]] if launch.start == FORK else []

    def arguments(self, launch: Launch, place: AgentPlace) -> list[str]:
        words = ["-m", _alias(launch.model)]
        if launch.start == FORK:
            words += ["--session", self._newest_session(place)]
        elif launch.start != NEW:
            words += ["--continue"]
        return [*words, "-p", launch.prompt]

    def _newest_session(self, place: AgentPlace) -> str:
        # A fork keeps the date of its origin, so `--continue` does not find it.
        lines = (place.home / ".kimi-code" / "session_index.jsonl").read_text().splitlines()
        name: str = json.loads(lines[-1])["sessionId"]
        return name

    def shell(self, command: str) -> ModelCall:
        return ModelCall("Bash", {"command": command, "description": "Run a command"})

    def write(self, path: Path, text: str) -> ModelCall:
        return ModelCall("Write", {"path": str(path), "content": text})

    def edit(self, path: Path, old: str, new: str) -> ModelCall:
        return ModelCall("Edit", {"path": str(path), "old_string": old, "new_string": new})

    def read(self, path: Path) -> ModelCall:
        return ModelCall("Read", {"path": str(path)})

    def delegate(self, prompt: str) -> ModelCall:
        return ModelCall("Agent", {"description": "Look", "prompt": prompt})


def _alias(model: str) -> str:
    """Return the name that the user gave a model. The log has both names."""
    return f"my-{model}"
