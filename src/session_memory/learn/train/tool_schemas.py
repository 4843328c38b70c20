"""Schemas of tools, inferred from their calls: logs do not contain the agents' own."""

from collections.abc import Iterable
from typing import Any

_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}


def tool_schemas(messages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One JSON schema for each tool that is called, by name. An argument that every call has is
    required."""
    made: dict[str, list[dict[str, Any]]] = {}
    for message in messages:
        for call in message.get("tool_calls", ()):
            function = call["function"]
            made.setdefault(function["name"], []).append(function["arguments"])
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": f"The tool {name} of the coding agent.",
                "parameters": _parameters(calls),
            },
        }
        for name, calls in sorted(made.items())
    ]


def _parameters(calls: list[dict[str, Any]]) -> dict[str, Any]:
    names = sorted({name for call in calls for name in call})
    return {
        "type": "object",
        "properties": {
            name: {"type": _type([call[name] for call in calls if name in call]), "description": ""}
            for name in names
        },
        "required": [name for name in names if all(name in call for call in calls)],
    }


def _type(values: list[Any]) -> str:
    """The type of the first value that is known; templates take one type, not several."""
    known = (value for value in values if value is not None)
    return _TYPES.get(type(next(known, "")), "object")
