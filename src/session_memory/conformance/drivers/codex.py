import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from session_memory.conformance.driver import ONE_PROMPT, Driver, Launch
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.reply import ModelCall, Reply
from session_memory.conformance.scenario import FORK, NEW, Delegate, Step
from session_memory.conformance.sent import Sent

_CONFIG = """\
# The scripted model.
model = "{model}"
model_provider = "script"
model_context_window = 200000
model_auto_compact_token_limit = 150000
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.script]
name = "Script"   # on loopback
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPT_KEY"
request_max_retries = 4
stream_max_retries = 3

[projects."{repo}"]
trust_level = "trusted"
"""
_SERVER = """
[mcp_servers.other]
command = "true"
args = []
"""
_AGENTS = "multi_agent_v1"
_SEARCH = {
    "type": "tool_search_call",
    "id": "tsc_scripted",
    "call_id": "call_search",
    "status": "completed",
    "execution": "client",
    "arguments": {"query": "spawn agent"},
}
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Codex(Driver):
    name, title, program = "codex", "Codex", "codex"
    package = "@openai/codex"
    logs = (".codex/sessions",)
    summary_words = "handoff summary"
    # Real names of models, because Codex chooses the tools by the name.
    models = ("gpt-5.5-codex", "gpt-5.5")
    not_retried = (429,)
    cannot = {"queued": ONE_PROMPT}
    known = {"empty": {"script": "the agent ends the turn at an answer without words"}}

    def configure(self, place: AgentPlace) -> None:
        text = _CONFIG.format(model=self.models[0], url=place.url, repo=place.repo)
        place.write(".codex/config.toml", text + (_SERVER if self.has_server else ""))

    def environment(self, place: AgentPlace) -> dict[str, str]:
        return {"SCRIPT_KEY": "scripted"}

    def arguments(self, launch: Launch, place: AgentPlace) -> list[str]:
        # Without this option, a user has to review new hooks in the terminal.
        words = ["exec", "--dangerously-bypass-hook-trust", "-m", launch.model]
        words += [] if launch.approve else ["-s", "read-only"]
        if launch.start == FORK:
            log = self.newest(place, ".codex/sessions/*/*/*/rollout-*.jsonl")
            return [*words, "fork", _ID.findall(log.stem)[-1], launch.prompt]
        words += ["resume", "--last"] if launch.start != NEW else []
        return [*words, launch.prompt]

    def shell(self, command: str) -> ModelCall:
        return ModelCall("exec_command", {"cmd": command})

    def write(self, path: Path, text: str) -> ModelCall:
        lines = "".join(f"+{line}\n" for line in text.splitlines())
        return _patch(f"*** Add File: {path}\n{lines}")

    def edit(self, path: Path, old: str, new: str) -> ModelCall:
        return _patch(f"*** Update File: {path}\n@@\n-{old}\n+{new}\n")

    def delegate(self, prompt: str) -> ModelCall:
        return ModelCall("spawn_agent", {"message": prompt}, _AGENTS)

    def replies(self, step: Step, place: AgentPlace) -> Sequence[Reply]:
        """Return the replies of a step. A step with subagents needs more replies in Codex.

        The model has to search for the tool that starts a subagent. Another tool waits for
        subagents, by the ids that the first tool returned.
        """
        replies = super().replies(step, place)
        if not any(isinstance(action, Delegate) for action in step.actions):
            return replies
        # A wait ends when one subagent has finished.
        waits = [Reply(calls=(ModelCall("wait_agent", _unfinished, _AGENTS),))] * 2
        return [Reply("I look for tools.", items=(_SEARCH,)), *replies, *waits]


def _unfinished(sent: Sent) -> dict[str, Any]:
    """Return the arguments of a wait: the subagents that no wait has reported yet, else the last
    subagent. Finished ones are left out, because a fork does not know the subagents of its
    origin."""
    outputs = [item for item in sent.body["input"] if item.get("type") == "function_call_output"]
    named = Counter(
        agent for item in outputs for agent in set(_ID.findall(str(item.get("output"))))
    )
    waiting = [agent for agent, times in named.items() if times == 1]
    return {"targets": waiting or list(named)[-1:], "timeout_ms": 30_000}


def _patch(change: str) -> ModelCall:
    return ModelCall("apply_patch", f"*** Begin Patch\n{change}*** End Patch")
