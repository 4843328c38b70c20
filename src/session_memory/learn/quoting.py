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
    """``text`` as a Markdown code span."""
    line = one_line(visible(" ".join(mask_cut(text).split())), length)
    longest = max((len(run) for run in _TICKS.findall(line)), default=0)
    ticks = "`" * (longest + 1)
    room = " " if not line or line[0] == "`" or line[-1] == "`" else ""
    return f"{ticks}{room}{line or ' '}{room}{ticks}"


def plain_lines(text: str) -> list[str]:
    """Lines of a lesson for an instruction file: secrets masked, every character visible, and no
    HTML comments, because these are hidden when rendered and could imitate our markers."""
    lines = mask(text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [visible(line.replace("\t", "    ")).replace(_COMMENT, "&lt;!--") for line in lines]
