"""Print a JSON value for people: indented, without quotes, texts with their line breaks."""

from collections.abc import Iterator
from typing import Any

from session_memory.render.text import safe, safe_lines

STEP = "  "
DEEPEST = 40


def outline(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the lines of ``value`` with every text made safe.

    Values below level 40 are shown as ``…``.
    """
    margin = STEP * depth
    if depth > DEEPEST:
        yield f"{margin}…"
        return
    match value:
        case dict() if value:
            for key, item in value.items():
                yield from _entry(f"{safe(key)}:", item, depth)
        case list() if value:
            for item in value:
                yield from _entry("-", item, depth)
        case str():
            yield from (margin + line for line in safe_lines(value))
        case _:
            yield margin + _scalar(value)


def _entry(name: str, item: Any, depth: int) -> Iterator[str]:
    margin = STEP * depth
    if isinstance(item, dict | list) and item:
        yield f"{margin}{name}"
        yield from outline(item, depth + 1)
    elif isinstance(item, str) and "\n" in item.rstrip("\n"):
        yield f"{margin}{name} |"
        yield from (f"{margin}{STEP}{line}" for line in safe_lines(item.rstrip("\n")))
    else:
        yield f"{margin}{name} {_scalar(item)}"


def _scalar(value: Any) -> str:
    match value:
        case str():
            return safe(value)
        case True | False | None:
            return {True: "true", False: "false", None: "null"}[value]
        case {}:
            return "{}"
        case []:
            return "[]"
    return safe(str(value))
