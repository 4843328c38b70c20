"""Which texts say what a session is about, and how such a text becomes a title."""

import re

from session_memory.core.text import one_line

TITLE = 80
# How much of a text is looked at: a prompt may be a pasted log of megabytes.
_START = 400
# What programs say instead of a title when they could not reach a model.
_NOTICE = re.compile(
    r"you.ve (?:hit|reached) your \S*\s?(?:usage |session |weekly )*limit|"
    r"(?:claude(?: ai)? )?usage limit reached|(?:5-hour|weekly|session) limit reached|"
    r"(?:api|request|connection|stream|internal server) error\b|"
    r"credit balance (?:is )?too low|"
    r"invalid api key|missing api key|please run /login|oauth token (?:has )?(?:expired|revoked)|"
    r"failed to authenticate|prompt is too long|rate limit(?:ed| reached| exceeded)|"
    r"no response requested|\[?request interrupted",
    re.IGNORECASE,
)
# What starts no work and says nothing about it: a bare command, a greeting, a mere yes.
_EMPTY = (
    r"/(?:[a-z][\w:.-]*)?|(?::q!?|exit|quit|clear|bye|hi|hello|hey|ok(?:ay)?|yes|y|no|continue|"
    r"go on|go ahead|resume|thanks|thank you"
)
_SAYS_NOTHING = re.compile(rf"{_EMPTY})[.!?]?", re.IGNORECASE)
# A person may call a session so, but as a prompt it says nothing either.
_WEAK = re.compile(rf"{_EMPTY}|test|ping|init|help|start)[.!?]?", re.IGNORECASE)
# Only a heading of the first level is the title of a document. Others begin a part of a template.
_HEADING = re.compile(r"# +(?P<text>.*)")


def is_notice(text: str) -> bool:
    """Whether a title is in truth a message about a limit or an error."""
    return _NOTICE.match(text.lstrip(" ·⎿*#")[:_START]) is not None


def is_weak(prompt: str) -> bool:
    """Whether a prompt says nothing about the work, so that a later one is the better title."""
    return _WEAK.fullmatch(prompt[:_START].strip()) is not None


def says_nothing(title: str) -> bool:
    """Whether anything else is a better name than this title."""
    return _SAYS_NOTHING.fullmatch(title.strip()) is not None


def title_of(text: str) -> str:
    """A prompt on one line. Of a Markdown document it is the first heading."""
    start = text[: _START * 2].lstrip()
    heading = _HEADING.match(start)
    return one_line(heading["text"].strip(" #") if heading else text, TITLE)
