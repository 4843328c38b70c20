"""Make hooks in the form that most agents share: ``{"hooks": {EVENT: [{"matcher", "hooks"}]}}``."""

import json
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from session_memory.install.agent import NAME, Request
from session_memory.install.parts import JSON, WHOLE, FileParts, Hook, Member, Whole

# A hook usually answers within 150 ms, and ends itself after 4 seconds. The agent's own limit is
# for a machine on which the hook cannot even do that.
SECONDS = 5
# Newer releases of Qwen Code count in seconds, and read a number as large as this as milliseconds.
IN_MILLISECONDS = 1000 * SECONDS


class AgentEvent(NamedTuple):
    """One of our events in the hooks of an agent: ``name`` is the agent's own name of the event.

    ``matcher`` selects the tools for which the hook runs. ``inputs``: names of values that the
    agent fills in, if it can ask the running server instead of starting a process.
    """

    name: str
    matcher: str | None = None
    inputs: tuple[str, ...] = ()


def own_names(names: dict[str, AgentEvent]) -> dict[str, str]:
    """Return the agent's names of the events by our names of them."""
    return {event: named.name for event, named in names.items()}


def hook_command(agent: str, event: str, request: Request) -> str:
    """Return the shell command that an agent runs at an event.

    The program itself never fails. If it is gone, or too old for hooks, the line must not fail
    either: some agents then show the message of the shell instead of a command's output, or stop.
    """
    return f"{shlex.join(request.call('hook', agent, event))} || true"


def hook_parts(
    agent: str, names: dict[str, AgentEvent], request: Request, timeout: int = SECONDS
) -> list[Hook]:
    """Return the requested hooks of an agent. ``timeout`` is in the unit that the agent uses."""
    parts = []
    for event, named in names.items():
        if event not in request.hooks:
            continue
        if request.through_server and named.inputs:
            hook = _server_hook(agent, event, named.inputs)
        else:
            hook = {"type": "command", "command": hook_command(agent, event, request)}
        hook["timeout"] = timeout
        matcher = {} if named.matcher is None else {"matcher": named.matcher}
        group = {**matcher, "hooks": [hook]}
        parts.append(Hook(("hooks", named.name), group, f"hook {agent} {event}"))
    return parts


def _server_hook(agent: str, event: str, inputs: tuple[str, ...]) -> dict[str, Any]:
    """A hook for which the agent calls a tool of the server. The agent fills in ``${name}``."""
    values = {name.rpartition(".")[2]: f"${{{name}}}" for name in inputs}
    given = {"agent": agent, "event": event, **values}
    return {"type": "mcp_tool", "server": NAME, "tool": "hook", "input": given}


def server_words(request: Request) -> dict[str, Any]:
    """How most agents write the command of an MCP server."""
    program, *arguments = request.call("mcp")
    return {"command": program, "args": arguments}


def server_member(
    request: Request, before: dict[str, Any] | None = None, after: dict[str, Any] | None = None
) -> Member:
    """The server in the form that most agents share, with keys before and after the command."""
    value = {**(before or {}), **server_words(request), **(after or {})}
    return Member(("mcpServers", NAME), value)


def settings_json(
    folder: Path, agent: str, names: dict[str, AgentEvent], request: Request
) -> FileParts:
    """The server and the hooks in the ``settings.json`` of Gemini CLI and of its fork Qwen Code."""
    hooks = hook_parts(agent, names, request, IN_MILLISECONDS)
    return FileParts(folder / "settings.json", JSON, (server_member(request), *hooks))


def hook_file(path: Path, hooks: list[Hook]) -> list[FileParts]:
    """Return a JSON file with only these hooks; no file if there are none."""
    events = {hook.path[-1]: [hook.value] for hook in hooks}
    return [whole_json(path, {"hooks": events}, hooks[0].call)] if hooks else []


def whole_json(path: Path, value: dict[str, Any], call: str) -> FileParts:
    """Return a JSON file that is ours alone, recognized by the ``call`` in it: JSON has no
    comments."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return FileParts(path, WHOLE, (Whole(text, call.rpartition(" ")[0]),))
