"""What a person chose when the agent asked: each question with its answer."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from session_memory.core.text import one_line

LONGEST_QUESTION = 140
ARROW = " → "
# The answers to several questions in one text, as agents write them into their logs.
_QUOTED = re.compile(r'"((?:[^"\\]|\\.){3,1000}?)"="((?:[^"\\]|\\.){1,1000}?)"')
_NAMED = re.compile(r'"(\w{1,200})":\{"answers":\["((?:[^"\\]|\\.){1,1000}?)"')


class ChosenAnswer(NamedTuple):
    """A question, or its name, and what was chosen. Without a question, ``asked`` is empty."""

    asked: str
    chosen: str

    def __str__(self) -> str:
        """The whole answer behind the beginning of the question."""
        asked = one_line(self.asked, LONGEST_QUESTION)
        return f"{asked}{ARROW}{self.chosen}" if asked else self.chosen


def choices_in(text: str) -> list[ChosenAnswer]:
    """The questions and answers in the text of a decision; else the text itself."""
    found = list(_pairs(text))
    return found or [ChosenAnswer("", text)]


def _pairs(text: str) -> Iterator[ChosenAnswer]:
    quoted = [ChosenAnswer(*pair) for pair in _QUOTED.findall(text)]
    named = [ChosenAnswer(name.replace("_", " "), said) for name, said in _NAMED.findall(text)]
    yield from quoted or named
    asked, arrow, chosen = text.partition(ARROW)
    if arrow and not (quoted or named) and asked.rstrip().endswith(("?", "？")):
        yield ChosenAnswer(asked, chosen)
