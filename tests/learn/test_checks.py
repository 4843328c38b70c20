"""Which shell texts run a check: the quick test before splitting leaves out none."""

import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.derive.detecting import EXAMINED
from session_memory.learn.digest import command_parts
from session_memory.learn.digest.command_parts import parts_of, runs_check

pytestmark = pytest.mark.only("sqlite")
PIECES = (
    *(
        "make",
        "lint",
        "te",
        "st",
        "bun",
        "run",
        "pre",
        "golangci",
        "echo",
        "cd",
        "x",
        "git",
        "push",
    ),
    *(" ", " ", "'", '"', "\\", "$", "$(", ")", ":", "-", "/", ".", "_", "=", ";", "&&", "|", "\n"),
    *("<<E\n", "\nE\n", "\\\n", "#", "é", "\t", "`", "$'", ">", "{", "}"),
)


@pytest.mark.parametrize(
    ("text", "is_check"),
    [
        ("cd web && bun run lint:fix 2>&1 | tail", True),
        ("./tools/check --all", True),
        ('"ma"ke all', True),
        ("ma\\ke all", False),
        ("bun run 'te''st'", True),
        ("npm run pre-commit", True),
        ("echo lint", False),
        ("ls tests_of_mine contest", False),
        ("cat <<EOF\nmake\nEOF", False),
    ],
)
def test_a_check_is_known_by_its_words(text: str, is_check: bool) -> None:
    assert runs_check(text) is is_check


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@settings(max_examples=times(500), deadline=None)
def test_the_quick_test_leaves_out_no_check(text: str) -> None:
    assert runs_check(text) is any(map(command_parts._is_check, parts_of(text)))


def test_a_word_that_is_cut_is_the_word_that_is_left() -> None:
    text = f"make{'x' * 9}".rjust(EXAMINED + 9)
    assert parts_of(text)[0].program == "make" and runs_check(text)
