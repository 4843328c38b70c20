"""Change one table of a TOML text and leave every other byte as it is."""

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Keys = tuple[str, ...]
_SPACE = re.compile(r"(?:[ \t\r\n]+|#[^\r\n]*)*")
_STRINGS = (
    re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}', re.DOTALL),
    re.compile(r"'''.*?'{3,5}", re.DOTALL),
    re.compile(r'"(?:[^"\\\r\n]|\\.)*"'),
    re.compile(r"'[^'\r\n]*'"),
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class BadToml(ValueError):
    """The text is not TOML."""


@dataclass(frozen=True)
class TomlStatement:
    """A table header or a ``key = value``, from ``start`` to ``end``.

    ``path`` begins with the keys of its table. ``value`` is where the value begins.
    """

    path: Keys
    start: int
    end: int
    value: int | None = None

    @property
    def is_header(self) -> bool:
        return self.value is None


def values(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise BadToml(str(error)) from error


def statements(text: str) -> Iterator[TomlStatement]:
    """The statements of a valid text, in order."""
    place = _skip(text, 1 if text.startswith("\ufeff") else 0)
    table: Keys = ()
    while place < len(text):
        if text[place] == "[":
            size = 2 if text.startswith("[[", place) else 1
            table, end = _key(text, place + size)
            end = text.index("]", end) + size
            yield TomlStatement(table, place, end)
        else:
            key, value = _key(text, place)
            value = _blank(text, text.index("=", value) + 1)
            end = _value_end(text, value)
            yield TomlStatement((*table, *key), place, end, value)
        place = _skip(text, end)


def put_table(text: str, path: Keys, wanted: dict[str, Any]) -> str:
    """The text with these values in the table ``path``. Other values of the table stay."""
    newline = "\r\n" if "\r\n" in text else "\n"
    for key, value in wanted.items():
        old = next((one for one in statements(text) if one.path == (*path, key)), None)
        if old is not None and old.value is not None:
            text = text[: old.value] + _dumps(value) + text[old.end :]
    header = next((one for one in statements(text) if one.is_header and one.path == path), None)
    missing = {key: value for key, value in wanted.items() if _lookup(text, (*path, key)) is None}
    lines = [f"{_dumps_key(key)} = {_dumps(value)}" for key, value in missing.items()]
    if not lines:
        return text
    if header is not None:
        return text[: header.end] + "".join(newline + line for line in lines) + text[header.end :]
    if _lookup(text, path) is not None:
        raise BadToml(f"{'.'.join(path)} is not a table of its own")
    block = newline.join([f"[{'.'.join(map(_dumps_key, path))}]", *lines])
    if not text:
        return block + newline
    # A text without a last line end keeps having none, so that `remove_table` knows it.
    return text + (newline + block + newline if text[-1] == "\n" else newline * 2 + block)


def remove_table(text: str, path: Keys) -> str:
    """The text without the table ``path`` and the tables in it."""
    while ours := [one for one in statements(text) if one.path[: len(path)] == path]:
        text = _without(text, ours)
    return text


def _without(text: str, ours: list[TomlStatement]) -> str:
    """The text without the first of ``ours``, and without those of ``ours`` right after it."""
    every = list(statements(text))
    first = every.index(ours[0])
    last = first
    while last + 1 < len(every) and every[last + 1] in ours:
        last += 1
    start = text.rfind("\n", 0, every[first].start) + 1
    end = _line_end(text, every[last].end)
    if end == len(text) and text[-1] != "\n":
        # The text before had no last line end.
        before = text[:start].removesuffix("\n").removesuffix("\r")
        return before.removesuffix("\n").removesuffix("\r") + text[end:]
    before = text[:start]
    if every[first].is_header and re.search(r"\n\r?\n\Z|\A\r?\n\Z", before):
        before = before.removesuffix("\n").removesuffix("\r")
    return before + text[end:]


def _lookup(text: str, path: Keys) -> Any:
    found: Any = values(text)
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _line_end(text: str, place: int) -> int:
    """The place after the line end behind ``place``, with a comment on the same line."""
    end = text.find("\n", place)
    return len(text) if end < 0 else end + 1


def _skip(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    assert match is not None
    return match.end()


def _blank(text: str, place: int) -> int:
    while text[place : place + 1] in (" ", "\t"):
        place += 1
    return place


def _key(text: str, place: int) -> tuple[Keys, int]:
    """A key with dots, and the place after it."""
    parts: list[str] = []
    while True:
        place = _blank(text, place)
        match = _BARE.match(text, place) or _string(text, place)
        if match is None:
            raise BadToml("a key is missing")
        bare = match[0]
        name = next(iter(tomllib.loads(f"{bare} = 0")))
        parts.append(name)
        place = _blank(text, match.end())
        if not text.startswith(".", place):
            return tuple(parts), place
        place += 1


def _string(text: str, place: int) -> re.Match[str] | None:
    return next((found for one in _STRINGS if (found := one.match(text, place))), None)


def _value_end(text: str, place: int) -> int:
    """The place after the value that begins at ``place``."""
    depth, end = 0, place
    while place < len(text):
        character = text[place]
        if found := _string(text, place):
            place = end = found.end()
            continue
        if depth == 0 and character in "\r\n#":
            break
        if character == "#":
            place = _skip(text, place)
            continue
        depth += (character in "[{") - (character in "]}")
        place += 1
        if character not in " \t\r\n":
            end = place
    return end


def _dumps(value: Any) -> str:
    """A text, a number or a list of texts: the same in JSON and TOML."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _dumps_key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _dumps(key)
