"""Check a message and turn it into the columns of its row."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from session_memory.core.errors import InvalidRecord
from session_memory.core.text import escaped, short_repr
from session_memory.live.arguments import mapping
from session_memory.live.blocks import written_text
from session_memory.live.connection import from_json, to_json

TITLE = 48
_ROLES = frozenset({"user", "assistant", "system", "tool"})
# Fields of a message that have no column are kept in its ``meta``, under this name.
OTHER_KEYS = "message_keys"
_FIELDS = frozenset(
    {"role", "content", "tool_calls", "tool_call_id", "name", "round_index", "meta"}
)
# A longer message is stored in a body of its own. Equal bodies are stored once.
LONGEST_INLINE = 64 * 1024
PREVIEW = 2000

Message = Mapping[str, Any]
EncodedMessage = tuple[tuple[Any, ...], bytes | None]
"""The columns of a message's row from ``stands_after`` on, and its body if that is stored apart."""


def encode_message(message: Message, at: int, stands_after: int | None = None) -> EncodedMessage:
    if not isinstance(message, Mapping):
        raise InvalidRecord(
            f"a message must be a mapping, not {short_repr(message)}", field="message"
        )
    given = message.get
    meta = given("meta")
    if not _FIELDS.issuperset(message):
        others = {name: message[name] for name in message if name not in _FIELDS}
        meta = {**mapping({} if meta is None else meta, "meta"), OTHER_KEYS: others}
    return encode_fields(
        *(
            given("role"),
            given("content"),
            given("tool_calls"),
            given("tool_call_id"),
            given("name"),
        ),
        *(given("round_index"), meta, at, stands_after),
    )


def encode_fields(
    role: Any,
    content: Any,
    calls: Any,
    call_id: Any,
    name: Any,
    round_index: Any,
    meta: Any,
    at: int,
    stands_after: int | None = None,
) -> EncodedMessage:
    if not isinstance(role, str) or not role:
        raise InvalidRecord(f"role must be a text, not {short_repr(role)}", field="role")
    if isinstance(content, str):
        text, blocks = _in_text(content)
    else:
        text, blocks = None, None if content is None else to_json(content, "content")
    if calls is not None:
        calls = _listed(calls)
    if meta is not None:
        meta = _mapped(meta)
    body = digest = None
    if len(text or "") + len(blocks or "") + len(calls or "") > LONGEST_INLINE:
        exact = to_json(content, "content") if blocks is None else blocks
        body = f"[{exact},{calls or 'null'}]".encode()
        digest = sha256(body).digest()
        text, blocks, calls = escaped(written_text(content)[:PREVIEW]), None, None
    name = None if name is None else _text(name, "name")
    call_id = None if call_id is None else _text(call_id, "tool_call_id")
    role = role if role in _ROLES else _text(role, "role")
    number = None if round_index is None else _whole_number(round_index)
    return (
        (stands_after, role, name, text, blocks, calls, call_id, number, meta, digest, at),
        body,
    )


def _in_text(content: str) -> tuple[str, str | None]:
    """Return the text to store, and the exact JSON if the database cannot store that text."""
    text = escaped(content)
    return text, None if text is content or text == content else to_json(content, "content")


def _listed(calls: Any) -> str | None:
    if not isinstance(calls, list | tuple):
        raise InvalidRecord(
            f"tool_calls must be a list, not {short_repr(calls)}", field="tool_calls"
        )
    return to_json(calls, "tool_calls") if calls else None


def _mapped(meta: Any) -> str | None:
    if not isinstance(meta, Mapping):
        raise InvalidRecord(f"meta must be a mapping, not {short_repr(meta)}", field="meta")
    return to_json(meta, "meta") if meta else None


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise InvalidRecord(f"{field} must be a text, not {short_repr(value)}", field=field)
    return escaped(str.__str__(value))


def _whole_number(number: Any) -> int:
    if isinstance(number, int) and not isinstance(number, bool) and abs(number) < 2**63:
        return number
    raise InvalidRecord(
        f"round_index must be a whole number, not {short_repr(number)}", field="round_index"
    )


def title_of(columns: tuple[Any, ...]) -> str | None:
    """Return a prompt as a title: its start on one line. None for a result or an injected text."""
    _, role, _, text, blocks, _, call_id, _, meta = columns[:9]
    if role != "user" or call_id is not None or (meta and from_json(meta).get("synthetic")):
        return None
    prompt = text if text is not None else written_text(from_json(blocks)) if blocks else ""
    return escaped(" ".join(prompt.split())[:TITLE]) or None


def key_digest(key: str) -> bytes:
    """Return a hash of the key of an append: keys may be long, and index entries must be short."""
    if not isinstance(key, str):
        raise InvalidRecord(f"key must be a text, not {short_repr(key)}", field="key")
    return sha256(key.encode("utf-8", "surrogatepass")).digest()
