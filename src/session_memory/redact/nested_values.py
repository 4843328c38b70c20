"""Values of many texts with their secrets masked: what a program is told, a digest, an export.

A text that was cut may end in half a secret, which no rule knows: of a text that ends in an
ellipsis the last word goes, unless it is short.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from session_memory.redact.masking import mask

Mask = Callable[[str], str]
DEEPEST = 60
_CUT_WORD = re.compile(r"[^\s…]{12,}…\Z")
# Names of things we made ourselves, by which others are found.
_NAMES = frozenset(
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
    """``text``, which may have been cut, without the secrets in it."""
    text = mask(text)
    return _CUT_WORD.sub("…", text) if text.endswith("…") else text


def is_lines(values: Any) -> bool:
    return len(values) > 1 and all(isinstance(one, str) and "\n" not in one for one in values)


def mask_lines(lines: Sequence[str], mask: Mask = mask) -> list[str]:
    """Texts that may be lines of one: a key is only known by all of its lines, and fewer remain."""
    masked = mask("\n".join(lines)).split("\n")
    return [mask_cut(line, str) for line in masked]


def mask_values(value: Any, mask: Mask = mask, depth: int = 0) -> Any:
    """The same value with every text in it masked, at any depth. Ids and moments stay."""
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
        name: item if name in _NAMES else mask_values(item, mask, depth + 1)
        for name, item in fields.items()
    }
