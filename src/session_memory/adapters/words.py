"""The words in a value of any shape: what there is to read in a call's arguments or a record."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from session_memory.adapters.base import NativeEvent

DEEPEST = 50


def strings_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Every text in a JSON value, in order; numbers too, names of fields not."""
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


def words_of(event: NativeEvent) -> str:
    """All there is to read in an event: what was said, or what a call was given."""
    said = event.body or event.text
    if event.arguments is None:
        return said or event.summary
    given = "\n".join(_given(event.arguments))
    return f"{said}\n{given}" if said and said != given else given or said or event.summary


def _given(arguments: Any) -> Iterable[str]:
    # Nearly all calls are given a few texts and nothing else.
    if type(arguments) is dict and set(map(type, arguments.values())) == {str}:
        return filter(None, arguments.values())
    return strings_in(arguments)
