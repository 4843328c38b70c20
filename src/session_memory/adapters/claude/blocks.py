"""Read the content blocks of messages and results in Claude Code's logs."""

from typing import Any

from session_memory.adapters.claude.lines import Block, ClaudeMessage, ResultItem, ServerFailure

# No turn takes longer than this. Sums of larger durations would not fit into a database column.
MOST_MS = 1e12
# All blocks of a line become events in memory at once. Real messages have a few dozen.
MOST_BLOCKS = 10_000


def blocks(message: ClaudeMessage) -> list[Block]:
    """Return the blocks of a message; a plain text is one block."""
    if isinstance(message.content, str):
        return [Block("text", message.content)]
    return message.content or [Block("empty")]


def result_text(content: str | list[ResultItem] | ServerFailure | None) -> str:
    """Return the text of a tool result. A block without a text, such as an image, becomes its type
    in brackets."""
    if isinstance(content, str):
        return content
    if isinstance(content, ServerFailure):
        return content.error_code or content.stdout or content.url or content.type or ""
    return "\n".join(
        item.text if item.text is not None else f"[{item.type}]" for item in content or ()
    )


def text_or_none(value: Any) -> str | None:
    """Return the value if it is a text that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def milliseconds(spent: float | None) -> int | None:
    """Return a logged duration in whole milliseconds; None for one that cannot be true."""
    return int(spent) if spent is not None and 0 <= spent < MOST_MS else None
