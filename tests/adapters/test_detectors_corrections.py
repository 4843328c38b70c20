"""Prompts that open by taking something back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.adapters.detectors import is_soft_correction

CORRECTIONS = [
    "no",
    "No, use the other file",
    "NO!!",
    "no. that is the old API",
    "stop",
    "Stop changing the tests",
    "wait, what about Windows?",
    "Wait - you deleted it",
    "don't touch main",
    "Don’t do that",
    "dont commit yet",
    "actually let's keep it",
    "Actually, use httpx",
    "undo that",
    "Undo",
    "revert the last change",
    "Revert!",
    "that's wrong",
    "That’s wrong, it is 42",
    "thats wrong",
    "that is wrong",
    "  \n no",
    '"no"',
    "**Stop.**",
    "> wait",
    "- undo",
]

OTHERS = [
    "",
    " ",
    "now add a test",
    "nothing else",
    "not yet",
    "note that it is async",
    "nobody uses it",
    "no-op the handler",
    "stopwatch app please",
    "stop-words should be filtered",
    "waiting for CI",
    "wait_for is flaky",
    "actuality",
    "undone items first",
    "reverted files?",
    "that's right",
    "that's wrongly named",
    "yes, no problem",
    "please stop",
    "I don't know",
    "ok, revert",
    "donate button",
    "n o",
    "да, no",
]


@pytest.mark.parametrize("prompt", CORRECTIONS)
def test_a_prompt_that_takes_something_back_is_a_soft_correction(prompt: str) -> None:
    assert is_soft_correction(prompt)


@pytest.mark.parametrize("prompt", OTHERS)
def test_a_prompt_that_merely_resembles_one_is_not(prompt: str) -> None:
    assert not is_soft_correction(prompt)


@given(st.sampled_from(CORRECTIONS), st.text())
def test_what_follows_the_first_words_does_not_matter(prompt: str, rest: str) -> None:
    assert is_soft_correction(f"{prompt} {rest}")


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz_", min_size=1), st.sampled_from(CORRECTIONS))
def test_a_correction_further_on_does_not_count(word: str, prompt: str) -> None:
    is_one = is_soft_correction(word)
    assert is_soft_correction(f"{word} {prompt}") == is_one


@given(st.sampled_from([" ", "\n", "'", "*", "no", "don'", "that's "]))
def test_a_megabyte_of_anything_is_quick(piece: str) -> None:
    assert not is_soft_correction(piece * (1_000_000 // len(piece)) + "x")
