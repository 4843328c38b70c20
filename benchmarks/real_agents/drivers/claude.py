from typing import Any

from real_agents.agent import KEY, SERVER, Agent, Call, Place

_OWN_HOOK = {"matcher": "Write", "hooks": [{"type": "command", "command": "true"}]}


class Claude(Agent):
    name, title, program = "claude", "Claude Code", "claude"
    package = "@anthropic-ai/claude-code"
    plugin_server = f"plugin_{SERVER}_{SERVER}"

    def configure(self, place: Place) -> None:
        place.write(
            ".claude.json",
            {
                "hasCompletedOnboarding": True,
                "mcpServers": {"other": {"command": "true", "args": []}},
                "projects": {},
            },
        )
        place.write(
            ".claude/settings.json",
            {"includeCoAuthoredBy": False, "hooks": {"PostToolUse": [_OWN_HOOK]}},
        )

    def environment(self, place: Place) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": place.url,
            "CLAUDE_CODE_TMPDIR": str(place.home.parent / "tmp"),
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
        }

    def arguments(self, prompt: str) -> list[str]:
        return ["-p", prompt, "--allowedTools", f"Bash mcp__{SERVER} mcp__{self.plugin_server}"]

    def shell(self, command: str) -> Call:
        return Call("Bash", {"command": command, "description": "Run a check"})

    def memory(self, server: str, tool: str, arguments: dict[str, Any]) -> Call:
        return Call(f"mcp__{server}__{tool}", arguments)
