"""Content blocks of messages and results in Claude Code's logs."""

from typing import Any

from session_memory.adapters.claude.lines import Block, ClaudeMessage, ResultItem, ServerFailure

# No turn takes longer. Sums of larger figures would not fit into a column.
MOST_MS = 1e12
# Every block becomes an event, all of a line at once; real messages have a few dozen.
MOST_BLOCKS = 10_000


def blocks(message: ClaudeMessage) -> list[Block]:
    """The blocks of a message; a plain text is one block."""
    if isinstance(message.content, str):
        return [Block("text", message.content)]
    return message.content or [Block("empty")]


def result_text(content: str | list[ResultItem] | ServerFailure | None) -> str:
    """The text of a tool result: a string, or a list of blocks with images by name."""
    if isinstance(content, str):
        return content
    if isinstance(content, ServerFailure):
        return content.error_code or content.stdout or content.url or content.type or ""
    return "\n".join(
        item.text if item.text is not None else f"[{item.type}]" for item in content or ()
    )


def text_or_none(value: Any) -> str | None:
    """The value if it is a text that is not empty."""
    return value if isinstance(value, str) and value else None


def milliseconds(spent: float | None) -> int | None:
    """A duration as the log has it; None for one that cannot be true."""
    return int(spent) if spent is not None and 0 <= spent < MOST_MS else None
