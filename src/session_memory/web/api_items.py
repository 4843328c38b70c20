"""JSON schemas of the items in answers of the JSON API: hits, rows of costs, patterns, figures, …

The schema of a struct is made from its fields. The schemas of all other items are written here.
"""

import copy
from functools import cache
from typing import Any

import msgspec

from session_memory.learn.lesson import Lesson
from session_memory.learn.patterns import Pattern
from session_memory.learn.retro import RepoRetro
from session_memory.learn.retro_skills import SkillRetro
from session_memory.views.doctor import Check
from session_memory.views.expiry import RootState
from session_memory.views.fixes import Remedy
from session_memory.views.how import TaskSession
from session_memory.views.stats import sections

REFERENCE = "#/components/schemas/{name}"
_STATS: dict[str, Any] = {
    "summary": sections.Summary,
    "activity": sections.Activity,
    "agents": sections.Rows[sections.Group],
    "repos": sections.Rows[sections.Group],
    "tools": sections.Rows[sections.ToolStats],
    "retries": sections.Retries,
    "tests": sections.SuiteRuns,
    "files": sections.Rows[sections.FileStats],
    "time": sections.TimeStats,
    "models": sections.Rows[sections.ModelStats],
    "cache": sections.Cache,
    "context": sections.ContextStats,
    "sessions": sections.Rows[sections.Longest],
}
_STRUCTS = (Pattern, Remedy, TaskSession, Lesson, RepoRetro, SkillRetro, Check, RootState)
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
    """Return the schema of an object that always has ``members``, and others ``sometimes``."""
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
    "StatsSelection": _record(
        dict.fromkeys(("flavor", "repo", "model", "since", "until"), _TEXT_OR_NONE) | {"tz": _TEXT}
    ),
    "StoreFacts": _record(
        {
            "path": _TEXT,
            "exists": {"type": "boolean"},
            **dict.fromkeys(("sessions", "events", "problems", "waiting_for_analysis"), _NUMBER),
            **dict.fromkeys(("bytes", "raw_bytes", "compressed_bytes", "schema"), _NUMBER),
            "adapters": {"type": "object", "additionalProperties": {"type": ["string", "integer"]}},
        }
    ),
    "UnpricedModel": _record({"model": _TEXT_OR_NONE, "tokens": _NUMBER}),
    "PriceTable": _record({"version": _TEXT, "digest": _TEXT, "own": _TEXTS}),
}


def stats_members() -> dict[str, Any]:
    """Return the schemas of the sections of a statistics report, by name.

    A report has only the sections that were asked for.
    """
    schemas, _ = msgspec.json.schema_components(_STATS.values(), ref_template=REFERENCE)
    return dict(zip(_STATS, schemas, strict=True))


@cache
def item_schemas() -> dict[str, dict[str, Any]]:
    """Return the schema of every item by its name."""
    types = (*_STRUCTS, *_STATS.values())
    _, found = msgspec.json.schema_components(types, ref_template=REFERENCE)
    for schema in found.values():
        # A field with a default is written too, so it is required like any other.
        schema["required"] = list(schema.get("properties", ()))
    # A list of patterns has title and advice in each pattern. A retrospective has them beside it.
    found["RetroPattern"] = copy.deepcopy(found["Pattern"])
    problems = found["RepoRetro"]["properties"]["problems"]
    problems["items"] = {"$ref": REFERENCE.format(name="RetroPattern")}
    _add(found["Pattern"], {"title": _TEXT, "advice": _TEXT})
    _add(found["Lesson"], {"seen": _NUMBER, "live": _TEXTS, "recorded": {"type": "boolean"}})
    return {**_ITEMS, **found}


def _add(schema: dict[str, Any], members: dict[str, Any]) -> None:
    schema["properties"] |= members
    schema["required"] += members
