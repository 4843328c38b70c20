"""The words by which a session was found."""

import pytest

from session_memory.views.matched_words import joined_pairs


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["期限", "限切", "切れ"], ["期限切れ"]),
        (["切れ", "期限", "cart", "限切"], ["cart", "期限切れ"]),
        (["して", "画面", "する"], ["画面"]),
        (["ヘッ", "ッダ", "ダー"], ["ヘッダー"]),
        (["くず", "パン", "ンく", "にし", "して"], ["パンくず"]),
        (["cart", "tax", "cart"], ["cart", "tax"]),
        (["提交", "pr"], ["提交", "pr"]),
    ],
)
def test_pairs_of_characters_are_shown_as_words(words: list[str], shown: list[str]) -> None:
    assert joined_pairs(words) == shown
