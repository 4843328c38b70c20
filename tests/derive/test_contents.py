"""What counts as the content of a record, and the keys of records that differ only in content."""

import pytest

from session_memory.adapters.base import NativeEvent
from session_memory.derive.contents import content_of
from session_memory.store.record_keys import (
    event_uid,
    identity_of,
    is_place,
    is_variant,
    place_key,
    record_key,
    variant_key,
    without_variant,
)

UUID = "7e2226b7-ae83-4ee0-abcb-06cfbf9d15df"


def message(**fields: object) -> NativeEvent:
    return NativeEvent("user_msg", "user", body="the words", **fields)  # type: ignore[arg-type]


def call(arguments: object) -> NativeEvent:
    return NativeEvent("tool_call", "assistant", tool="Bash", call_id="c1", arguments=arguments)


@pytest.mark.parametrize(
    "fields",
    [
        {"summary": "a summary"},
        {"native_kind": "user/meta"},
        {"is_prompt": True, "text": "words"},
        {"model": "opus", "response_id": "r1"},
        {"ends_turn": True, "duration_ms": 3, "exit_code": 0},
    ],
)
def test_a_copy_may_be_seen_as_another_kind_of_event(fields: dict[str, object]) -> None:
    assert content_of([message(**fields)]) == content_of([message()])


@pytest.mark.parametrize(
    "other",
    [
        [message(call_id="c2")],
        [message(is_error=True)],
        [message(), message()],
        [NativeEvent("assistant_msg", "assistant", body="the words")],
        [NativeEvent("user_msg", "user", body="the words ")],
        [],
    ],
)
def test_other_words_roles_and_calls_are_other_content(other: list[NativeEvent]) -> None:
    assert content_of(other) != content_of([message()])


def test_arguments_are_compared_whole_in_any_order() -> None:
    given = {"command": "ls", "background": False, "list": [1, {"a": None}]}
    assert content_of([call(given)]) == content_of([call(dict(reversed(given.items())))])
    for other in ({**given, "background": True}, {**given, "list": [1]}, {"cmd": "ls"}, "ls", None):
        assert content_of([call(other)]) != content_of([call(given)])


@pytest.mark.parametrize("odd", ["half \ud800", {"\ud800": 1}, {1: "x"}, object(), 1 << 80, b"x"])
def test_arguments_that_are_no_json_have_a_content_too(odd: object) -> None:
    assert content_of([call(odd)]) == content_of([call(odd)])


def test_very_deep_arguments_have_a_content_too() -> None:
    deep: object = "x"
    for _ in range(100_000):
        deep = [deep]
    assert content_of([call(deep)]) == content_of([call(deep)])


def test_ids_of_sessions_that_a_copy_may_have_otherwise_are_no_content() -> None:
    def said(child: str, *ids: str) -> int:
        result = message(session_ids=ids)
        result.body = f"{child} has counted the words"
        again = call({"task_id": child})
        again.session_ids = ids
        return content_of([result, again])

    assert said("ses_1", "ses_1") == said("ses_2", "ses_2")
    assert said("ses_1") != said("ses_2")
    assert said("ses_1", "ses_1") != said("ses_1")


@pytest.mark.parametrize("native_id", [UUID, "a", "abcdef", "x" * 30, "~", "!" + "0" * 40])
def test_a_variant_has_the_native_id_of_its_record(native_id: str) -> None:
    key = record_key(native_id)
    other, second = (variant_key(key, 7, is_second=is_second) for is_second in (False, True))
    assert len({key, other, second}) == 3
    assert [is_variant(one) for one in (key, other, second)] == [False, True, True]
    for one in (key, other, second):
        assert (identity_of(one), without_variant(one)) == (native_id, key)
        assert len(one) != 16 or one == key
        assert not is_place(one)
    assert event_uid(other, 1) == event_uid(key, 1) == f"{native_id}:1"
    assert event_uid(second, 1) == f"{native_id}~0000000000000007:1"


def test_a_uuid_may_begin_with_any_byte() -> None:
    for first in b"~!=@":
        uuid = f"{first:02x}{UUID[2:]}"
        assert not is_variant(record_key(uuid))
        assert event_uid(record_key(uuid), 0) == f"{uuid}:0"


def test_a_place_is_no_variant() -> None:
    assert not is_variant(place_key("file@0-00000000"))
