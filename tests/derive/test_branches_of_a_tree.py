"""Abandoned branches, as pure functions of the events and their parents."""

from session_memory.derive.settle import abandoned_by_head, abandoned_by_prompts

TREE = [
    (0, None, False, "root"),
    (1, 0, False, "kept"),
    (2, 0, False, "left"),
    (3, 2, False, "after the left one"),
    (4, 2, True, "a remark on the left one"),
    (5, 1, True, "a remark on the kept one"),
    (6, 1, False, "head"),
]


def test_everything_that_does_not_lead_to_the_head_is_abandoned_except_remarks() -> None:
    assert abandoned_by_head(TREE, 6) == {2: "left", 3: "left", 4: "left"}


def test_without_a_head_everything_is_abandoned_from_its_root_on() -> None:
    assert abandoned_by_head(TREE, None) == dict.fromkeys(range(7), "root")
    assert abandoned_by_head(TREE, 99) == dict.fromkeys(range(7), "root")


def test_parents_in_a_circle_end() -> None:
    circle = [(0, 1, False, "one"), (1, 0, False, "two"), (2, None, False, "three")]
    assert abandoned_by_head(circle, 1) == {2: "three"}


def test_of_prompts_after_the_same_event_the_one_that_went_on_last_stays() -> None:
    chain = [
        (0, None, True, "first"),
        (1, 0, False, "answer"),
        (2, 1, True, "left"),
        (3, 2, False, "its answer"),
        (4, 1, True, "kept"),
        (5, 1, True, "left at once"),
        (6, 4, False, "the last answer"),
    ]
    assert abandoned_by_prompts(chain) == {2: "left", 3: "left", 5: "left at once"}


def test_of_two_prompts_one_is_abandoned_and_of_two_answers_none() -> None:
    chain = [
        (0, None, True, "first"),
        (1, 0, False, "answer"),
        (2, 0, False, "another answer"),
        (3, 2, True, "left"),
        (4, 2, True, "kept"),
    ]
    assert abandoned_by_prompts(chain) == {3: "left"}
