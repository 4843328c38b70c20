"""Mask the secrets in nested values: structs, dicts and lists of texts.

A shortened text may end in half a secret, which no rule matches. So if a text ends in an ellipsis,
its last word is removed, unless that is short.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice
from operator import is_
from typing import Any

import msgspec

from session_memory.redact.masking import mask
from session_memory.redact.possible_secrets import possible_secrets

Mask = Callable[[str], str]
DEEPEST = 60
_LONGEST_TITLE = 400
_SHORTEST_CUT = 12
# Fields with ids and times that we created. They stay, because other records refer to them.
_UNMASKED_FIELDS = frozenset(
    [
        "session_uid",
        "session_uids",
        "parent_uid",
        "event_uid",
        "event_uids",
        "result_uid",
        "error_event",
        "evidence",
        "fingerprint",
        "ts",
        "started_at",
        "ended_at",
        "succeeded",
        "pattern_id",
        "id",
    ]
)

_NO_TEXTS = frozenset({int, float, bool, type(None)})


def mask_cut(text: str, mask: Mask = mask) -> str:
    """``text`` with its secrets masked, also if it was cut in the middle of one."""
    if len(text) <= _LONGEST_TITLE and "\n" not in text and " " in text:
        # In a title, the line breaks of a wrapped secret have become blanks.
        broken = text.replace(" ", "\n")
        masked = mask(broken)
        text = text if masked == broken else masked.replace("\n", " ")
    text = mask(text)
    return _without_cut_word(text) if text.endswith("…") else text


def _without_cut_word(text: str) -> str:
    """A text that ends in an ellipsis, without the word before it, unless that is short."""
    rest = text[:-1].rpartition("…")[2]
    word = "" if rest[-1:].isspace() else "".join(rest.rsplit(None, 1)[-1:])
    return f"{text[: -1 - len(word)]}…" if len(word) >= _SHORTEST_CUT else text


def is_lines(values: Any) -> bool:
    return len(values) > 1 and all(isinstance(one, str) and "\n" not in one for one in values)


def mask_lines(lines: Sequence[str], mask: Mask = mask) -> list[str]:
    """Mask texts that may be lines of one text. The result may have fewer lines.

    A private key is recognized only by all of its lines together.
    """
    masked = mask("\n".join(lines)).split("\n") if lines else []
    return [mask_cut(line, str) for line in masked]


def mask_values(value: Any, mask: Mask = mask, depth: int = 0) -> Any:
    """The same value with every text in it masked. Ids and times stay.

    A list, dict or struct that is nested deeper than `DEEPEST` becomes an ellipsis.
    """
    if isinstance(value, str):
        return mask_cut(value, mask)
    if depth > DEEPEST:
        return "…"
    if isinstance(value, list | tuple):
        if not value:
            return value
        items = (
            mask_lines(value, mask)
            if is_lines(value)
            else [mask_values(item, mask, depth + 1) for item in value]
        )
        is_same = isinstance(value, tuple) and len(items) == len(value)
        return value if is_same and all(map(is_, items, value)) else type(value)(items)
    if isinstance(value, msgspec.Struct):
        return _masked_struct(value, mask, depth)
    if isinstance(value, dict):
        masked = _masked_fields(value, mask, depth)
        return {mask_values(key, mask, depth + 1): item for key, item in masked.items()}
    return value


@cache
def _masked_field_names(of: type[msgspec.Struct]) -> tuple[str, ...]:
    """The fields that may have texts: not those that are declared as numbers."""
    return tuple(
        field.name
        for field in msgspec.structs.fields(of)
        if field.name not in _UNMASKED_FIELDS and field.type not in _NO_TEXTS
    )


def _masked_struct(value: msgspec.Struct, mask: Mask, depth: int) -> msgspec.Struct:
    changed = {}
    for name in _masked_field_names(type(value)):
        item = getattr(value, name)
        # Most fields are numbers or empty.
        if not item or type(item) in _NO_TEXTS:
            continue
        masked = mask_values(item, mask, depth + 1)
        if masked is not item:
            changed[name] = masked
    if not changed and value.__struct_config__.frozen:
        return value
    return msgspec.structs.replace(value, **changed)


def _masked_fields(fields: dict[Any, Any], mask: Mask, depth: int) -> dict[Any, Any]:
    return {
        name: item
        if type(item) in _NO_TEXTS or name in _UNMASKED_FIELDS
        else mask_values(item, mask, depth + 1)
        for name, item in fields.items()
    }


def mask_each(texts: Sequence[str]) -> list[str]:
    """Mask each text by itself.

    One search finds the few that may have a secret, so this is fast.
    """
    unsafe = possible_secrets(texts) if texts else ()
    return [mask(text) if number in unsafe else text for number, text in enumerate(texts)]


def mask_together(value: Any, mask: Mask = mask) -> Any:
    """Like `mask_values`, but much faster for many texts.

    One search finds the texts that may have a secret, and only values with such texts are masked.
    """
    parts, depth = _parts_of(value)
    # Each text with the numbers of the parts that contain it.
    asked: dict[str, list[int]] = {}
    unmasked: list[Any] = []

    def note(text: str) -> str:
        asked.setdefault(text, []).append(len(unmasked))
        return text

    for part in parts:
        unmasked.append(mask_values(part, note, depth))
    texts = list(asked)
    unsafe = {texts[number] for number in possible_secrets(texts)}

    def mask_unsafe(text: str) -> str:
        return mask(text) if text in unsafe else text

    for number in {part for text in unsafe for part in asked[text]}:
        unmasked[number] = mask_values(parts[number], mask_unsafe, depth)
    return _with_parts(value, iter(unmasked))


def _parts_of(value: Any) -> tuple[list[Any], int]:
    """Return the values that `mask_together` masks one by one, and their depth.

    These are the fields of a struct, and the items of a field that is a tuple of structs.
    """
    if not isinstance(value, msgspec.Struct):
        return [value], 0
    parts: list[Any] = []
    for name in _masked_field_names(type(value)):
        item = getattr(value, name)
        parts += item if _is_structs(item) else (item,)
    return parts, 1


def _with_parts(value: Any, parts: Iterator[Any]) -> Any:
    """The value with these parts, in the order of `_parts_of`."""
    if not isinstance(value, msgspec.Struct):
        return next(parts)
    changed: dict[str, Any] = {}
    for name in _masked_field_names(type(value)):
        item = getattr(value, name)
        if _is_structs(item):
            masked: Any = tuple(islice(parts, len(item)))
            is_same = all(map(is_, masked, item))
        else:
            masked = next(parts)
            is_same = masked is item
        if not is_same:
            changed[name] = masked
    return msgspec.structs.replace(value, **changed)


def _is_structs(item: Any) -> bool:
    return type(item) is tuple and bool(item) and isinstance(item[0], msgspec.Struct)
