"""Read what a person chose when the agent asked: each question with its answer."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from session_memory.core.text import one_line

LONGEST_QUESTION = 140
ARROW = " → "
# How agents write the answers to several questions into one text of their logs.
_QUOTED = re.compile(r'"((?:[^"\\]|\\.){3,1000}?)"="((?:[^"\\]|\\.){1,1000}?)"')
_NAMED = re.compile(r'"(\w{1,200})":\{"answers":\["((?:[^"\\]|\\.){1,1000}?)"')


class ChosenAnswer(NamedTuple):
    """An agent's question (or only its name) and the person's answer. ``asked`` may be empty."""

    asked: str
    chosen: str

    def __str__(self) -> str:
        """Return the beginning of the question, an arrow, and the whole answer; without a question,
        only the answer."""
        asked = one_line(self.asked, LONGEST_QUESTION)
        return f"{asked}{ARROW}{self.chosen}" if asked else self.chosen


def choices_in(text: str) -> list[ChosenAnswer]:
    """Return the questions and answers in the text of a decision event.

    A text without such pairs is one answer without a question.
    """
    found = list(_pairs(text))
    return found or [ChosenAnswer("", text)]


def _pairs(text: str) -> Iterator[ChosenAnswer]:
    quoted = [ChosenAnswer(*pair) for pair in _QUOTED.findall(text)]
    named = [ChosenAnswer(name.replace("_", " "), words) for name, words in _NAMED.findall(text)]
    yield from quoted or named
    asked, arrow, chosen = text.partition(ARROW)
    if arrow and not (quoted or named) and asked.rstrip().endswith(("?", "？")):
        yield ChosenAnswer(asked, chosen)
