"""Drawings have a colour for every value."""

import re
from datetime import date, timedelta
from pathlib import Path

from session_memory import web
from session_memory.web.charts import calendar

CSS = (Path(web.__file__).parent / "static" / "app.css").read_text()


def test_the_busiest_day_has_the_strongest_colour_and_every_colour_exists() -> None:
    first = date(2026, 1, 5)
    for counts in ([1], [1, 2, 3], [5, 0, 60, 200], list(range(1, 30))):
        by_day = {first + timedelta(days=number): one for number, one in enumerate(counts)}
        drawn = calendar(by_day, first, max(by_day))
        fills = re.findall(r'class="(f-[a-z0-9]+)"', drawn)
        assert len(fills) == len(counts)
        assert all(f".{fill} {{" in CSS for fill in fills)
        levels = {day: fill for day, fill in zip(by_day.values(), fills, strict=True) if day}
        shades = [levels[value] for value in sorted(levels)]
        assert shades == sorted(shades)
    assert shades[0] == "f-q1"
    assert shades[-1] == "f-q4"
