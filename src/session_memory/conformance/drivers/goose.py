import platform
from pathlib import Path

from session_memory.conformance.driver import KEY, Driver, Launch
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.reply import ModelCall
from session_memory.conformance.scenario import FORK, NEW

_MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
_PROGRAM = f"goose-binary-linux-{_MACHINES.get(platform.machine(), platform.machine())}"
_STOPPED = {"interrupt": "stopped by Ctrl-C in one-shot mode, goose writes nothing more"}
_CONFIG = """\
# The scripted model.
GOOSE_TELEMETRY_ENABLED: false
extensions:
  developer:
    enabled: true
    type: builtin
    name: developer
    timeout: 300
"""


class Goose(Driver):
    name, title = "goose", "goose"
    package, program = f"@aaif/{_PROGRAM}", _PROGRAM
    logs = (".local/share/goose/sessions",)
    logs_reasoning = False
    compact_prompt = "/compact"
    summary_words = "summarize the conversation history"
    known = {
        "*": {"aux requests": "the log has no usage of the request for a title"},
        **dict.fromkeys(("interrupt", "interrupt_twice"), _STOPPED),
        "cut": {"script": "goose ends the turn when a stream is cut"},
    }
    cannot = {"denied": "in one-shot mode, goose ends with an error when a call needs a permission"}

    def configure(self, place: AgentPlace) -> None:
        place.write(".config/goose/config.yaml", _CONFIG)

    def environment(self, place: AgentPlace) -> dict[str, str]:
        return {
            "GOOSE_PROVIDER": "openai",
            "GOOSE_DISABLE_KEYRING": "1",
            "OPENAI_HOST": place.url,
            "OPENAI_API_KEY": KEY,
        }

    def variables(self, launch: Launch) -> dict[str, str]:
        return {"GOOSE_MODEL": launch.model, "GOOSE_MODE": "auto" if launch.approve else "approve"}

    def preparations(self, launch: Launch, place: AgentPlace) -> list[list[str]]:
        # This command copies the newest session and ends, because its standard input is empty.
        return [["session", "--resume", "--fork"]] if launch.start == FORK else []

    def arguments(self, launch: Launch, place: AgentPlace) -> list[str]:
        words = ["run", "--model", launch.model]
        words += ["--resume"] if launch.start != NEW else []
        return [*words, "--text", launch.prompt]

    def shell(self, command: str) -> ModelCall:
        return ModelCall("shell", {"command": command})

    def write(self, path: Path, text: str) -> ModelCall:
        return ModelCall("write", {"path": str(path), "content": text})

    def edit(self, path: Path, old: str, new: str) -> ModelCall:
        return ModelCall("edit", {"path": str(path), "before": old, "after": new})

    def delegate(self, prompt: str) -> ModelCall:
        return ModelCall("delegate", {"instructions": prompt})
