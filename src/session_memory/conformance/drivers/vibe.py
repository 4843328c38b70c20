from pathlib import Path

from session_memory.conformance.driver import KEY, ONE_PROMPT, Driver, Launch
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.reply import MODEL, ModelCall
from session_memory.conformance.scenario import NEW

_CONFIG = """\
# The scripted model.
active_model = "%(model)s"
enable_telemetry = false
enable_update_checks = false
enable_auto_update = false

[[providers]]
name = "script"
api_base = "%(url)s/v1"
api_key_env_var = "SCRIPT_API_KEY"
api_style = "openai"
backend = "generic"
"""
_MODEL = """
[[models]]
name = "%(model)s"
provider = "script"
alias = "%(alias)s"
max_context_length = 200000
"""


class Vibe(Driver):
    name, title, program = "vibe", "Mistral Vibe", "vibe"
    package, registry, least_python = "mistral-vibe", "pypi", (3, 12)
    logs = (".vibe/logs/session",)
    # At the end of a run, Vibe deletes the journal of the run before.
    deletes_logs = True
    logs_reasoning = False
    known = {
        "*": {"model": "the journal does not name the model of a request"},
        "empty": {"script": "the agent ends the turn at an answer without words"},
        "long": {"tool errors": "the tool of Mistral Vibe refuses files of more than 64,000 bytes"},
    }
    summary_words = "create a handoff summary"
    cannot = {
        "fork": "Mistral Vibe forks only in its terminal interface",
        "queued": ONE_PROMPT,
        "subagent": "Mistral Vibe offers the model no subagents unless the user defines some",
    }

    def configure(self, place: AgentPlace) -> None:
        text = _CONFIG % {"model": _alias(MODEL), "url": place.url}
        for model in self.models:
            text += _MODEL % {"alias": _alias(model), "model": model}
        place.write(".vibe/config.toml", text)

    def environment(self, place: AgentPlace) -> dict[str, str]:
        # With all keys in variables, Vibe does not look into the keychain.
        backend = "keyring.backends.null.Keyring"
        return {"SCRIPT_API_KEY": KEY, "MISTRAL_API_KEY": KEY, "PYTHON_KEYRING_BACKEND": backend}

    def variables(self, launch: Launch) -> dict[str, str]:
        return {"VIBE_ACTIVE_MODEL": _alias(launch.model)}

    def arguments(self, launch: Launch, place: AgentPlace) -> list[str]:
        words = ["--trust", *(["--auto-approve"] if launch.approve else ["--agent", "ask"])]
        words += ["--continue"] if launch.start != NEW else []
        return [*words, "-p", launch.prompt]

    def shell(self, command: str) -> ModelCall:
        return ModelCall("bash", {"command": command})

    def write(self, path: Path, text: str) -> ModelCall:
        return ModelCall("write_file", {"path": str(path), "content": text})

    def edit(self, path: Path, old: str, new: str) -> ModelCall:
        return ModelCall("edit", {"file_path": str(path), "old_string": old, "new_string": new})

    def read(self, path: Path) -> ModelCall:
        return ModelCall("read_file", {"path": str(path)})

    def delegate(self, prompt: str) -> ModelCall:
        return ModelCall("task", {"task": prompt, "agent": "explore"})


def _alias(model: str) -> str:
    """Return the name that the user gave a model."""
    return f"my-{model}"
