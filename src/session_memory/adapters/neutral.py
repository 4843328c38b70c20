"""A substitute for an agent whose adapter is missing, broken or too old.

It reads JSON lines of any agent: it finds the blocks of a record, their texts, and the arguments
of calls. It discovers no sources. The texts that it reads are shown but never stored.
"""

from collections.abc import Iterator
from typing import Any

from session_memory.adapters import jsonl
from session_memory.adapters.agent import Agent, no_roots, no_sources, recognizes_nothing
from session_memory.adapters.base import Cursor, NativeEvent, Readable, Record
from session_memory.adapters.event_text import strings_in
from session_memory.core.text import escaped, one_line

DEEPEST = 20
# Names of fields in which agents keep what was said, thought or printed.
_TEXTS = frozenset(
    {
        *("text", "content", "message", "thinking", "reasoning", "prompt", "summary"),
        *("output", "stdout", "stderr", "result", "error", "title", "description"),
    }
)
# Names of fields in which agents keep the arguments of a call.
_ARGUMENTS = ("input", "arguments", "args", "parameters", "rawInput")


def substitute(flavor: str, problem: str) -> Agent:
    """Return an agent that only reads the stored sessions of ``flavor``.

    ``problem`` says why the real adapter cannot be used.
    """
    return Agent(
        flavor=flavor,
        version=0,
        roots=no_roots,
        discover=no_sources,
        recognizes=recognizes_nothing,
        read=read,
        problem=problem,
    )


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield one record for each line, with one event for each of its blocks."""
    with source.open(cursor.offset) as stream:
        for offset, length, line in jsonl.split_lines(stream, cursor.offset):
            record = Record(offset, length, source.ref.session)
            record.events = [_event(block) for block in blocks_of(_decoded(line))]
            yield Cursor(offset + length), record


def _decoded(line: bytes | None) -> Any:
    if line is None:
        return None
    try:
        return jsonl.decode_anything(line)
    except ValueError:
        return line.decode("utf-8", "backslashreplace").strip()


def _event(block: Any) -> NativeEvent:
    text = escaped("\n".join(_texts(block)))
    return NativeEvent("lifecycle", "system", one_line(text), body=text, arguments=_given(block))


def blocks_of(record: Any) -> list[Any]:
    """Return the blocks of a record: the items of its outermost list of objects named ``content``,
    or the record itself if it has none."""
    waiting, depth = [record], 0
    while waiting and depth < DEEPEST:
        objects = [value for value in waiting if isinstance(value, dict)]
        for value in objects:
            content = value.get("content")
            if isinstance(content, list) and content and isinstance(content[0], dict):
                return content
        waiting = [inner for value in objects for inner in value.values()]
        depth += 1
    return [record]


def _texts(block: Any) -> list[str]:
    """Return the texts in the known fields of a block.

    If there are none and the block is no call, return all its texts and numbers.
    """
    if isinstance(block, str):
        return [block]
    return list(_named_texts(block, 0)) or ([] if _given(block) else list(strings_in(block)))


def _named_texts(value: Any, depth: int) -> Iterator[str]:
    if depth > DEEPEST:
        return
    if isinstance(value, list):
        for item in value:
            yield from [item] if isinstance(item, str) else _named_texts(item, depth + 1)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, str):
                if name in _TEXTS and inner:
                    yield inner
            elif name not in _ARGUMENTS:
                yield from _named_texts(inner, depth + 1)


def _given(block: Any) -> Any:
    """Return the arguments of a call; None if neither the block nor an object directly in it has
    any."""
    if not isinstance(block, dict):
        return None
    for owner in (block, *(value for value in block.values() if isinstance(value, dict))):
        for name in _ARGUMENTS:
            if isinstance(owner.get(name), dict):
                return owner[name]
    return None
