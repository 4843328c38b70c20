"""Ids: what passes is never a path, and what does not fit still gets a name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.core.errors import InvalidId
from session_memory.core.ids import FLAVOR, NATIVE_ID, fit_native_id, is_uid, make_uid, split_uid

flavors = st.from_regex(FLAVOR, fullmatch=True)
native_ids = st.from_regex(NATIVE_ID, fullmatch=True)

NOT_A_NATIVE_ID = (
    "",
    ".",
    "..",
    "../x",
    "/etc",
    "a/b",
    "a\\b",
    "a\0b",
    "a b",
    "a\n",
    "é",
    "x" * 201,
)


@given(flavors, native_ids)
def test_a_uid_splits_into_what_it_was_made_of(flavor: str, native_id: str) -> None:
    assert split_uid(make_uid(flavor, native_id)) == (flavor, native_id)


def test_a_native_id_may_hold_colons() -> None:
    assert split_uid("claude:parent:agent-1") == ("claude", "parent:agent-1")


@pytest.mark.parametrize("native_id", NOT_A_NATIVE_ID)
def test_what_could_be_a_path_or_nothing_is_no_native_id(native_id: str) -> None:
    with pytest.raises(InvalidId, match="native_session_id"):
        make_uid("claude", native_id)
    assert not is_uid(f"claude:{native_id}")


@pytest.mark.parametrize("flavor", ["", "Claude", "1st", "power-loop", "a:b", "a\n", "é"])
def test_a_flavor_is_lower_case_letters_digits_and_underscores(flavor: str) -> None:
    with pytest.raises(InvalidId, match="flavor"):
        make_uid(flavor, "abc")


@pytest.mark.parametrize(
    "value", ["abc", ":abc", "claude:", "Claude:abc", "claude:a/b", "", None, 7]
)
def test_a_uid_without_its_parts_is_none(value: object) -> None:
    assert not is_uid(value)
    with pytest.raises(InvalidId) as caught:
        split_uid(value)  # type: ignore[arg-type]
    assert caught.value.field == "session_uid"


@given(native_ids)
def test_a_native_id_that_fits_stays_as_it_is(native_id: str) -> None:
    assert fit_native_id(native_id) == (native_id, False)


@given(st.text(st.characters(codec=None)))
def test_every_name_fits_in_the_end(raw: str) -> None:
    fitted, changed = fit_native_id(raw)
    assert NATIVE_ID.fullmatch(fitted)
    assert changed == (fitted != raw)


def test_a_name_that_does_not_fit_becomes_its_hash_on_every_machine() -> None:
    assert fit_native_id("../../x") == ("x-9cdf6a50100a862e14286c7a334296da", True)
    assert fit_native_id("..") != fit_native_id("../")


def test_a_lone_surrogate_in_a_name_is_no_obstacle() -> None:
    fitted, changed = fit_native_id("a\ud800")
    assert changed and is_uid(f"claude:{fitted}")
