"""Markdown on a terminal: headings, lists, code and emphasis get a style.

The marks of Markdown, such as ``**``, stay in the text, so a prompt reads as it was typed. Lines
are made safe before they are styled, so the only escape sequences in them are our styles.
"""

import re
from collections.abc import Iterator
from typing import Any

import click

from session_memory.cli.lines.folding import wrapped
from session_memory.render.text import safe_lines

LONGEST = 20_000
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6} +(?=\S)")
_BULLET = re.compile(r"( *)[-*+] (?=\S)")
_CODE = re.compile(r"`[^`\x1b]{1,500}`")
_BOLD = re.compile(r"\*\*[^*`\x1b]{1,500}\*\*")


def prose(text: str, columns: int | None, *, shorten: bool = True) -> Iterator[str]:
    """Yield the lines of ``text``, wrapped to ``columns`` and styled.

    With ``shorten``, very long lines are cut.
    """
    fence = ""
    for line in safe_lines(text.strip("\n")):
        if shorten and len(line) > LONGEST:
            left_out = f"… {len(line) - LONGEST:,} more characters"
            line = f"{line[:LONGEST]}{left_out}"
        mark = _FENCE.match(line)
        if fence:
            is_end = bool(mark and line.strip() == mark[1] and mark[1].startswith(fence))
            fence = "" if is_end else fence
            style: dict[str, Any] = {"dim": True} if is_end else {"fg": "cyan"}
            yield from (click.style(one, **style) for one in wrapped(line, columns))
        elif mark:
            fence = mark[1]
            yield from (click.style(one, dim=True) for one in wrapped(line, columns))
        else:
            yield from _styled(line, columns)


def _styled(line: str, columns: int | None) -> Iterator[str]:
    if len(line) > LONGEST * 2:
        yield line
    elif _HEADING.match(line):
        yield from (click.style(one, bold=True) for one in wrapped(line, columns))
    else:
        bullet = _BULLET.match(line)
        margin = "  " + bullet[1] if bullet else ""
        room = columns - len(margin) if columns else None
        for place, one in enumerate(wrapped(line, room)):
            yield _inline(one if not place else margin + one)


def _inline(line: str) -> str:
    if "`" not in line and "**" not in line:
        return line
    line = _BOLD.sub(lambda found: click.style(found[0], bold=True), line)
    return _CODE.sub(lambda found: click.style(found[0], fg="cyan"), line)
