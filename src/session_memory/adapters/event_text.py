"""The text of an event, and the texts in a JSON value of any shape."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from session_memory.adapters.base import NativeEvent

DEEPEST = 50

EventTexts = list[tuple[str, object]]
"""The text and the arguments of each event of a record."""


class NoText(Exception):
    """Raised for an event that has no text. The caller uses the event's summary instead."""


def strings_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts and numbers in a JSON value in order, without the names of fields.

    Empty texts are left out, and so is everything more than ``DEEPEST`` levels deep.
    """
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


def text_with_arguments(text: str, arguments: object) -> str:
    """Return the text of a call: ``text``, then every text and number in ``arguments``.

    Raises `NoText` if there is neither.
    """
    given = "\n".join(_given(arguments))
    text = f"{text}\n{given}" if text and text != given else given or text
    if not text:
        raise NoText
    return text


def event_text(event: NativeEvent) -> str:
    """Return the whole text of an event: what was said or printed, and the arguments of a call; the
    summary if there is neither."""
    text = event.body or event.text
    if event.arguments is None:
        return text or event.summary
    try:
        return text_with_arguments(text, event.arguments)
    except NoText:
        return event.summary


def _given(arguments: Any) -> Iterable[str]:
    # The arguments of nearly all calls are a few texts, which need no walk through the value.
    if type(arguments) is dict and set(map(type, arguments.values())) == {str}:
        return filter(None, arguments.values())
    return strings_in(arguments)
