"""Parse JSON with comments and trailing commas, with the position of each value in the text."""

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

DEEPEST = 200
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_TRIVIA = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_WORDS = {"true": True, "false": False, "null": None}


class BadJson(ValueError):
    """The text is not JSON, with or without comments."""


@dataclass
class Node:
    """A value, and where its text starts and ends. ``children`` are those of a container.

    ``spans`` has the span of each child; that of a member begins with its key.
    """

    start: int
    end: int
    value: Any
    children: list["Node"] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    @property
    def is_object(self) -> bool:
        return isinstance(self.value, dict)

    @property
    def is_array(self) -> bool:
        return isinstance(self.value, list)

    def member(self, key: str) -> "Node | None":
        """The last member with this key: programs that read the file use the last one too."""
        places = [place for place, name in enumerate(self.keys) if name == key]
        return self.children[places[-1]] if places else None


@lru_cache(maxsize=8)
def parse(text: str) -> Node:
    """Parse a text that is one JSON value. The result is cached, so nobody may change it."""
    reader = _Reader(text)
    place = reader.after_trivia(1 if text.startswith("\ufeff") else 0)
    node = reader.value(place, 0)
    if reader.after_trivia(node.end) != len(text):
        raise reader.error(node.end, "the text goes on after its end")
    return node


def after_trivia(text: str, place: int) -> int:
    """The place after all white space and comments that begin at ``place``."""
    match = _TRIVIA.match(text, place)
    assert match is not None
    return match.end()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text

    def error(self, place: int, reason: str) -> BadJson:
        return BadJson(f"line {self.text.count(chr(10), 0, place) + 1}: {reason}")

    def after_trivia(self, place: int) -> int:
        return after_trivia(self.text, place)

    def value(self, place: int, depth: int) -> Node:
        if depth > DEEPEST:
            raise self.error(place, f"values are nested more than {DEEPEST} deep")
        first = self.text[place : place + 1]
        if first in ("{", "["):
            return self._container(place, depth, is_object=first == "{")
        if first == '"':
            return self._string(place)
        if match := _NUMBER.match(self.text, place):
            return Node(place, match.end(), json.loads(match[0]))
        for word, value in _WORDS.items():
            if self.text.startswith(word, place):
                return Node(place, place + len(word), value)
        raise self.error(place, "a value is missing")

    def _string(self, place: int) -> Node:
        match = _STRING.match(self.text, place)
        if match is None:
            raise self.error(place, "a text has no end")
        if "\\" not in match[0]:
            return Node(place, match.end(), match[0][1:-1])
        try:
            return Node(place, match.end(), json.loads(match[0]))
        except ValueError as error:
            raise self.error(place, "a text has an unknown escape") from error

    def _container(self, start: int, depth: int, *, is_object: bool) -> Node:
        node = Node(start, start, {} if is_object else [])
        place = self.after_trivia(start + 1)
        end = "}" if is_object else "]"
        while not self.text.startswith(end, place):
            first = place
            if is_object:
                key = self._key(place)
                node.keys.append(key.value)
                place = self.after_trivia(key.end)
                if not self.text.startswith(":", place):
                    raise self.error(place, "a colon is missing")
                place = self.after_trivia(place + 1)
            child = self.value(place, depth + 1)
            node.children.append(child)
            node.spans.append((first, child.end))
            if is_object:
                node.value[node.keys[-1]] = child.value
            else:
                node.value.append(child.value)
            place = self.after_trivia(child.end)
            if self.text.startswith(",", place):
                place = self.after_trivia(place + 1)
            elif not self.text.startswith(end, place):
                raise self.error(place, f"a comma or {end} is missing")
        node.end = place + 1
        return node

    def _key(self, place: int) -> Node:
        if not self.text.startswith('"', place):
            raise self.error(place, "a key is missing")
        return self._string(place)
