"""The JSON API gives what the command line prints, and an error for everything it does not know."""

import json
import re
from typing import Any

import pytest
from effort import times
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from session_memory import Memory
from session_memory.web.api import ENDPOINTS
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


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: one.path)
@settings(
    max_examples=times(12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_parameters_give_an_answer_or_an_error(
    client: TestClient, endpoint: Any, data: st.DataObject
) -> None:
    names = [*(parameter.name for parameter in endpoint.parameters), "odd"]
    chosen = data.draw(st.lists(st.sampled_from(names), unique=True, max_size=3))
    values = {name: data.draw(ODD) for name in chosen}
    for parameter in endpoint.parameters:
        if parameter.choices and parameter.name in values and data.draw(st.booleans()):
            values[parameter.name] = data.draw(st.sampled_from(parameter.choices))
    path = re.sub(
        r"\{uid\}", data.draw(st.sampled_from(["91d4f0a7", "none", "%20", "a:b"])), endpoint.path
    )
    answer = client.get(f"{API}{path}", params=values)
    assert answer.status_code in (200, 400, 404)
    body = answer.json() if answer.headers["Content-Type"] == "application/json" else None
    if answer.status_code != 200 and body is not None:
        assert set(body["error"]) == {"kind", "message", "hint"}
