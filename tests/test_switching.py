"""What users of the predecessors would have missed: each point has a test that names it.

The numbers are those of an audit that compared the predecessors with this product by running both:
0 is the first collector, 1 the skill log, 2 mycode, 3 power-loop. A test names its points in a
comment: ``SWITCHING 2.63, 2.64``.
"""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGES = TESTS.parent / "docs" / "coming-from"
POINTS = {
    0: (4, 31, 32, 45, 63, 64, 66, 67, 68, 69, 85, 86, 102, 109, 110),
    1: (17, 19, 36, 37, 44, 54),
    2: (4, 5, 6, 11, 18, 20, 28, 29, 30, 31, 32, 40, 51, 57, 61, 62, 63, 64, 69, 76, 77, 78, 79),
    3: (7, 36, 57, 58, 59, 73, 74, 75, 79, 88, 90, 96, 97, 98, 99, 100, 101),
}


def test_every_point_is_named_by_a_test() -> None:
    named: set[str] = set()
    for path in TESTS.rglob("test_*.py"):
        for words in re.findall(r"SWITCHING ([\d., ]+)", path.read_text(encoding="utf-8")):
            named.update(re.findall(r"\d\.\d+", words))
    points = {f"{part}.{number}" for part, numbers in POINTS.items() for number in numbers}
    assert len(points) == 61
    assert named == points


# SWITCHING 0.110, 2.79, 3.101
WORDS = {
    "first-collector": "sweep digest curate distribute measure retro task_ref registry baseline",
    "skill-log": "omitempty time.Time pass_rate session_id",
    "mycode": "SessionStore data_dir messages_path delete_session repair_session should_compact"
    " meta.usage tool-output title created_at rewind compact COMPACT_SUMMARY_PROMPT --all",
    "power-loop": "close_session erase_session set_pending usage_rounds spawn_depth lifecycle"
    " note_meta round_index asdict archived resume --all",
}


@pytest.mark.parametrize("page", WORDS)
def test_the_page_for_a_predecessor_has_its_words(page: str) -> None:
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    assert [word for word in WORDS[page].split() if word not in text] == []
