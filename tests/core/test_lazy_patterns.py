"""A lazy pattern is a pattern that is compiled later."""

import re

import pytest

from session_memory.core.lazy_patterns import lazy_pattern


def test_it_matches_as_the_pattern_does() -> None:
    pattern = lazy_pattern(r"(?P<name>[a-z]+)=\d", re.IGNORECASE)
    match = pattern.search("x A=1")
    assert match is not None
    assert match["name"] == "A"
    assert pattern.sub("-", "a=1 b=2") == "- -"
    assert pattern.pattern == r"(?P<name>[a-z]+)=\d"
    assert pattern.groupindex == {"name": 1}


def test_it_is_compiled_when_it_is_first_used() -> None:
    wrong = lazy_pattern("(")
    with pytest.raises(re.error):
        wrong.search("")
