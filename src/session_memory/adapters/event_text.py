"""The text of an event, and the texts in a JSON value of any shape."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from session_memory.adapters.base import NativeEvent

DEEPEST = 50


def strings_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Every text and number in a JSON value, in order, without the names of fields."""
    match value:
        case str():
            if value:
                yield value
        case bool() | None:
            return
        case int() | float():
            yield str(value)
        case Mapping() if depth < DEEPEST:
            for inner in value.values():
                yield from strings_in(inner, depth + 1)
        case list() | tuple() if depth < DEEPEST:
            for inner in value:
                yield from strings_in(inner, depth + 1)


def event_text(event: NativeEvent) -> str:
    """The whole text of an event: what was said or printed, and what a call was given."""
    text = event.body or event.text
    if event.arguments is None:
        return text or event.summary
    given = "\n".join(_given(event.arguments))
    return f"{text}\n{given}" if text and text != given else given or text or event.summary


def _given(arguments: Any) -> Iterable[str]:
    # Nearly all calls are given a few texts and nothing else.
    if type(arguments) is dict and set(map(type, arguments.values())) == {str}:
        return filter(None, arguments.values())
    return strings_in(arguments)
