"""Quote texts from transcripts in Markdown that people and agents read.

A quote is a code span on one line. Its text cannot end the span, invisible characters are made
visible and secrets are masked, so nobody can mistake it for an instruction.
"""

import re

from session_memory.core.text import one_line, visible
from session_memory.redact import mask, mask_cut

LONGEST = 300
_TICKS = re.compile("`+")
_COMMENT = "<!--"


def quoted(text: str, length: int = LONGEST) -> str:
    """Return ``text`` as a Markdown code span on one line, with at most ``length`` characters."""
    line = one_line(visible(" ".join(mask_cut(text).split())), length)
    longest = max((len(run) for run in _TICKS.findall(line)), default=0)
    ticks = "`" * (longest + 1)
    room = " " if not line or line[0] == "`" or line[-1] == "`" else ""
    return f"{ticks}{room}{line or ' '}{room}{ticks}"


def plain_lines(text: str) -> list[str]:
    """Split a lesson's text into lines for an instruction file, safe to show.

    Secrets are masked, invisible characters escaped, and HTML comments made visible: a comment
    would be hidden when rendered, and could imitate the markers around the lessons.
    """
    lines = mask(text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [visible(line.replace("\t", "    ")).replace(_COMMENT, "&lt;!--") for line in lines]
