"""Describe the JSON API for programs: an OpenAPI document, made from the endpoints."""

import dataclasses
import types
from collections.abc import Sequence
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from session_memory import __version__
from session_memory.core.schema import Cost, Session, SessionEvent
from session_memory.web.api_endpoints import MOST, Endpoint, Parameter
from session_memory.web.api_items import item_schemas, stats_members

_TEXT, _NUMBER, _OBJECT = {"type": "string"}, {"type": "integer"}, {"type": "object"}
_NEXT = {"type": ["string", "null"], "description": "`after` of the next page; null at the end"}
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_ERROR = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "kind": _TEXT,
                "message": _TEXT,
                "hint": {"type": ["string", "null"]},
            },
            "required": ["kind", "message", "hint"],
        }
    },
    "required": ["error"],
}
_AMOUNT = {
    "type": "object",
    "properties": {"microdollars": _NUMBER, "unpriced_tokens": _NUMBER},
    "required": ["microdollars", "unpriced_tokens"],
}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


# The members of the answer of each endpoint. All of these are always there.
_ANSWERS: dict[str, dict[str, Any]] = {
    "/sessions": {
        "sessions": _list(_ref("Session")),
        "amounts": {"type": "object", "additionalProperties": _ref("Amount")},
        "next": _NEXT,
    },
    "/sessions/{uid}/events": {"events": _list(_ref("SessionEvent")), "next": _NEXT},
    "/sessions/{uid}": {
        "session": _ref("Session"),
        "children": _list(_TEXT),
        "amount": _ref("Amount"),
        "with_subagents": _ref("Amount"),
    },
    "/search": {
        "hits": _list(_ref("SearchHit")),
        "total": _NUMBER,
        "total_exact": {"type": "boolean"},
    },
    "/fix": {
        "asked": _TEXT,
        "fingerprint": _TEXT,
        "basis": {"enum": ["same", "similar", "nothing"]},
        "remedies": _list(_ref("Remedy")),
        "mentions": _list(_ref("SearchHit")),
    },
    "/how": {"task": _TEXT, "sessions": _list(_ref("TaskSession"))},
    "/why": {
        "path": _TEXT,
        "lines": _list(_OBJECT),
        "sessions": _list(_OBJECT),
        "commits": _list(_OBJECT),
    },
    "/cost": {
        "by": _TEXT,
        "rows": _list(_ref("CostRow")),
        "totals": _ref("CostTally"),
        "unpriced": _list(_ref("UnpricedModel")),
        "prices": _ref("PriceTable"),
    },
    "/stats": {"wanted": _ref("StatsSelection")},
    "/patterns": {"patterns": _list(_ref("Pattern")), "total": _NUMBER, "sessions": _NUMBER},
    "/lessons": {
        "directory": _TEXT,
        "lessons": _list(_ref("Lesson")),
        "problems": _list(_TEXT),
    },
    "/retro": {
        "since": _TEXT,
        "until": _TEXT,
        "repos": _list(_ref("RepoRetro")),
        "skills": _list(_ref("SkillRetro")),
        "unread": _NUMBER,
    },
    "/keep": {
        "status": {"enum": ["ok", "warn", "bad"]},
        "checks": _list(_ref("Check")),
        "roots": _list(_ref("RootState")),
        "store": _ref("StoreFacts"),
    },
}
# Members that an answer has only if there is something to say, or if they were asked for.
_SOMETIMES: dict[str, dict[str, Any]] = {
    "/stats": {"evicted": _NUMBER, **stats_members()},
    "/retro": {"evicted": _NUMBER},
}


@cache
def record_schema(record: type) -> dict[str, Any]:
    """Return the JSON schema of a record class. All its members are required."""
    hints = get_type_hints(record)
    names = [field.name for field in dataclasses.fields(record)]
    return {
        "type": "object",
        "properties": {name: _schema(hints[name]) for name in names},
        "required": names,
    }


def _schema(hint: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(hint):
        return _ref(getattr(hint, "__name__", ""))
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if get_origin(hint) in (Union, types.UnionType):
        return {"type": [_PLAIN[one] for one in get_args(hint)]}
    if get_origin(hint) in (tuple, list):
        return _list(_schema(get_args(hint)[0]))
    raise TypeError(f"no JSON type for {hint}")


def description(base: str, endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    records = {one.__name__: record_schema(one) for one in (Session, SessionEvent, Cost)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Session Memory", "version": __version__},
        "servers": [{"url": "/"}],
        "security": [{"cookie": []}],
        "paths": {f"{base}{_plain(one.path)}": {"get": _operation(one)} for one in endpoints},
        "components": {
            "schemas": {"Error": _ERROR, "Amount": _AMOUNT, **records, **item_schemas()},
            "securitySchemes": {
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "session-memory-PORT",
                    "description": "Set by the address that session-memory web prints.",
                }
            },
        },
    }


def _plain(path: str) -> str:
    return path.replace(":path", "")


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    path = _plain(endpoint.path)
    given = [
        {"name": "uid", "in": "path", "required": True, "schema": _TEXT}
        for _ in range("{uid}" in path)
    ]
    members = _ANSWERS[path]
    all_members = {**members, **_SOMETIMES.get(path, {})}
    answer = {"type": "object", "properties": all_members, "required": list(members)}
    failed = {"application/json": {"schema": _ref("Error")}}
    return {
        "operationId": path.strip("/").replace("/{uid}", "_one").replace("/", "_"),
        "summary": endpoint.says,
        "parameters": [*given, *(_described(one) for one in endpoint.parameters)],
        "responses": {
            "200": {
                "description": "The answer.",
                "content": {"application/json": {"schema": answer}},
            },
            "400": {"description": "A wrong parameter.", "content": failed},
            "403": {"description": "The token is missing.", "content": failed},
            "404": {"description": "What the address names does not exist.", "content": failed},
            "503": {"description": "The store cannot be read now.", "content": failed},
        },
    }


def _described(one: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer" if one.is_number else "string"}
    if one.choices:
        schema["enum"] = list(one.choices)
    if one.is_number:
        schema |= {"minimum": 1, "maximum": MOST}
    return {
        "name": one.name,
        "in": "query",
        "description": one.says,
        "required": one.is_required,
        "schema": schema,
    }
