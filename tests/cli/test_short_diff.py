"""What `fix` prints of a change: the lines that changed, and in long lines the part that did."""

import click

from session_memory.cli.lines.short_diff import MOST, short_diff

WIDE = 60


def shown(*lines: str, columns: int = WIDE) -> list[str]:
    return [click.unstyle(line) for line in short_diff(lines, columns)]


def test_lines_that_differ_behind_the_edge_of_the_screen_show_the_difference() -> None:
    start = "console.log('state', { first: one, second: two, third: three, stack: new Error("
    old, new = shown(f"-{start}) }});", f"+{start}'trace') }});")
    assert "new Error()" in old and "new Error('trace')" in new
    assert old.startswith("-…") and new.startswith("+…")
    assert max(map(len, (old, new))) <= WIDE


def test_short_lines_stay_as_they_are() -> None:
    assert shown("-a = 1", "+a = 2") == ["-a = 1", "+a = 2"]


def test_lines_are_indented_less_and_lines_far_from_a_change_are_left_out() -> None:
    lines = (
        "@@ -1,6 +1,6 @@",
        "         far()",
        "         near()",
        "-        old()",
        "+        new()",
    )
    assert shown(*lines) == ["  near()", "- old()", "+ new()"]


def test_a_tab_is_indentation_too() -> None:
    assert shown("-\t\tif a:", "+\t\tif b:", "+\t\t\tc()") == ["- if a:", "+ if b:", "+     c()"]


def test_a_long_change_is_cut() -> None:
    assert len(shown(*(f"+line {number}" for number in range(MOST + 9)))) == MOST + 1


def test_a_removed_line_without_one_that_stands_for_it_is_shown_from_its_start() -> None:
    long = "x" * 200
    assert shown(f"-{long}", f"+{long}a", f"+{long}b")[0].startswith("-xxx")


def test_nothing_is_shown_of_nothing() -> None:
    assert shown() == []
