"""Shortcuts of the training export give what the plain definitions give."""

import re
from functools import partial
from hashlib import blake2b

import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.learn.train import duplicates, gate
from session_memory.learn.train.duplicates import (
    BINS,
    RUN,
    Duplicates,
    Signature,
    exact_hash,
    signature,
)

ADDRESS = re.compile(r"\b(?!git@)[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")


@pytest.mark.parametrize("few", [0, 1, 100, 1 << 40])
def test_a_signature_has_the_smallest_hash_of_each_bin(monkeypatch, few: int) -> None:
    monkeypatch.setattr(duplicates, "FEW", few)

    @given(st.text("ab é_-\ud800", max_size=80), st.integers(0, 900))
    @settings(max_examples=times(20), deadline=None)
    def check(text: str, words: int) -> None:
        text += "".join(f" {number * 7919 % 1009}" for number in range(words))
        found = re.findall(r"\w+", text.lower())
        runs = {" ".join(found[at : at + RUN]) for at in range(max(len(found) - RUN, 0) + 1)}
        bins: dict[int, list[int]] = {}
        for run in runs:
            number = int.from_bytes(blake2b(run.encode(), digest_size=8).digest())
            bins.setdefault(number % BINS, []).append(number // BINS)
        signed = signature(text)
        assert {place: signed[place] for place in bins} == {
            place: min(hashes) for place, hashes in bins.items()
        }

    check()


def test_the_same_text_is_signed_once() -> None:
    signed: list[str] = []

    def noted(text: str) -> Signature:
        signed.append(text)
        return signature(text)

    seen = Duplicates()
    texts = ["one two three", "one two three", "four five", "\ud800", "\ud800", "one two three"]
    found = [seen.is_new(exact_hash(text), partial(noted, text)) for text in texts]
    assert found == [True, False, True, True, False, False]
    assert signed == ["one two three", "four five", "\ud800"]


@given(st.text("ab@.\n \r-", max_size=60))
@settings(max_examples=times(200), deadline=None)
def test_addresses_are_replaced_line_by_line(text: str) -> None:
    lines = (ADDRESS.sub("user@example.com", line) for line in text.split("\n"))
    assert gate.general(text, gate.ProjectNames()) == "\n".join(lines)
