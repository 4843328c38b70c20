"""Figures as characters: whole, in proportion, within their columns, with or without blocks."""

from io import BytesIO, TextIOWrapper

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.cli.kit.output import Column
from session_memory.cli.lines.bars import (
    ASCII,
    BLOCKS,
    bar,
    cuts,
    heatmap,
    legend,
    room,
    signs,
    spark,
)
from session_memory.cli.lines.charts import chart
from session_memory.render.text import width

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

amounts = st.integers(min_value=0, max_value=10**15)


def stream(encoding: str) -> TextIOWrapper:
    return TextIOWrapper(BytesIO(), encoding=encoding)


@BOTH
def test_blocks_are_drawn_where_the_output_can_show_them() -> None:
    assert signs(stream("utf-8")) is BLOCKS
    for encoding in ("ascii", "latin-1", "cp1252"):
        assert signs(stream(encoding)) is ASCII
    assert "".join(ASCII).isascii()


def test_a_bar_is_as_long_as_its_part_of_the_whole() -> None:
    assert bar(1, 2, 4) == "██"
    assert bar(2, 2, 4) == "████"
    assert bar(1, 8, 1) == "▏"
    assert bar(3, 8, 2) == "▊"
    assert bar(1, 2, 4, ASCII) == "##"
    assert bar(0, 2, 4) == bar(1, 0, 4) == bar(1, 2, 0) == ""


def test_little_is_not_nothing() -> None:
    assert bar(1, 10**9, 10) == "▏"
    assert bar(1, 10**9, 10, ASCII) == "#"


@settings(deadline=None)
@given(amounts, amounts, st.integers(0, 200), st.sampled_from([BLOCKS, ASCII]))
def test_a_bar_never_leaves_its_columns(value, largest, columns, using) -> None:
    assert width(bar(value, largest, columns, using)) <= columns


def test_a_sparkline_has_a_sign_for_each_value() -> None:
    assert spark([0, 1, 4, 8]) == " ▂▅█"
    assert spark([0, 1, 4, 8], using=ASCII) == " .+#"
    assert spark([]) == "" and spark([0, 0]) == "  "


def test_more_values_than_columns_are_averaged() -> None:
    assert spark([2, 2, 2, 2, 2], 2) == "██"
    assert spark([0, 0, 8, 8], 2) == " █"


@settings(deadline=None)
@given(st.lists(amounts, max_size=100), st.integers(1, 50))
def test_a_sparkline_never_leaves_its_columns(values, columns) -> None:
    assert len(spark(values, columns)) == min(len(values), columns)


def test_a_heatmap_has_as_many_of_each_shade() -> None:
    assert cuts([1, 2, 3, 4, 0, 5, 6, 7, 8]) == [2, 4, 6]
    assert cuts([1, 1, 1, 9]) == [1, 1, 1]
    assert cuts([1, 4, 9]) == [1, 4, 4]
    assert cuts([7]) == [0, 0, 0] and cuts([0]) == []
    rows = [("a", [0, 1, 2, None]), ("bb", [3, 5, 7, 9])]
    assert [click.unstyle(line) for line in heatmap(rows)] == ["a  ·░░", "bb ▒▓▓█"]
    assert [click.unstyle(line) for line in heatmap(rows, wide=2, using=ASCII)] == [
        "a  . : :",
        "bb + * * #",
    ]
    assert click.unstyle(legend(ASCII)) == "less . : + * # more"


@pytest.mark.parametrize(("limit", "left"), [(None, 40), (100, 40), (40, 30), (14, 4), (13, 0)])
def test_a_drawing_has_what_the_rest_leaves(limit, left) -> None:
    assert room(limit, 10) == left


def test_a_table_that_is_too_wide_loses_its_right_side_and_keeps_its_left() -> None:
    columns = [Column("name", flexible=True), Column("one", right=True), Column("another")]
    rows = [["x" * 30, "1", "y" * 20], ["short", "2", "z"]]
    wide = [click.unstyle(line) for line in chart(columns, rows, 100, BLOCKS, amounts=[2, 1])]
    assert wide[1].endswith("█") and wide[2].endswith("█") and "another" in wide[0]
    narrow = [click.unstyle(line) for line in chart(columns, rows, 30, BLOCKS, amounts=[2, 1])]
    assert narrow == [
        "name                       one",
        f"{'x' * 24}…    1",
        "short" + " " * 24 + "2",
    ]
    assert click.unstyle(list(chart(columns, rows, 30, ASCII))[1]) == f"{'x' * 24}~    1"
