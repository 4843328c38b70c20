"""Change one member or element of a JSON text and leave every other byte as it is.

`remove` takes away what `put_member` or `add_element` added, to the byte, even if other members
were changed meanwhile.
"""

import json
import re
from typing import Any

from session_memory.install.jsonc import BadJson, Node, after_trivia, parse

Path = tuple[str | int, ...]
_BLANK = re.compile(r"[ \t]*")
_COMMENT_END = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)


class NotThere(ValueError):
    """A value on the path is not an object or a list, so nothing can be added in it."""


def find(root: Node, path: Path) -> Node | None:
    """The node at a path of keys and indexes; None if there is none."""
    node: Node | None = root
    for step in path:
        if node is None:
            return None
        if isinstance(step, int):
            node = node.children[step] if node.is_array and step < len(node.children) else None
        else:
            node = node.member(step) if node.is_object else None
    return node


def put_member(text: str, path: tuple[str, ...], value: Any) -> tuple[str, list[Path]]:
    """Return the text with ``value`` at ``path``, and the paths of the objects added for it.

    A value that is there already is replaced where it stands.
    """
    old = find(parse(text), path)
    if old is not None:
        return replace(text, old, value), []
    node, depth = _deepest(parse(text), path)
    if not node.is_object:
        raise NotThere(".".join(path[:depth]) or "the file")
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    added: list[Path] = [path[:size] for size in range(depth + 1, len(path))]
    return _inserted(text, node, value, key=path[depth]), added


def replace(text: str, node: Node, value: Any) -> str:
    """The text with another value in the place of a node."""
    shown = _Style(text, node.start).dumps(value, inline="\n" not in text[node.start : node.end])
    return text[: node.start] + shown + text[node.end :]


def add_element(text: str, path: tuple[str, ...], value: Any) -> tuple[str, list[Path]]:
    """The text with ``value`` as the last element of the list at ``path``, and the paths added."""
    node = find(parse(text), path)
    if node is None:
        text, added = put_member(text, path, [value])
        return text, [*added, path]
    if not node.is_array:
        raise NotThere(".".join(path))
    return _inserted(text, node, value), []


def remove(text: str, path: Path) -> str:
    """The text without the member or element at ``path``."""
    parent = find(parse(text), path[:-1])
    step = path[-1]
    if parent is None:
        return text
    if isinstance(step, str):
        places = [place for place, key in enumerate(parent.keys) if key == step]
    else:
        places = [step] if parent.is_array and step < len(parent.children) else []
    return _without(text, parent, places[-1]) if places else text


def is_empty(text: str, path: Path) -> bool:
    """Whether the container at ``path`` has no children and no comments."""
    node = find(parse(text), path)
    if node is None or node.children or not (node.is_object or node.is_array):
        return False
    return not text[node.start + 1 : node.end - 1].strip(" \t\r\n")


def _deepest(root: Node, path: tuple[str, ...]) -> tuple[Node, int]:
    """The last node on the path that exists, and how many steps lead to it."""
    node = root
    for depth, key in enumerate(path):
        inner = node.member(key) if node.is_object else None
        if inner is None:
            return node, depth
        node = inner
    return node, len(path)


class _Style:
    """The layout of a text around one place: its line ends and its indentation."""

    def __init__(self, text: str, place: int) -> None:
        self.newline = "\r\n" if "\r\n" in text else "\n"
        line = text.rfind("\n", 0, place) + 1
        blank = _BLANK.match(text, line)
        self.indent = blank[0] if blank else ""
        first = re.search(r"\n([ \t]+)\S", text)
        self.unit = first[1] if first else "  "
        self.is_multiline = "\n" in text.strip()
        self.is_tight = not self.is_multiline and re.search(r'":\S', text) is not None

    def dumps(self, value: Any, indent: str | None = None, *, inline: bool | None = None) -> str:
        """``value`` as JSON in the style of the text around the place, on one line or on several.

        ``inline`` is true for one line, false for several, and None for the style of the text.
        """
        if inline if inline is not None else not self.is_multiline:
            marks = (",", ":") if self.is_tight else (", ", ": ")
            return json.dumps(value, ensure_ascii=False, separators=marks)
        lines = json.dumps(value, ensure_ascii=False, indent=self.unit).split("\n")
        return (self.newline + (self.indent if indent is None else indent)).join(lines)


def _inserted(text: str, node: Node, value: Any, key: str | None = None) -> str:
    """The text with one more child at the end of a container."""
    style = _Style(text, node.start)
    if node.children:
        return _appended(text, node, value, key, style)
    inside = text[node.start + 1 : node.end - 1]
    kept = inside.rstrip(" \t\r\n")
    if not style.is_multiline and node.start > _first(text) and not kept:
        new = _child(value, key, style, "", inline=True)
        return text[: node.start + 1] + new + text[node.end - 1 :]
    indent = style.indent + style.unit
    new = style.newline + indent + _child(value, key, style, indent)
    after = inside[len(kept) :]
    if not kept and "\n" not in after:
        after = style.newline + style.indent
    return text[: node.start + 1] + kept + new + after + text[node.end - 1 :]


def _first(text: str) -> int:
    return after_trivia(text, 1 if text.startswith("\ufeff") else 0)


def _appended(text: str, node: Node, value: Any, key: str | None, style: _Style) -> str:
    first, end = node.spans[-1]
    comma = after_trivia(text, end)
    has_comma = text.startswith(",", comma)
    # A comment behind the last child stays with it, so the new child comes after the comment.
    place = _after_comments(text, comma + 1 if has_comma else end, node.end - 1)
    before = text[text.rfind("\n", 0, first) + 1 : first]
    outside = text[node.start : node.spans[0][0]] + text[end : node.end]
    if "\n" in outside:
        indent = before if not before.strip(" \t") else style.indent + style.unit
        new = style.newline + indent + _child(value, key, style, indent)
    else:
        gap = "" if style.is_tight else " "
        new = gap + _child(value, key, style, "", inline=True)
    if has_comma:
        return text[:place] + new + "," + text[place:]
    return text[:end] + "," + text[end:place] + new + text[place:]


def _child(value: Any, key: str | None, style: _Style, indent: str, *, inline: bool = False) -> str:
    shown = style.dumps(value, indent, inline=inline)
    return shown if key is None else f"{json.dumps(key)}:{'' if style.is_tight else ' '}{shown}"


def _after_comments(text: str, place: int, end: int) -> int:
    """The place after the last comment between two places."""
    last = place
    for match in _COMMENT_END.finditer(text, place, end):
        last = match.end()
    return last


def _without(text: str, parent: Node, place: int) -> str:
    start, end = parent.spans[place]
    comma = after_trivia(text, end)
    has_comma = text.startswith(",", comma) and comma < parent.end
    before = parent.spans[place - 1][1] if place else parent.start + 1
    # The white space in front of the child goes with it; a comment in front of it stays.
    lead = len(text[before:start].rstrip(" \t\r\n")) + before
    if has_comma:
        return text[:lead] + text[end:comma] + text[comma + 1 :]
    if place:
        separator = after_trivia(text, before)
        if not text.startswith(",", separator):
            raise BadJson("a comma is missing")
        lead = max(lead, separator + 1)
        return text[:separator] + text[separator + 1 : lead] + text[end:]
    rest = text[end : parent.end - 1]
    if not text[before:start].strip(" \t\r\n") and not rest.strip(" \t\r\n"):
        return text[:before] + text[parent.end - 1 :]
    return text[:lead] + text[end:]
