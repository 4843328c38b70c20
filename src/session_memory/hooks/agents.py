"""What each agent sends to its hooks, and which answer it accepts.

Evidence: docs/hooks.md. Keys are paths into the JSON on standard input, and the first one that
exists counts. All spellings are tried for each agent, because new releases change them.
"""

import re

TYPE_CHECKING = False  # Importing typing takes time. Type checkers know this name.
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SESSION = ("session_id", "sessionId")
CWD = ("cwd",)
CALL = ("tool_use_id", "toolUseId")
TRANSCRIPT = ("transcript_path", "transcriptPath")
NATIVE_EVENT = ("hook_event_name", "hookEventName")
COMMAND = (
    *("tool_input.command", "toolInput.command", "toolArgs.command", "command"),
    *("tool_input.cmd", "toolArgs.cmd"),
)
PROMPT = ("prompt", "user_prompt", "userPrompt", "initialPrompt")
OUTPUT = ("error", "tool_response", "toolResult", "tool_result", "output")
EXIT = ("exit",)
_EXAMINED = 4_000


class HookedAgent:
    """One agent that runs our hooks.

    - ``names``: our events → the agent's own names, which the answers to it contain
    - ``is_flat``: the answer is ``{"additionalContext": …}`` without anything around it
    - ``output``: the paths of a command's output
    - ``fires_for_failures``: the event itself says that the command failed. Otherwise the exit
      status is at one of the paths ``exit``, or ``exit_text`` finds it in the output, or
      (``is_in_log``) it is in the log of the session. If it is nowhere, the output decides.
    - ``frame``: a pattern of what the agent writes around an output
    - ``context``: a pattern of what the agent writes before a prompt: the texts of other hooks
    - ``variable``: an environment variable that only this agent sets for the hooks that it runs
    """

    def __init__(
        self,
        name: str,
        *,
        names: "dict[str, str] | None" = None,
        is_flat: bool = False,
        fires_for_failures: bool = False,
        output: "tuple[str, ...]" = OUTPUT,
        exit: "tuple[str, ...]" = EXIT,
        exit_text: str = "",
        is_in_log: bool = False,
        frame: str = "",
        context: str = "",
        variable: str = "",
    ) -> None:
        self.name = name
        self.names = names or {}
        self.is_flat = is_flat
        self.fires_for_failures = fires_for_failures
        self.output = output
        self.exit = exit
        self.exit_text = exit_text
        self.is_in_log = is_in_log
        self.frame = frame
        self.context = context
        self.variable = variable

    def answer(self, event: str, native: str | None, text: str) -> "dict[str, Any]":
        """The value to print so that ``text`` reaches the model."""
        if self.is_flat:
            return {"additionalContext": text}
        own = native or self.names[event]
        return {"hookSpecificOutput": {"hookEventName": own, "additionalContext": text}}


_CLAUDE_NAMES = {
    "failure": "PostToolUseFailure",
    "prompt": "UserPromptSubmit",
    "start": "SessionStart",
}
# Qwen is made from Gemini and writes the same lines around an output.
_GEMINI_FRAME = (
    r"(?m)^(?:</?untrusted_context>$|(?:Command|Directory): .*\n|Output: (?:\(empty\))?"
    r"|(?:Error|Signal): \(none\)$|(?:Exit Code|Background PIDs|Process Group PGID): .*$)"
)
_AFTER_NAMES = {**_CLAUDE_NAMES, "failure": "PostToolUse"}
AGENTS = {
    agent.name: agent
    for agent in (
        HookedAgent(
            "claude",
            names=_CLAUDE_NAMES,
            fires_for_failures=True,
            output=("error",),
            exit_text=r"\AExit code (\d{1,10})$",
        ),
        HookedAgent(
            "qwen",
            names=_CLAUDE_NAMES,
            fires_for_failures=True,
            output=("error",),
            exit_text=r"^Exit Code: (-?\d{1,10})\s*$",
            frame=_GEMINI_FRAME,
            variable="QWEN_PROJECT_DIR",
        ),
        HookedAgent(
            "codex",
            names=_AFTER_NAMES,
            output=("tool_response", "tool_response.output"),
            exit=("tool_response.exit_code", "tool_response.metadata.exit_code"),
            is_in_log=True,
        ),
        HookedAgent(
            "grok",
            names=_AFTER_NAMES,
            output=(
                *("toolResult.output_for_prompt", "tool_result.output_for_prompt"),
                *("tool_response.output_for_prompt", "error", "tool_response", "toolResult"),
            ),
            exit=(
                *("toolResult.exit_code", "tool_result.exit_code", "tool_response.exit_code"),
                "toolResult.exitCode",
            ),
            variable="GROK_HOOK_EVENT",
        ),
        HookedAgent(
            "gemini",
            names={**_AFTER_NAMES, "failure": "AfterTool", "prompt": "BeforeAgent"},
            output=("tool_response.llmContent", "tool_response"),
            exit_text=r"^Exit Code: (-?\d{1,10})\s*$",
            frame=_GEMINI_FRAME,
            context=r"(?s)\A(?:<hook_context>.*?</hook_context>\s*)+",
            variable="GEMINI_SESSION_ID",
        ),
        HookedAgent(
            "copilot",
            is_flat=True,
            output=(
                *("toolResult.textResultForLlm", "tool_result.text_result_for_llm"),
                *("tool_result.textResultForLlm", "tool_response", "error"),
            ),
            exit_text=r"\bexit code (-?\d{1,10})\b",
            frame=r"(?m)^<exited with exit code -?\d+>$",
        ),
        HookedAgent("opencode", is_flat=True, output=("output",)),
        HookedAgent("pi", is_flat=True, output=("output",)),
    )
}


def is_run_by_another(agent: HookedAgent, environ: "Mapping[str, str]") -> bool:
    """Whether another agent runs this agent's hook.

    Grok reads the hooks of Claude Code, and Gemini CLI and Qwen Code can take them over. Such a
    hook does nothing: it does not know what these agents send, and each has hooks of its own.
    """
    return not environ.get(agent.variable) and any(
        one.variable and environ.get(one.variable) for one in AGENTS.values() if one is not agent
    )


def exit_in(text: str, pattern: str) -> int | None:
    """The last exit status that a text names; None if there is none."""
    if len(text) > 2 * _EXAMINED:
        text = text[:_EXAMINED] + text[-_EXAMINED:]
    found = re.findall(pattern, text, re.MULTILINE) if pattern else []
    return int(found[-1]) if found else None
