"""Many texts are masked with one search, and the result is that of masking each of them."""

import random
from pathlib import Path

import msgspec
import pytest

from session_memory.redact import mask, mask_each, mask_together, mask_values
from session_memory.redact.possible_secrets import possible_secrets
from session_memory.testing.secrets import lookalikes, planted_secrets

LINES = Path(__file__).parent.parent.parent / "benchmarks" / "harmless_lines.txt"


def texts_with_secrets() -> list[str]:
    texts = [planted.text for planted in planted_secrets()] + [*lookalikes()]
    texts += LINES.read_text(encoding="utf-8").splitlines()
    # Half of a secret, other scripts beside it, colours and breaks in it.
    texts += [text[: len(text) // 2] for text in texts]
    texts += [f"日本語 {text} ü" for text in texts[::5]]
    texts += [text.replace(" ", "\n") for text in texts[::7]]
    texts += [text[:9] + "\x1b[0m" + text[9:] for text in texts[::11]]
    texts += [text[:20] + "\n" + text[20:] for text in texts[::3]]
    random.Random(7).shuffle(texts)
    return texts


def test_a_text_that_is_taken_for_safe_has_no_secret() -> None:
    texts = ["", *texts_with_secrets(), "", "\ud800 lone"]
    unsafe = possible_secrets(texts)
    for number, text in enumerate(texts):
        assert number in unsafe or mask(text) == text
    assert len(unsafe) < len(texts)


def test_masked_together_is_masked_one_by_one() -> None:
    texts = texts_with_secrets()
    value = {
        "title": texts[0],
        "one": [{"text": text, "count": 3, "ts": texts[1]} for text in texts[:400]],
        "lines": [tuple(texts[at : at + 4]) for at in range(400, 800, 4)],
        texts[2]: (None, True, [texts[3]], ()),
    }
    assert mask_together(value) == mask_values(value)


@pytest.mark.parametrize("texts", [[], ["a"], ["a", "b" * 30]])
def test_harmless_texts_stay_as_they_are(texts: list[str]) -> None:
    assert possible_secrets(texts) == set()
    assert mask_together(texts) == texts


class _Said(msgspec.Struct, frozen=True):
    event_uid: str
    text: str
    lines: tuple[str, ...] = ()


class _Session(msgspec.Struct, frozen=True):
    title: str | None
    said: tuple[_Said, ...]
    files: dict[str, int]
    events: int = 3


def test_only_the_parts_of_a_record_with_a_secret_are_masked() -> None:
    texts = texts_with_secrets()
    for start in range(0, len(texts) - 8, 8):
        some = texts[start : start + 8]
        said = tuple(_Said(f"claude:{text}", text, (text, "plain", some[0])) for text in some[:6])
        session = _Session(some[6], said, {some[7]: 1})
        assert mask_together(session) == mask_values(session)
    safe = _Session("a title", (_Said("claude:1", "nothing here"),), {})
    assert mask_together(safe).said is safe.said


def test_each_text_is_masked_by_itself() -> None:
    texts = texts_with_secrets()
    assert mask_each(texts) == [mask(text) for text in texts]
    assert mask_each([]) == []
