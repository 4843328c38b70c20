"""What the lists of the JSON API hold: hits, rows of costs, patterns, remedies, sessions of a task.

Items that are structs are described from their fields, all others here.
"""

from functools import cache
from typing import Any

import msgspec

from session_memory.learn.patterns import Pattern
from session_memory.views.fixes import Remedy
from session_memory.views.how import TaskSession

REFERENCE = "#/components/schemas/{name}"
_STRUCTS = (Pattern, Remedy, TaskSession)
_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}
_TEXT_OR_NONE, _NUMBER_OR_NONE = {"type": ["string", "null"]}, {"type": ["integer", "null"]}
_TEXTS = {"type": "array", "items": _TEXT}
_TALLY = dict.fromkeys(
    (
        *("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"),
        *("cache_write_1h_tokens", "reasoning_tokens", "web_searches", "responses"),
        *("microdollars", "unpriced_tokens"),
    ),
    _NUMBER,
)


def _record(members: dict[str, Any], sometimes: dict[str, Any] | None = None) -> dict[str, Any]:
    """An object with these members always, and others sometimes."""
    return {
        "type": "object",
        "properties": {**members, **(sometimes or {})},
        "required": list(members),
    }


_ITEMS: dict[str, dict[str, Any]] = {
    "SearchHit": _record(
        {
            "session_uid": _TEXT,
            "event_uid": _TEXT_OR_NONE,
            "seq": _NUMBER_OR_NONE,
            "score": {"type": "number"},
            "class": {"enum": ["title", "message", "summary", "call", "output"]},
            "why": _TEXT,
            "snippet": _TEXT,
            "marks": {
                "type": "array",
                "description": "`[first, end]` of each found word in the snippet",
                "items": {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2},
            },
        }
    ),
    "CostTally": _record(_TALLY),
    "CostRow": _record(
        {"key": _TEXT_OR_NONE, **_TALLY, "models": _TEXTS},
        {
            "title": _TEXT_OR_NONE,
            "relation": _TEXT_OR_NONE,
            "repo": _TEXT_OR_NONE,
            "with_subagents": {"$ref": REFERENCE.format(name="Amount")},
            "ends": _TEXT,
            "is_active": {"type": "boolean"},
            "forecast_microdollars": _NUMBER,
        },
    ),
    "UnpricedModel": _record({"model": _TEXT_OR_NONE, "tokens": _NUMBER}),
    "PriceTable": _record({"version": _TEXT, "digest": _TEXT, "own": _TEXTS}),
}


@cache
def item_schemas() -> dict[str, dict[str, Any]]:
    """The schema of every item by its name."""
    _, found = msgspec.json.schema_components(_STRUCTS, ref_template=REFERENCE)
    for schema in found.values():
        # A default is written like any other value.
        schema["required"] = list(schema.get("properties", ()))
    pattern = found["Pattern"]
    pattern["properties"] |= {"title": _TEXT, "advice": _TEXT}
    pattern["required"] += ["title", "advice"]
    return {**_ITEMS, **found}
