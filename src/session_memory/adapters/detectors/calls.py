"""Classify the tool calls of any agent: which edit files, which run a shell, which are repeated."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b

from session_memory.core.lazy_patterns import lazy_pattern

from .runners import program_name

_EDIT_TOOLS = frozenset(
    name.lower()
    for name in (
        *("Edit", "MultiEdit", "Write", "NotebookEdit"),  # Claude; pi, mycode, opencode, Kimi
        *("apply_patch", "FileChange"),  # Codex, opencode, Copilot
        *("search_replace", "hashline_edit"),  # Grok
        *("write_file", "replace"),  # Gemini, Qwen
        *("create", "str_replace_editor"),  # Copilot
        *("editor", "write_to_file", "replace_in_file", "apply_diff"),  # Cline
        "ApplyPatch",  # Droid, beside Edit, Create and MultiEdit
        *("text_editor", "developer__text_editor"),  # Goose
        *("WriteFile", "StrReplaceFile", "StrReplace"),  # Kimi, Cursor
        *("create_file", "edit_file"),  # Amp
    )
)
_SHELL_TOOLS = frozenset(
    name.lower()
    for name in (
        *("Bash", "PowerShell"),  # Claude; opencode, pi, Copilot, mycode, Kimi
        *("shell", "shell_command", "exec_command", "local_shell", "local_shell_call"),  # Codex
        *("container.exec", "exec"),  # Codex, old and in code mode
        *("run_terminal_command", "run_terminal_cmd"),  # Grok
        "run_shell_command",  # Gemini, Qwen
        *("execute_command", "run_commands"),  # Cline
        "Execute",  # Droid
        "developer__shell",  # Goose
    )
)
_TOOL_IN_SCRIPT = lazy_pattern(r"\btools\.\w+\(")
_SHELL_IN_SCRIPT = lazy_pattern(r"\btools\.(?:exec_command|write_stdin)\b")
# Some edit tools can also view a file. With these values of `command` they change nothing.
_LOOKING = frozenset({"view", "undo_edit"})


def is_edit_tool(tool: str, arguments: object = None) -> bool:
    """Whether the tool named ``tool`` changes files. With ``arguments``: whether this call does."""
    if tool.lower() not in _EDIT_TOOLS:
        return False
    return not (isinstance(arguments, Mapping) and arguments.get("command") in _LOOKING)


def is_shell_tool(tool: str) -> bool:
    """Whether the tool named ``tool`` runs commands in a shell."""
    return tool.lower() in _SHELL_TOOLS


def shell_text(tool: str, arguments: object) -> str | None:
    """Return the command text that a call runs in a shell; None for other calls."""
    if not is_shell_tool(tool):
        return None
    match arguments:
        case {"command": str(text)} | {"cmd": str(text)}:
            return text
        case {"command": [*words]} | {"cmd": [*words]} | {"action": {"command": [*words]}}:
            return _argv_text(words)
        case {"commands": [*commands]}:
            return "\n".join(map(str, commands)) or None
        case {"input": str(code)} | {"code": str(code)} | str(code):
            return "\n".join(_code_mode_commands(code)) or None
    return None


def is_script_without_shell(summary: str) -> bool:
    """Whether the summary of a call is a script of Codex that calls other tools than the shell.

    If a script runs commands, the summary of its call is these commands.
    """
    return _TOOL_IN_SCRIPT.search(summary) is not None and not _SHELL_IN_SCRIPT.search(summary)


def _argv_text(words: list[object]) -> str | None:
    """Return a list of arguments as a shell text: ``["bash", "-lc", text]`` becomes ``text``, any
    other list one quoted command."""
    argv = [str(word) for word in words]
    if len(argv) > 2 and _SHELL.fullmatch(program_name(argv[0])) and argv[1].startswith("-"):
        return argv[-1]
    return shlex.join(argv) if argv else None


def _code_mode_commands(code: str) -> Iterator[str]:
    """Yield the command of every ``tools.exec_command({"cmd": …})`` in a script of Codex."""
    if "exec_command" not in code:
        return
    for found in _CMD_STRING.finditer(code, 0, _LONGEST_SCRIPT):
        quoted = found[1]
        try:
            yield str(json.loads(quoted)) if quoted[0] == '"' else quoted[1:-1]
        except ValueError:  # JavaScript has escapes that JSON has not.
            yield quoted[1:-1]


def call_key(tool: str, arguments: object) -> int:
    """Return a number that is equal for two calls if one repeats the other.

    It ignores what does not change the request: spaces, descriptions, limits, line numbers, and a
    trailing ``2>&1 | tail -n 5``. It is the same on every machine, and 0 or larger and below 2^62.
    """
    text = "\x1f".join(_parts(tool, arguments))
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 2


def _parts(tool: str, arguments: object) -> list[str]:
    """Return the tool and its arguments as a flat list of texts.

    The function is not recursive, because values in logs may be nested deeply.
    """
    parts = [tool]
    pending = [arguments]
    while pending and len(parts) < _MOST_PARTS:
        value = pending.pop()
        if isinstance(value, str):
            parts.append(_normalized(value))
        elif isinstance(value, dict):
            keys = [key for key in value if key not in _IMMATERIAL]
            keys.sort(key=str)
            parts.append(f"{{{len(keys)}")
            for key in keys:
                parts.append(str(key))
                pending.append(value[key])
        elif isinstance(value, list):
            parts.append(f"[{len(value)}")
            pending.extend(value)
        else:
            parts.append(_scalar(value))
    return parts


def _scalar(value: object) -> str:
    if isinstance(value, int):
        return hex(value)  # Python refuses to write very long integers in decimal.
    return repr(value) if isinstance(value, float) else type(value).__name__


def _normalized(text: str) -> str:
    if len(text) > _LONGEST_NORMALIZED:
        return text
    text = " ".join(text.split())
    if "|" not in text and "2>&1" not in text:
        return text
    text = text.replace(" 2>&1", "")
    for _ in range(_MOST_PAGERS):
        front, bar, last = text.rpartition("|")
        if not bar or front.endswith("|") or not _PAGER.fullmatch(last):
            break
        text = front.rstrip()
    return text


_SHELL = lazy_pattern(r"(?:ba|z|da|k|fi)?sh|pwsh|powershell|cmd")
_CMD_STRING = lazy_pattern(
    r"""\bcmd["']?\s*:\s*("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)"""
)
_LONGEST_SCRIPT = 65_536
_LONGEST_NORMALIZED = 16_384
_MOST_PARTS = 100_000
_MOST_PAGERS = 4
_PAGER = lazy_pattern(r"&? ?(?:tail|head)(?: [-+]?[\w+=-]+)*|&? ?(?i:select-object) -\w+ \d+")
_IMMATERIAL = frozenset(
    {
        *("description", "explanation", "justification", "with_escalated_permissions"),
        *("timeout", "timeout_ms", "yield_time_ms", "max_output_tokens", "initial_wait"),
        *("offset", "limit", "head_limit", "line", "line_start", "line_end", "view_range"),
        *("start_line", "end_line", "startLine", "endLine"),
    }
)


def best_argument(arguments: Mapping[str, object], names: Sequence[str]) -> str:
    """Return the argument that describes a call best: the first of ``names`` that is a text, else
    any text; "" if there is none."""
    for name in names:
        if isinstance(value := arguments.get(name), str) and value:
            return value
    return next((v for v in arguments.values() if isinstance(v, str) and v), "")
