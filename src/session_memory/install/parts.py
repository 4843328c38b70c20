"""The parts that an installation puts into a file: members, hooks and tables, or the whole file.

A part is put into a text and can be removed from it again. It recognizes its entries by their names
and commands, so it also works on files that were changed since.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from session_memory.install import json_edit, toml_edit
from session_memory.install.errors import InstallError
from session_memory.install.jsonc import BadJson, parse

Created = list[json_edit.Path]
JSON, TOML, WHOLE = "json", "toml", "whole"


@dataclass(frozen=True)
class _Keys:
    """Keys with values at a place of a file. Other keys there stay."""

    path: tuple[str, ...]
    value: dict[str, Any]

    def is_in(self, values: Any) -> bool:
        found = _at(values, self.path)
        return isinstance(found, dict) and self.value.items() <= found.items()

    def any_in(self, values: Any) -> Any:
        return _at(values, self.path)


@dataclass(frozen=True)
class Member(_Keys):
    """Keys in a member of a JSON object."""

    def put(self, text: str) -> tuple[str, Created]:
        old = json_edit.find(parse(text), self.path)
        if old is None or not old.is_object:
            return json_edit.put_member(text, self.path, self.value)
        for key, value in self.value.items():
            if key not in old.value or old.value[key] != value:
                text, _ = json_edit.put_member(text, (*self.path, key), value)
        return text, []

    def remove(self, text: str) -> str:
        return json_edit.remove(text, self.path)


@dataclass(frozen=True)
class Hook:
    """A group with one hook in the list of an event: ``{"matcher": …, "hooks": [hook]}``.

    ``call`` is what the hook's command calls, such as ``hook codex failure``.
    """

    path: tuple[str, ...]
    value: dict[str, Any]
    call: str

    def put(self, text: str) -> tuple[str, Created]:
        places = list(self._places(parse(text).value))
        if not places:
            return json_edit.add_element(text, self.path, self.value)
        group, inner = places[0]
        found = _at(parse(text).value, self.path)[group]
        wanted = self.value["hooks"][0]
        if len(found["hooks"]) == 1 and found != self.value:
            text = _replaced(text, (*self.path, group), self.value)
        elif found["hooks"][inner] != wanted:
            text = _replaced(text, (*self.path, group, "hooks", inner), wanted)
        return self._without(text, places[1:]), []

    def remove(self, text: str) -> str:
        return self._without(text, list(self._places(parse(text).value)))

    def _without(self, text: str, places: list[tuple[int, int]]) -> str:
        for group, inner in reversed(places):
            hooks = _at(parse(text).value, self.path)[group]["hooks"]
            place: json_edit.Path = (*self.path, group)
            text = json_edit.remove(text, place if len(hooks) == 1 else (*place, "hooks", inner))
        return text

    def is_in(self, values: Any) -> bool:
        groups, wanted = _at(values, self.path), self.value["hooks"][0]
        return any(groups[group]["hooks"][inner] == wanted for group, inner in self._places(values))

    def any_in(self, values: Any) -> Any:
        groups = _at(values, self.path)
        return next((groups[group]["hooks"][inner] for group, inner in self._places(values)), None)

    def _places(self, values: Any) -> Iterator[tuple[int, int]]:
        """The indexes of our groups in the list, and of our hooks in them."""
        groups = _at(values, self.path)
        for group, found in enumerate(groups if isinstance(groups, list) else []):
            hooks = found.get("hooks") if isinstance(found, dict) else None
            for inner, hook in enumerate(hooks if isinstance(hooks, list) else []):
                if isinstance(hook, dict) and _is_our_hook(hook, self.call):
                    yield group, inner


@dataclass(frozen=True)
class Table(_Keys):
    """Keys in a table of a TOML file."""

    def put(self, text: str) -> tuple[str, Created]:
        return toml_edit.put_table(text, self.path, self.value), []

    def remove(self, text: str) -> str:
        return toml_edit.remove_table(text, self.path)


@dataclass(frozen=True)
class Whole:
    """A file that only Session Memory writes, without content of the user.

    ``mark`` is a text by which the file is recognized as ours. ``template`` is the name of the
    template that the file was made from, or "".
    """

    text: str
    mark: str
    template: str = ""

    def put(self, text: str) -> tuple[str, Created]:
        return self.text, []

    def remove(self, text: str) -> str:
        return ""

    def is_in(self, values: Any) -> bool:
        return bool(values == self.text)

    def any_in(self, values: Any) -> Any:
        return values if isinstance(values, str) and self.mark in values else None


Part = Member | Hook | Table | Whole


@dataclass(frozen=True)
class FileParts:
    """A file, its kind (``json``, ``toml``, or ``whole`` if it is ours alone), and our parts of
    it."""

    path: Path
    kind: str
    parts: tuple[Part, ...]


def is_ours(command: Any, call: str) -> bool:
    """Whether a command line calls this program with ``call``, such as ``hook codex failure``."""
    pattern = rf"session[-_]memory.*\s{re.escape(call)}(\s|$)"
    return isinstance(command, str) and re.search(pattern, command) is not None


def _is_our_hook(hook: dict[str, Any], call: str) -> bool:
    """Whether a hook starts our program, or calls a tool of our server, for this event."""
    given = hook.get("input")
    if hook.get("type") == "mcp_tool" and isinstance(given, dict):
        return f"{hook.get('tool')} {given.get('agent')} {given.get('event')}" == call
    return is_ours(hook.get("command"), call)


def is_blank(text: str) -> bool:
    return not text.strip("\ufeff \t\r\n")


def read_values(kind: str, text: str | None, path: Path) -> Any:
    """The values of a file; raises `InstallError` if it cannot be read."""
    if kind == WHOLE:
        return text
    if text is None or is_blank(text):
        return {}
    try:
        found = parse(text).value if kind == JSON else toml_edit.values(text)
    except (BadJson, toml_edit.BadToml) as error:
        hint = f"Correct {path}, or move it away, and run the command again."
        raise InstallError(f"{path} is not valid {kind.upper()}: {error}", hint) from error
    if not isinstance(found, dict):
        hint = f"Correct {path}, or move it away, and run the command again."
        raise InstallError(f"{path} has no settings but another value", hint)
    return found


def put_all(kind: str, text: str | None, parts: Sequence[Part], path: Path) -> tuple[str, Created]:
    """Return the text with all parts, and the paths of objects and lists added for them."""
    is_new = text is None or is_blank(text)
    start = ("{}\n" if kind == JSON and is_new else text) or ""
    made, created = _edited(kind, start, [part.put for part in parts], path)
    if kind != WHOLE:
        _check_put(kind, (start, made), parts, path)
    return made, created


def _check_put(kind: str, texts: tuple[str, str], parts: Sequence[Part], path: Path) -> None:
    """Raise `InstallError` if the second text lacks a part or differs from the first elsewhere."""
    values = read_values(kind, texts[1], path)
    left = [
        _without_empty(read_values(kind, remove_all(kind, text, parts, [], path), path))
        for text in texts
    ]
    if not all(part.is_in(values) for part in parts) or repr(left[0]) != repr(left[1]):
        hint = f"Add our entries to {path} yourself; docs/agents shows them."
        raise InstallError(f"{path} cannot be edited without changing its other settings", hint)


def _without_empty(value: Any) -> Any:
    """The value without empty objects and lists, which our entries may leave."""
    if isinstance(value, dict):
        inner = {key: _without_empty(one) for key, one in value.items()}
        return {key: one for key, one in inner.items() if one not in ({}, [])}
    if isinstance(value, list):
        return [_without_empty(one) for one in value]
    return value


def remove_all(kind: str, text: str, parts: Iterable[Part], created: Created, path: Path) -> str:
    """Return the text without the parts, and without objects and lists of ours that are empty
    now."""

    def removal(part: Part) -> Callable[[str], tuple[str, Created]]:
        return lambda now: (part.remove(now), [])

    if kind == JSON and is_blank(text):
        return text
    text, _ = _edited(kind, text, [removal(part) for part in parts], path)
    for place in sorted(created, key=len, reverse=True):
        if place and json_edit.is_empty(text, place):
            text = json_edit.remove(text, place)
    return text


def existing(text: str, created: Created) -> Created:
    """Return the paths in ``created`` that the text still has."""
    root = None if is_blank(text) else parse(text)
    return [path for path in created if root and json_edit.find(root, path) is not None]


def _edited(
    kind: str, text: str, steps: Iterable[Callable[[str], tuple[str, Created]]], path: Path
) -> tuple[str, Created]:
    created: Created = []
    hint = f"Change that in {path} yourself, and run the command again."
    try:
        for step in steps:
            text, added = step(text)
            created += added
        if kind == TOML:
            toml_edit.values(text)
    except json_edit.NotThere as error:
        message = f"{path} cannot be edited: {error} is no object or list"
        raise InstallError(message, hint) from error
    except (BadJson, toml_edit.BadToml) as error:
        raise InstallError(f"{path} cannot be edited: {error}", hint) from error
    return text, created


def _replaced(text: str, path: json_edit.Path, value: Any) -> str:
    node = json_edit.find(parse(text), path)
    assert node is not None
    return json_edit.replace(text, node, value)


def _at(values: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        values = values.get(key) if isinstance(values, dict) else None
    return values
