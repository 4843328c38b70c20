"""Infer the schemas of tools from their calls, because logs do not contain the agents' schemas."""

from collections.abc import Iterable
from typing import Any

_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}


def tool_schemas(messages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a JSON schema for each tool that the messages call, in the order of their names.

    An argument that every call has is required.
    """
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
    """Return the JSON type of the first value that is not None.

    Chat templates accept only one type for an argument.
    """
    known = (value for value in values if value is not None)
    return _TYPES.get(type(next(known, "")), "object")
