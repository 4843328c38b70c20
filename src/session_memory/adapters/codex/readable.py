"""Make texts readable that Codex wraps in tags or in JSON of its own."""

import json
import re

from session_memory.adapters.codex.prompts import persons_request
from session_memory.core.text import between

# The header before the output of a command. A transcript shows its status and time elsewhere.
_PREFACE = re.compile(
    r"\A(?:Chunk ID: \S+\n)?(?:Exit code: -?\d+\n)?Wall time: [\d.]+ seconds\n"
    r"(?:Process (?:exited with code -?\d+|running with session ID \d+)\n)?"
    r"(?:Original token count: \d+\n|Total output lines: \d+\n)*Output:(?:\n|\Z)"
)
NOTICE = ("<subagent_notification>", "</subagent_notification>")


def readable(text: str) -> str:
    """Return ``text`` as a person should see it: without Codex' tags, headers and JSON."""
    start = text.lstrip()
    if start.startswith("<codex_delegation>"):
        return between(start, "<input>", "</input>") or text
    if start.startswith(NOTICE[0]):
        return _status(between(start, *NOTICE) or "") or text
    if start.startswith("Message Type: "):
        return _message(start)
    if start.startswith('{"answers":'):
        return _answers(start) or text
    if request := persons_request(start):
        return request
    return _PREFACE.sub("", text, count=1)


def _message(text: str) -> str:
    """Return the text that one agent sent to another; if there is none, the name of the task."""
    _, payload, words = text.partition("Payload:")
    if payload and words.strip():
        return words.strip()
    name = between(text, "Task name: ", "Sender:") or ""
    return name.rpartition("/")[2] or text


def _status(text: str) -> str:
    """Return how a subagent ended, such as ``completed: No such directory.``"""
    match _decoded(text):
        case {"status": dict(status)}:
            return "\n".join(f"{name}: {words}" for name, words in status.items())
        case {"status": str(word)}:
            return word
    return ""


def _answers(text: str) -> str:
    """Return a line for each question: its name, and the options that a person chose."""
    match _decoded(text):
        case {"answers": dict(answers)}:
            return "\n".join(f"{name} → {_chosen(given)}" for name, given in answers.items())
    return ""


def _chosen(given: object) -> str:
    match given:
        case {"answers": list(options)}:
            return ", ".join(map(str, options))
    return str(given)


def _decoded(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
