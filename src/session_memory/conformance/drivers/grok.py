from pathlib import Path

from session_memory.conformance.driver import ONE_PROMPT, OTHER_MODEL, Driver, Launch
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.reply import MODEL, ModelCall
from session_memory.conformance.scenario import FORK, NEW
from session_memory.conformance.sent import Sent

_CONFIG = """\
[models]
default = "script"

# The scripted model.
[model.script]
model = "{model}"
base_url = "{url}/v1"
name = "Script"
env_key = "SCRIPT_KEY"
context_window = 200000
max_completion_tokens = 8192

[model.other]
model = "{other}"
base_url = "{url}/v1"
name = "Other"
env_key = "SCRIPT_KEY"
context_window = 200000
max_completion_tokens = 8192

[telemetry]
enabled = false
"""
_SERVER = """
[mcp_servers.other]
command = "true"
args = []
"""
_STOPPED = "Grok logs usage only at the end of a turn, and a stopped turn has none"
_KILLED = "Grok logs usage only at the end of a turn, and a killed turn has none"
_TAKEN_FOR_STOPPED = "the next run of Grok logs the killed turn as one that was interrupted"
_DENIED = "Grok ends the turn when a tool is denied in one-shot mode"


class Grok(Driver):
    name, title, program = "grok", "Grok Build", "grok"
    package = "@xai-official/grok"
    logs = (".grok/sessions",)
    usage_per_turn = True
    cannot = {"queued": ONE_PROMPT}
    compact_prompt = "/compact"

    summary_form = "<summary>{}</summary>"
    known = {
        "*": {
            "side requests": "Grok logs no usage of its requests for titles, for the line on its"
            " dashboard and for summaries"
        },
        "interrupt": {"tokens": _STOPPED},
        "interrupt_twice": {"tokens": _STOPPED},
        "killed": {"tokens": _KILLED, "interrupt": _TAKEN_FOR_STOPPED},
        # No answer was complete before the agent was killed, so no tokens are missing.
        "killed_early": {"interrupt": _TAKEN_FOR_STOPPED},
        "killed_call": {"tokens": _KILLED, "interrupt": _TAKEN_FOR_STOPPED},
        "empty": {
            "tokens": "Grok takes an answer without words for a failed one and asks again; the"
            " usage of the turn leaves it out"
        },
        "denied": {"script": _DENIED},
        "denied_then_allowed": {"script": _DENIED},
    }
    aside_words = "not in the agent's reply"

    def is_aside(self, sent: Sent) -> bool:
        # A request for a title offers a tool for titles, and not the shell.
        return super().is_aside(sent) or not sent.offers(self.shell("").name)

    def configure(self, place: AgentPlace) -> None:
        text = _CONFIG.format(model=MODEL, other=OTHER_MODEL, url=place.url)
        place.write(".grok/config.toml", text + (_SERVER if self.has_server else ""))

    def environment(self, place: AgentPlace) -> dict[str, str]:
        return {"SCRIPT_KEY": "scripted"}

    def arguments(self, launch: Launch, place: AgentPlace) -> list[str]:
        model = "other" if launch.model == OTHER_MODEL else "script"
        words = ["-p", launch.prompt, "-m", model, "--trust"]
        words += ["--always-approve"] if launch.approve else []
        words += ["--continue"] if launch.start != NEW else []
        return words + (["--fork-session"] if launch.start == FORK else [])

    def shell(self, command: str) -> ModelCall:
        return ModelCall(
            "run_terminal_command", {"command": command, "description": "Run a command"}
        )

    def write(self, path: Path, text: str) -> ModelCall:
        return ModelCall("write", {"file_path": str(path), "content": text})

    def edit(self, path: Path, old: str, new: str) -> ModelCall:
        given = {"file_path": str(path), "old_string": old, "new_string": new}
        return ModelCall("search_replace", given)

    def read(self, path: Path) -> ModelCall:
        return ModelCall("read_file", {"target_file": str(path)})

    def delegate(self, prompt: str) -> ModelCall:
        given = {"prompt": prompt, "description": "Look", "background": False}
        return ModelCall("spawn_subagent", given)
