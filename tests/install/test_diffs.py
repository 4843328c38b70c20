"""Diffs of long files are those of difflib, and quick."""

from difflib import unified_diff
from random import Random

from session_memory.install.diffs import unified


def test_a_diff_of_one_place_is_that_of_difflib() -> None:
    for seed in range(300):
        random = Random(seed)
        old = [f"{number}\n" for number in range(random.randrange(30))]
        new, place = list(old), random.randrange(len(old) + 1)
        new[place : place + random.randrange(3)] = [
            f"new {n}\n" for n in range(random.randrange(3))
        ]
        wanted = "".join(unified_diff(old, new, "a", "b"))
        assert unified("".join(old), "".join(new), "a", "b") == wanted
