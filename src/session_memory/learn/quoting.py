"""Words of transcripts inside Markdown that people and agents read: quoted, masked, in plain sight.

A quote is a code span that its own text cannot end, on one line, with every character visible and
every secret masked. Whatever it says, it is seen to be a quote.
"""

import re

from session_memory.core.text import one_line, visible
from session_memory.redact import mask, mask_cut

LONGEST = 300
_TICKS = re.compile("`+")
_COMMENT = "<!--"


def quoted(text: str, length: int = LONGEST) -> str:
    """``text`` as a code span of Markdown."""
    line = one_line(visible(" ".join(mask_cut(text).split())), length)
    longest = max((len(run) for run in _TICKS.findall(line)), default=0)
    ticks = "`" * (longest + 1)
    room = " " if not line or line[0] == "`" or line[-1] == "`" else ""
    return f"{ticks}{room}{line or ' '}{room}{ticks}"


def plain_lines(text: str) -> list[str]:
    """Lines of a lesson as they may stand in a file for agents: no secret, nothing that is not
    seen, and no comment of HTML, which a page would hide and our markers are made of."""
    lines = mask(text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [visible(line.replace("\t", "    ")).replace(_COMMENT, "&lt;!--") for line in lines]
