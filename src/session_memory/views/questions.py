"""Questions that an agent asks a person through a tool, with the options it offers."""

from typing import Any

import msgspec

MOST_QUESTIONS = 20
MOST_OPTIONS = 50


class QuestionOption(msgspec.Struct, frozen=True):
    label: str
    description: str = ""


class AskedQuestion(msgspec.Struct, frozen=True):
    text: str
    options: tuple[QuestionOption, ...] = ()


def questions_asked(arguments: Any) -> tuple[AskedQuestion, ...]:
    """Return the questions in the arguments of a call that asks a person something.

    Arguments of an unknown shape have no questions.
    """
    match arguments:
        case {"questions": list(questions)}:
            found = (_question(one) for one in questions[:MOST_QUESTIONS])
            return tuple(one for one in found if one is not None)
        case {"question": str()}:
            one = _question(arguments)
            return (one,) if one is not None else ()
    return ()


def _question(value: Any) -> AskedQuestion | None:
    match value:
        case {"question": str(text), **rest}:
            options = rest.get("options")
            offered = options[:MOST_OPTIONS] if isinstance(options, list) else []
            found = (_option(one) for one in offered)
            return AskedQuestion(text, tuple(one for one in found if one is not None))
    return None


def _option(value: Any) -> QuestionOption | None:
    match value:
        case {"label": str(label), "description": str(description)}:
            return QuestionOption(label, description)
        case {"label": str(label)} | str(label):
            return QuestionOption(label)
    return None
