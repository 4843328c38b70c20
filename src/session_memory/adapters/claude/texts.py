"""Read only the texts of one line: the same texts that `translate` gives, but faster.

This reads calls, results and messages, which are most of the lines. For any other line, and for one
that is not as expected, the caller uses `translate`.
"""

from collections.abc import Iterator

from session_memory.adapters.claude.blocks import MOST_BLOCKS, blocks, result_text
from session_memory.adapters.claude.lines import Block, ClaudeMessage, strict_line
from session_memory.adapters.decoding import LONG_LINE, REFUSED
from session_memory.adapters.event_text import EventTexts, NoText, text_with_arguments

_CALLS = frozenset(("tool_use", "server_tool_use", "mcp_tool_use"))
_THOUGHTS = frozenset(("thinking", "redacted_thinking"))


def texts(line: bytes) -> EventTexts | None:
    """Return the text and the arguments of each event of a line; None if only `translate` can read
    the line."""
    if len(line) > LONG_LINE:
        return None
    try:
        native = strict_line(line)
        found = blocks(native.message or ClaudeMessage())
        if len(found) > MOST_BLOCKS:
            return None
        if native.type == "assistant":
            return list(_answered(found))
        return list(_given(found)) if native.type == "user" else None
    except (*REFUSED, NoText):
        return None


def _answered(found: list[Block]) -> Iterator[tuple[str, object]]:
    for block in found:
        if block.type in _CALLS:
            yield text_with_arguments("", block.input), block.input
        elif block.type in _THOUGHTS:
            yield block.thinking or "", None
        elif block.type.endswith("_tool_result") and block.tool_use_id:
            yield result_text(block.content), None
        else:
            yield block.text or "", None


def _given(found: list[Block]) -> Iterator[tuple[str, object]]:
    for block in found:
        if block.type not in ("tool_result", "text"):
            yield f"[{block.type}]", None
            continue
        text = result_text(block.content) if block.type == "tool_result" else block.text
        if not text:
            # For a block without text the summary is used, and only `translate` makes summaries.
            raise NoText
        yield text, None
