from typing import Any

from real_agents.agent import KEY, MODEL, Agent, Call, Place


class Pi(Agent):
    name, title, program = "pi", "pi", "pi"
    package = "@earendil-works/pi-coding-agent"

    def configure(self, place: Place) -> None:
        model = {"id": MODEL, "name": "Script", "contextWindow": 200_000, "maxTokens": 8192}
        provider = {"baseUrl": place.url, "api": "anthropic-messages", "apiKey": KEY}
        place.write(
            ".pi/agent/models.json", {"providers": {"script": provider | {"models": [model]}}}
        )

    def environment(self, place: Place) -> dict[str, str]:
        return {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}

    def arguments(self, prompt: str) -> list[str]:
        # The user answers once whether extensions of a project may run.
        return ["-p", "--approve", "--provider", "script", "--model", MODEL, prompt]

    def shell(self, command: str) -> Call:
        return Call("bash", {"command": command})

    def memory(self, server: str, tool: str, arguments: dict[str, Any]) -> Call:
        return Call(tool, arguments)
