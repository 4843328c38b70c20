"""Make the parts of Claude Code logs for tests: blocks of a message, usage, and lines."""

import json
from typing import Any

Json = dict[str, Any]

REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was"
    " a file edit, the new_string was NOT written to the file)."
)
# The user's reason for the rejection follows this text.
REASON_FOLLOWS = " To tell you how to proceed, the user said:\n"
STOP_AND_WAIT = " STOP what you are doing and wait for the user to tell you how to proceed."
CONTINUED = "This session is being continued from a previous conversation"


def text(words: str) -> Json:
    """Return a block of plain text."""
    return {"type": "text", "text": words}


def thinking(words: str) -> Json:
    """Return a block of the model's thoughts."""
    return {"type": "thinking", "thinking": words, "signature": "c2lnbmF0dXJl"}


def call(tool: str, call_id: str | None = None, **arguments: Any) -> Json:
    """Return a block with a tool call. Without ``call_id``, the log to which it is added makes an
    id."""
    return {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}


def usage(
    output: int = 10,
    *,
    input: int = 3,
    read: int = 0,
    write: int = 0,
    one_hour: int = 0,
    searches: int = 0,
    speed: str = "standard",
) -> Json:
    """Return the usage of a response. ``write`` counts all tokens written to the cache,
    ``one_hour`` those of them that stay for an hour and cost more."""
    return {
        "input_tokens": input,
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
        "cache_creation": {
            "ephemeral_5m_input_tokens": write - one_hour,
            "ephemeral_1h_input_tokens": one_hour,
        },
        "server_tool_use": {"web_search_requests": searches, "web_fetch_requests": 0},
        "service_tier": "standard",
        "speed": speed,
    }


def line_of(record: Json) -> bytes:
    """Return a record as a line of a log, with its newline."""
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
