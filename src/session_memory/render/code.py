"""Colour code: classes tell keywords, strings, names, numbers and comments apart.

Logs are hostile: a lexer can need minutes for a text that was made to slow it. So only common
languages and texts of ordinary shape are coloured. All other texts are shown plain, unchanged.
"""

import html as markup
import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain, groupby
from operator import itemgetter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from session_memory.render.text import safe_lines

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MOST = 20 * 1024
MOST_PIECES = 8000
LONGEST_LINE = 1000
_LONG_BLANK = re.compile(r"\s{100}")

# For each lexer the names of its language after the fence of a code block, and endings of files.
_LEXERS = {
    "bash": "bash console sh shell zsh",
    "c": "c h",
    "cpp": "c++ cc cpp cxx hpp",
    "csharp": "c# cs csharp",
    "css": "css scss",
    "dart": "dart",
    "diff": "diff patch",
    "docker": "docker dockerfile",
    "elixir": "elixir ex exs",
    "go": "go golang",
    "graphql": "gql graphql",
    "haskell": "haskell hs",
    "html": "htm html",
    "ini": "cfg conf ini",
    "java": "java",
    "javascript": "cjs javascript js mjs",
    "json": "json jsonc jsonl",
    "kotlin": "kotlin kt kts",
    "lua": "lua",
    "make": "make makefile mk",
    "php": "php",
    "python": "py pyi python python3",
    "ruby": "rb ruby",
    "rust": "rs rust",
    "scala": "scala",
    "sql": "sql",
    "swift": "swift",
    "toml": "toml",
    "typescript": "jsx ts tsx typescript",
    "xml": "svg xml",
    "yaml": "yaml yml",
    "zig": "zig",
}
_LEXER_OF = {name: lexer for lexer, names in _LEXERS.items() for name in names.split()}

Piece = tuple[str, str]
"""A class, which may be empty, and a text without a line break."""


def language_of(path: str) -> str:
    """Return the language of a file by its name; empty if the language is not coloured."""
    name = PurePosixPath(path).name.lower()
    ending = name.rpartition(".")[2]
    return _LEXER_OF.get(ending, "")


class Colours:
    """Colours the code of one page. Only the first ``left`` characters of code are coloured."""

    def __init__(self, left: int) -> None:
        self._left = left

    def lines(self, text: str, language: str) -> list[list[Piece]]:
        """Split the lines of a safe text into pieces with a class each. Without a known language,
        each line is one piece."""
        lexer = _LEXER_OF.get(language.lower())
        if lexer is None or not _is_ordinary(text) or len(text) > self._left:
            return _plain(text)
        self._left -= len(text)
        return _coloured(text, lexer) or _plain(text)

    def html(self, code: str, language: str) -> str:
        """Return code from a log as escaped HTML, without an element around it."""
        text = "\n".join(safe_lines(code))
        return "\n".join(pieces_html(line) for line in self.lines(text, language))


def pieces_html(pieces: Iterable[Piece], marks: Sequence[tuple[int, int]] = ()) -> str:
    """Return the pieces of one line as escaped HTML. ``marks`` are ranges of it to stress."""
    edges = sorted(set(chain.from_iterable(marks)))
    is_marked = {start for start, _ in marks}
    made: list[tuple[bool, str]] = []
    place, stressed = 0, False
    for name, text in pieces:
        end = place + len(text)
        stops = [edge for edge in edges if place < edge < end]
        for start, stop in zip([place, *stops], [*stops, end], strict=True):
            if start in edges:
                stressed = start in is_marked
            part = markup.escape(text[start - place : stop - place], quote=True)
            made.append((stressed, f'<span class="{name}">{part}</span>' if name else part))
        place = end
    runs = ((mark, "".join(part for _, part in run)) for mark, run in groupby(made, itemgetter(0)))
    return "".join(f"<em>{run}</em>" if mark else run for mark, run in runs)


def _is_ordinary(text: str) -> bool:
    if len(text) > MOST or _LONG_BLANK.search(text):
        return False
    return all(len(line) <= LONGEST_LINE for line in text.split("\n"))


def _plain(text: str) -> list[list[Piece]]:
    return [[("", line)] for line in text.split("\n")]


def _coloured(text: str, name: str) -> list[list[Piece]] | None:
    """Split a text into pieces; None if there are too many, or if the lexer changed the text."""
    lines: list[list[Piece]] = [[]]
    for number, (sort, value) in enumerate(_lexer(name).get_tokens(text)):
        if number > MOST_PIECES:
            return None
        for place, part in enumerate(value.split("\n")):
            if place:
                lines.append([])
            if part:
                _add(lines[-1], (_class(str(sort)), part))
    same = "\n".join("".join(part for _, part in line) for line in lines) == text
    return lines if same else None


def _add(line: list[Piece], piece: Piece) -> None:
    if line and line[-1][0] == piece[0]:
        line[-1] = (piece[0], line[-1][1] + piece[1])
    else:
        line.append(piece)


@cache
def _lexer(name: str) -> "Lexer":
    # This package comes with rich. It is imported only when the first code is shown.
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(name, stripnl=False, ensurenl=False)


_CLASSES = {
    "Token.Keyword": "hk",
    "Token.Operator.Word": "hk",
    "Token.Name.Tag": "hk",
    "Token.Literal.String": "hs",
    "Token.Literal.Number": "hn",
    "Token.Keyword.Constant": "hn",
    "Token.Name.Function": "hf",
    "Token.Name.Class": "hf",
    "Token.Name.Decorator": "hf",
    "Token.Name.Attribute": "hf",
    "Token.Comment": "hc",
    "Token.Generic.Inserted": "hs",
    "Token.Generic.Deleted": "hn",
}


@cache
def _class(sort: str) -> str:
    """Return the CSS class of a sort of token; without one, the class of the sort above it."""
    while sort:
        if sort in _CLASSES:
            return _CLASSES[sort]
        sort = sort.rpartition(".")[0]
    return ""
