"""The JSON API gives what the command line prints, and an error for everything it does not know."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from effort import times
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from starlette.testclient import TestClient

from session_memory import Memory
from session_memory.learn.lesson import Lesson
from session_memory.views.lessons import LessonRow
from session_memory.views.stats import SECTIONS
from session_memory.web.api import ENDPOINTS
from session_memory.web.api_description import description
from session_memory.web.routes import API, API_PATHS

ODD = st.one_of(
    st.text(max_size=30),
    st.integers().map(str),
    st.sampled_from(["", "0", "-1", "9" * 400, "%00", "../..", "*", "2026-13", "7d", "é", "1,x"]),
)


def get(client: TestClient, path: str, **given: str) -> Any:
    answer = client.get(f"{API}{path}", params=given)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "application/json"
    return answer.json()


def test_answers_are_those_of_the_command_line(client: TestClient, memory: Memory) -> None:
    def same(path: str, expected: dict[str, Any], **given: str) -> None:
        assert get(client, path, **given) == json.loads(json.dumps(expected)), path

    same("/cost", memory.cost(by="model").to_dict(), by="model")
    same("/search", memory.search("tide").to_dict(), q="tide")
    same("/patterns", memory.patterns(limit=50).to_dict())
    same("/lessons", memory.lessons().to_dict())
    same("/how", memory.how("tide tables").to_dict(), q="tide tables")
    same("/fix", memory.fix("AssertionError").to_dict(), q="AssertionError")
    same("/stats", memory.stats("tools").to_dict(), section="tools")


def test_pages_of_sessions_and_events_are_complete(client: TestClient, memory: Memory) -> None:
    expected = [one.uid for one in memory.sessions()]
    found: list[str] = []
    given = {"limit": "3"}
    while True:
        page = get(client, "/sessions", **given)
        found += [one["session_uid"] for one in page["sessions"]]
        for uid, amount in page["amounts"].items():
            assert amount["microdollars"] == memory.session(uid).cost.microdollars
        if page["next"] is None:
            break
        given["after"] = page["next"]
    assert found == expected
    one = memory.session(expected[0])
    seqs: list[int] = []
    given = {"limit": "7"}
    while True:
        page = get(client, f"/sessions/{one.uid}/events", **given)
        seqs += [event["seq"] for event in page["events"] if "inherited" not in event]
        if page["next"] is None:
            break
        given["after"] = page["next"]
    assert seqs == [event.seq for event in one.events]
    shown = get(client, f"/sessions/{one.uid}")
    assert shown["session"] == one.record.to_dict()


def test_the_description_names_every_endpoint(client: TestClient) -> None:
    described = get(client, "/openapi.json")
    assert set(described["paths"]) == {f"{API}{one.path.replace(':path', '')}" for one in ENDPOINTS}
    assert described["openapi"].startswith("3.")
    assert tuple(one.path for one in ENDPOINTS) == API_PATHS


def drawn(data: st.DataObject, schema: dict[str, Any]) -> str:
    """A value that the description allows, or one that it does not."""
    if data.draw(st.booleans()):
        return data.draw(ODD)
    if "enum" in schema:
        return str(data.draw(st.sampled_from(schema["enum"])))
    if schema["type"] == "integer":
        return str(data.draw(st.integers(schema["minimum"], schema["maximum"])))
    return data.draw(st.text(max_size=30))


@pytest.fixture(scope="module")
def described(demo_store: Path) -> dict[str, Any]:
    return msgspec.to_builtins(description(API, ENDPOINTS))  # type: ignore[no-any-return]


@pytest.mark.parametrize("path", [f"{API}{one.path.replace(':path', '')}" for one in ENDPOINTS])
@settings(
    max_examples=times(12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_parameters_give_what_the_description_says(
    client: TestClient, described: dict[str, Any], path: str, data: st.DataObject
) -> None:
    """The description alone says what is asked and what must come back."""
    operation = described["paths"][path]["get"]
    known = {one["name"]: one["schema"] for one in operation["parameters"] if one["in"] == "query"}
    names = data.draw(st.lists(st.sampled_from([*known, "odd"]), unique=True, max_size=3))
    required = [one["name"] for one in operation["parameters"] if one["required"]]
    if data.draw(st.booleans()):
        names = [*(name for name in required if name in known and name not in names), *names]
    values = {name: drawn(data, known.get(name, {"type": "string"})) for name in names}
    uid = data.draw(st.sampled_from(["91d4f0a7", "none", "%20", "a:b"]))
    answer = client.get(path.replace("{uid}", uid), params=values)
    said = operation["responses"][str(answer.status_code)]
    assert answer.status_code in (200, 400, 404)
    assert answer.headers["Content-Type"] == "application/json"
    schema = said["content"]["application/json"]["schema"]
    validator(schema, described["components"]).validate(answer.json())


def validator(schema: dict[str, Any], components: dict[str, Any]) -> Draft202012Validator:
    return Draft202012Validator({**schema, "components": components})


TYPED = [
    ("/search", {"q": "tide"}, "hits"),
    ("/cost", {"by": "model"}, "rows"),
    ("/cost", {"by": "session"}, "rows"),
    ("/cost", {"by": "block"}, "rows"),
    ("/cost", {"by": "task"}, "rows"),
    ("/cost", {"by": "day"}, "unpriced"),
    ("/patterns", {}, "patterns"),
    ("/fix", {"q": "AssertionError"}, "remedies"),
    ("/how", {"q": "tide tables"}, "sessions"),
]


@pytest.mark.parametrize(("path", "asked", "name"), TYPED)
def test_items_have_the_members_that_the_description_names(
    client: TestClient, described: dict[str, Any], path: str, asked: dict[str, str], name: str
) -> None:
    answer = get(client, path, **asked)
    schema = described["paths"][f"{API}{path}"]["get"]["responses"]["200"]
    members = schema["content"]["application/json"]["schema"]
    validator(members, described["components"]).validate(answer)
    item = members["properties"][name]["items"]["$ref"].rpartition("/")[2]
    known = described["components"]["schemas"][item]
    assert answer[name] or name == "unpriced"
    for one in answer[name]:
        # Nothing is left out of the description, and a wrong type is noticed.
        assert set(known["required"]) <= set(one) <= set(known["properties"])
        wrong = {**answer, name: [{**one, known["required"][0]: {}}]}
        assert not validator(members, described["components"]).is_valid(wrong)


WHOLE = [
    *(("/stats", {"section": name}) for name in SECTIONS),
    ("/stats", {}),
    ("/lessons", {}),
    ("/retro", {"since": "2020-01-01"}),
    ("/keep", {}),
]


@pytest.mark.parametrize(("path", "asked"), WHOLE)
def test_every_member_of_an_answer_is_described(
    client: TestClient, described: dict[str, Any], path: str, asked: dict[str, str]
) -> None:
    answer = get(client, path, **asked)
    schemas = described["components"]["schemas"]
    schema = described["paths"][f"{API}{path}"]["get"]["responses"]["200"]
    top = schema["content"]["application/json"]["schema"]
    validator(top, described["components"]).validate(answer)
    undescribed(top, answer, schemas, path)


def test_a_lesson_is_described(described: dict[str, Any]) -> None:
    at = "2026-11-16T10:00:00.000Z"
    lesson = Lesson(id="l-1", title="Use the venv", created_at=at, updated_at=at)
    said = LessonRow(lesson, 2, ("AGENTS.md",), True).to_dict()
    row, schemas = json.loads(json.dumps(said)), described["components"]
    validator(schemas["schemas"]["Lesson"], schemas).validate(row)
    undescribed(schemas["schemas"]["Lesson"], row, schemas["schemas"], "lesson")


def undescribed(schema: dict[str, Any], value: Any, schemas: dict[str, Any], where: str) -> None:
    """Walk an answer with its schema: no object may have a member that the schema lacks."""
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        kinds = [one for one in schema["anyOf"] if one != {"type": "null"}]
        assert len(kinds) == 1
        if value is not None:
            undescribed(kinds[0], value, schemas, where)
    elif isinstance(value, dict):
        assert "properties" in schema or "additionalProperties" in schema, where
        known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        for name, one in value.items():
            assert name in known or others, f"{where}.{name}"
            undescribed(known.get(name, others), one, schemas, f"{where}.{name}")
    elif isinstance(value, list):
        for one in value:
            undescribed(schema.get("items", schema), one, schemas, where)


def test_the_description_is_one_that_programs_can_read(described: dict[str, Any]) -> None:
    operations = [path["get"] for path in described["paths"].values()]
    assert len({one["operationId"] for one in operations}) == len(operations)
    for one in operations:
        for response in one["responses"].values():
            Draft202012Validator.check_schema(response["content"]["application/json"]["schema"])
    for schema in described["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_errors_are_json_everywhere_below_the_api(client: TestClient) -> None:
    for path in ("/none", "/sessions/none", "/sessions?odd=1"):
        answer = client.get(f"{API}{path}")
        assert answer.status_code in (400, 404)
        assert set(answer.json()["error"]) == {"kind", "message", "hint"}


def test_numbers_of_any_length_are_no_failure_of_the_server(
    client: TestClient, memory: Memory
) -> None:
    uid, digits = next(iter(memory.sessions())).uid, "9" * 5000
    for path in (f"/e/{digits}", f"/e/abcd:{digits}", f"/e/0/image/{digits}", f"/rows/{digits}"):
        assert client.get(f"/s/{uid}{path}").status_code in (200, 404), path[:20]
    assert client.get(f"/s/{uid}/stretch?from=0&to={digits}").status_code == 200
    assert client.get(f"{API}/sessions?limit=000000001999").status_code == 400
