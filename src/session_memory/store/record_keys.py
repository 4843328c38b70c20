"""Keys of records: how the identity of a native record is stored.

A key has 16 bytes when the native id is a UUID. Every other key is longer or shorter and begins
with ``=`` (a native id) or ``@`` (the place of a record without an id).

When records with the same native id differ in content, one content has this key. Each other content
has a variant of the key: ``~`` or ``!``, the content's hash, and the key.
"""

from session_memory.core.text import escaped

_OTHER, _SECOND = b"~!"
_VARIANT_LENGTH = 17


def record_key(native_id: str) -> bytes:
    """The key of a record with a native id: the 16 bytes of a UUID, else ``=`` and the id."""
    if len(native_id) == 36 and native_id[8] == native_id[13] == native_id[18] == "-":
        digits = native_id.replace("-", "")
        try:
            key = bytes.fromhex(digits)
        except ValueError:
            key = b""
        # A UUID in capital letters is stored as text, because its bytes do not tell capital letters
        # from small ones.
        if key.hex() == digits and len(key) == 16 and native_id[23] == "-":
            return key
    return _prefixed(b"=", native_id)


def place_key(place: str) -> bytes:
    """The key of a record without a native id: ``@`` and its place."""
    return _prefixed(b"@", place)


def _prefixed(prefix: bytes, text: str) -> bytes:
    key = prefix + escaped(text).encode()
    return key if len(key) != 16 else prefix + key


def variant_key(key: bytes, content: int, *, is_second: bool) -> bytes:
    """The key of a record with the same native id as another record, but other content.

    ``is_second``: its session owns another record with this id, which was read before. So the
    event_uid must have the content's hash. A variant has at least 19 bytes: it is no UUID.
    """
    return b"%c%016x%b" % (_SECOND if is_second else _OTHER, content, key)


def is_variant(key: bytes) -> bool:
    """Whether a key was made by `variant_key`."""
    return len(key) != 16 and key[0] in (_OTHER, _SECOND)


def without_variant(key: bytes) -> bytes:
    """The key of a native id, given the key of any record with this id."""
    return key[_VARIANT_LENGTH:] if is_variant(key) else key


def is_place(key: bytes) -> bool:
    """Whether a key was made by `place_key`."""
    return len(key) != 16 and key.startswith(b"@")


def uuid_text(key: bytes) -> str:
    text = key.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def identity_of(key: bytes) -> str:
    """The native id or place that a key was made of."""
    key = without_variant(key)
    return uuid_text(key) if len(key) == 16 else key.lstrip(key[:1]).decode()


def event_uid(record: bytes, block: int) -> str:
    """The identity of an event inside its session. It never changes."""
    if len(record) == 16:
        return f"{uuid_text(record)}:{block}"
    if record[0] == _SECOND:
        content = record[1:_VARIANT_LENGTH].decode()
        return f"{identity_of(record)}~{content}:{block}"
    return f"{identity_of(record)}:{block}"
