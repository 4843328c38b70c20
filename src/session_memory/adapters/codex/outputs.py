"""Read the output of a tool in logs of Codex: its text, its exit status, and whether the call
failed.

Evidence: docs/formats/codex.md, "Results". Most outputs have no field for a failure. The output of
a command that ran begins with a header. A shell tool's output without a header is the reason why
the command did not run.
"""

import re
from typing import Any

import msgspec

from session_memory.adapters.codex.reading import MOST_MS

_HEADER = 65_536
_EXITED = re.compile(r"^(?:Exit code: |Process exited with code )(-?\d{1,9})\b", re.MULTILINE)
_RUNNING = re.compile(r"^Process running with session ID ", re.MULTILINE)
_WALL_TIME = re.compile(r"^Wall time: (\d{1,9}(?:\.\d{1,9})?) seconds", re.MULTILINE)
_BY_PERSON = re.compile(
    r"(?:Wall time: [\d.]{1,20} seconds\s+)?"
    r"(?:(?:command |request )?aborted by user|(?:\w+ ){0,2}rejected by user"
    # Version 0.166.0 prints another error. Each level of quoting adds backslashes to it.
    r"|exec_command failed[^\n]{0,2000}?Rejected\(\\*\"rejected by user)"
)
_FAILED = re.compile(
    r"error: |err: |execution error|failed (?:to |in sandbox)|tool call error|tool call failed"
    r"|unsupported (?:custom tool )?call|unknown tool|apply_patch verification failed"
    r"|Script (?:failed|error)|aborted\b"
    r"|(?:exec_command|write_stdin|collab \w+|resources/\S+) failed"
    r"|unable to (?:locate|read|resolve)|agent with id \S+ not found|Agent depth limit reached"
    r"|Command blocked by"
    r"|[^\n]{1,80} (?:handler received unsupported payload|was cancelled before receiving)"
)
_HEADED = re.compile(r"Exit code: |Chunk ID: |Wall time: |Command: |Script ")
_PRINTED = "\nOutput:\n"
_SCRIPT = "Script completed"
_PATCH_HEADER = "Exit code: "
_PATCHED = "Success. Updated the following files"

_json = msgspec.json.Decoder(dict[str, Any]).decode


class Outcome(msgspec.Struct, gc=False):
    text: str
    is_error: bool = False
    exit_code: int | None = None
    duration_ms: int | None = None
    is_finished: bool = True
    by_person: bool = False
    child: str | None = None

    @property
    def shown(self) -> str:
        """The text that the tool printed, without the header about the command."""
        end = self.text.find(_PRINTED, 0, _HEADER) if _HEADED.match(self.text) else -1
        return self.text[end + len(_PRINTED) :] if end >= 0 else self.text


def read_output(output: object, answers: str = "") -> Outcome:
    """Return the outcome of a call. ``answers`` says how results of this tool begin if the call
    worked (`session_memory.adapters.codex.calls.answers_of`)."""
    text, flag = _text_of(output)
    value = _json_object(text) if text.startswith("{") else None
    if value is not None:
        return _from_json(text, value, flag)
    if (ran := _ran_by_script(text)) is not None:
        return ran
    by_person = bool(_BY_PERSON.match(text))
    exit_code, is_running, duration = _header_of(text)
    outcome = Outcome(text, exit_code=exit_code, duration_ms=duration, by_person=by_person)
    outcome.is_finished = not is_running
    if by_person:
        outcome.is_error = True
    elif exit_code is not None:
        outcome.is_error = exit_code != 0
    elif flag is not None:
        outcome.is_error = not flag
    else:
        silent = bool(answers) and not is_running and not text.startswith(_PATCHED)
        outcome.is_error = (silent and bool(text)) or bool(_FAILED.match(text))
    return outcome


def text_of_output(output: object) -> str:
    """Return only the text of a call's outcome, as `read_output` would."""
    text, flag = _text_of(output)
    value = _json_object(text) if text.startswith("{") else None
    if value is None:
        ran = _ran_by_script(text)
        return text if ran is None else ran.text
    return _from_json(text, value, flag).text


def _ran_by_script(text: str) -> Outcome | None:
    """Return the outcome of a command that a script ran. None if the script printed anything else.

    A script of Codex (since 2026) often prints the whole result of its command as a JSON object.
    """
    head, is_script, printed = text.partition(_PRINTED)
    if not (is_script and head.startswith(_SCRIPT) and printed.lstrip().startswith("{")):
        return None
    match _json_object(printed):
        case {"output": str(shown), "exit_code": int(code), "chunk_id": str()}:
            text = f"{head}{_PRINTED}{shown}"
            return Outcome(text, code != 0, _fitting(code), _header_of(text)[2])
        case {"output": str(shown), "session_id": int() | str(), "chunk_id": str()}:
            text = f"{head}{_PRINTED}{shown}"
            return Outcome(text, duration_ms=_header_of(text)[2], is_finished=False)
    return None


def _text_of(output: object) -> tuple[str, bool | None]:
    """Return the text of an output, and the success flag that some versions of Codex log with
    it."""
    match output:
        case str(text):
            return text, None
        case [*parts]:
            return "\n".join(map(_part, parts)), None
        case {"success": bool(flag), "content": content} | {"success": bool(flag), "body": content}:
            return _text_of(content)[0], flag
        case {"content": content} | {"body": content}:
            return _text_of(content)
        case None:
            return "", None
        case dict():
            return msgspec.json.encode(output).decode(), None
    return str(output), None


def _part(part: object) -> str:
    match part:
        case str(text) | {"text": str(text)}:
            return text
        case {"type": str(kind)}:
            return f"[{kind}]"
    return ""


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        return _json(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return None


def _from_json(text: str, value: dict[str, Any], flag: bool | None) -> Outcome:
    match value:
        case {"output": str(shown), "metadata": {"exit_code": int(code), **rest}}:
            failed = code != 0
            outcome = Outcome(
                shown, failed, _fitting(code), milliseconds(rest.get("duration_seconds"))
            )
            outcome.by_person = failed and bool(_BY_PERSON.match(shown))
            return outcome
        case {"agent_id": str(child)}:
            return Outcome(text, child=child)
    return Outcome(text, is_error=flag is False or value.get("isError") is True)


def _header_of(text: str) -> tuple[int | None, bool, int | None]:
    """Return what the header of an output says: the exit status, whether the command still runs,
    and how many milliseconds it took."""
    end = text.find("\nOutput:", 0, _HEADER)
    header = text[: end if end >= 0 else 400]
    exited = _EXITED.search(header)
    took = _WALL_TIME.search(header)
    duration = milliseconds(float(took[1])) if took else None
    if exited:
        return int(exited[1]), False, duration
    inner = text[end + len(_PRINTED) : end + _HEADER] if end >= 0 else ""
    if inner.startswith(_PATCH_HEADER):
        # The model ran a patch in a shell: the header of the patch follows that of the shell.
        return _header_of(inner)
    return None, bool(_RUNNING.search(header)), duration


def _fitting(code: int) -> int | None:
    return code if abs(code) < 1 << 31 else None


def milliseconds(spent: object) -> int | None:
    """Return a duration in milliseconds. Codex logs it as a number of seconds, ``{secs, nanos}``,
    ``"1.2s"`` or ``"120ms"``; None for anything else."""
    match spent:
        case {"secs": int(secs), "nanos": int(nanos)}:
            value = secs * 1000 + nanos / 1e6
        case bool():
            return None
        case int() | float():
            value = spent * 1000
        case str() if found := re.fullmatch(r"(\d{1,12}(?:\.\d{1,12})?)(ms|s)", spent):
            value = float(found[1]) * (1 if found[2] == "ms" else 1000)
        case _:
            return None
    return int(value) if 0 <= value < MOST_MS else None
