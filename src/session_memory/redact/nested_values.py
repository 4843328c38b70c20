"""Mask the secrets in nested values: structs, dicts and lists of texts.

A shortened text may end in half a secret, which no rule matches. So if a text ends in an ellipsis,
its last word is removed, unless that is short.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from session_memory.redact.masking import mask

Mask = Callable[[str], str]
DEEPEST = 60
_LONGEST_TITLE = 400
_CUT_WORD = re.compile(r"[^\s…]{12,}…\Z")
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


def mask_cut(text: str, mask: Mask = mask) -> str:
    """``text`` with its secrets masked, also if it was cut in the middle of one."""
    if len(text) <= _LONGEST_TITLE and "\n" not in text and " " in text:
        # In a title, the line breaks of a wrapped secret have become blanks.
        broken = text.replace(" ", "\n")
        masked = mask(broken)
        text = text if masked == broken else masked.replace("\n", " ")
    text = mask(text)
    return _CUT_WORD.sub("…", text) if text.endswith("…") else text


def is_lines(values: Any) -> bool:
    return len(values) > 1 and all(isinstance(one, str) and "\n" not in one for one in values)


def mask_lines(lines: Sequence[str], mask: Mask = mask) -> list[str]:
    """Mask texts that may be lines of one text. The result may have fewer lines.

    A private key is recognized only by all of its lines together.
    """
    masked = mask("\n".join(lines)).split("\n") if lines else []
    return [mask_cut(line, str) for line in masked]


def mask_values(value: Any, mask: Mask = mask, depth: int = 0) -> Any:
    """The same value with every text in it masked, at any depth. Ids and times stay."""
    match value:
        case str():
            return mask_cut(value, mask)
        case _ if depth > DEEPEST:
            return "…"
        case msgspec.Struct():
            fields = {name: getattr(value, name) for name in value.__struct_fields__}
            return type(value)(**_masked_fields(fields, mask, depth))
        case dict():
            masked = _masked_fields(value, mask, depth)
            return {mask_values(key, mask, depth + 1): item for key, item in masked.items()}
        case list() | tuple() if is_lines(value):
            return type(value)(mask_lines(value, mask))
        case list() | tuple():
            return type(value)([mask_values(item, mask, depth + 1) for item in value])
    return value


def _masked_fields(fields: dict[str, Any], mask: Mask, depth: int) -> dict[str, Any]:
    return {
        name: item if name in _UNMASKED_FIELDS else mask_values(item, mask, depth + 1)
        for name, item in fields.items()
    }
