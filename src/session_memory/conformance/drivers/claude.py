import json
from pathlib import Path

from session_memory.conformance.driver import KEY, Driver, Launch
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.reply import ModelCall
from session_memory.conformance.scenario import FORK, NEW

_OWN_HOOK = {"matcher": "Write", "hooks": [{"type": "command", "command": "true"}]}
_NO_SUMMARY = (
    "Claude Code logs no usage of the request for the summary; only the totals of the session"
    " include it"
)


class Claude(Driver):
    name, title, program = "claude", "Claude Code", "claude"
    package = "@anthropic-ai/claude-code"
    logs = (".claude/projects",)
    compact_prompt = "/compact"
    summary_form = "<summary>{}</summary>"
    known = {
        "compact": {"summary requests": _NO_SUMMARY},
        "compact_twice": {"summary requests": _NO_SUMMARY},
        "empty": {
            "requests": "Claude Code logs no line of an answer without content; only the totals of"
            " the session include it"
        },
    }
    allowed = "Bash Write Edit Read Agent Task"

    def configure(self, place: AgentPlace) -> None:
        servers = {"other": {"command": "true", "args": []}} if self.has_server else {}
        settings = {"hasCompletedOnboarding": True, "mcpServers": servers, "projects": {}}
        place.write(".claude.json", settings)
        hooks = {"PostToolUse": [_OWN_HOOK]} if self.has_server else {}
        place.write(".claude/settings.json", {"includeCoAuthoredBy": False, "hooks": hooks})

    def environment(self, place: AgentPlace) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": place.url,
            "CLAUDE_CODE_TMPDIR": str(place.temporary),
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            # By default Claude Code retries a failed request for minutes.
            "CLAUDE_CODE_MAX_RETRIES": "3",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
        }

    def listening(self, launch: Launch) -> list[str]:
        words = ["-p", "--model", launch.model, "--allowedTools", self.allowed, "--verbose"]
        return [*words, "--input-format", "stream-json", "--output-format", "stream-json"]

    def spoken(self, prompt: str, is_queued: bool = False) -> str:
        return json.dumps({"type": "user", "message": {"role": "user", "content": prompt}})

    def arguments(self, launch: Launch, place: AgentPlace) -> list[str]:
        allowed = self.allowed if launch.approve else "Read"
        words = ["-p", launch.prompt, "--model", launch.model, "--allowedTools", allowed]
        words += ["--continue"] if launch.start != NEW else []
        return words + (["--fork-session"] if launch.start == FORK else [])

    def shell(self, command: str) -> ModelCall:
        return ModelCall("Bash", {"command": command, "description": "Run a command"})

    def write(self, path: Path, text: str) -> ModelCall:
        return ModelCall("Write", {"file_path": str(path), "content": text})

    def edit(self, path: Path, old: str, new: str) -> ModelCall:
        return ModelCall("Edit", {"file_path": str(path), "old_string": old, "new_string": new})

    def read(self, path: Path) -> ModelCall:
        return ModelCall("Read", {"file_path": str(path)})

    def delegate(self, prompt: str) -> ModelCall:
        given = {"description": "Look", "prompt": prompt, "subagent_type": "general-purpose"}
        return ModelCall("Agent", {**given, "run_in_background": False})
