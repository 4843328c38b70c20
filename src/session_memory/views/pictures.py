"""Read the pictures that are inside a log: PNG, JPEG, GIF and WebP only.

A log may say that anything is a picture, so its first bytes decide about the type. A picture that
the log only links to is never fetched.
"""

import base64
import binascii
from itertools import islice

import msgspec

from session_memory.core.schema import SessionEvent
from session_memory.store import Store
from session_memory.views.payloads import Payloads

MOST_BYTES = 20 * 1024 * 1024
TYPES = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


class Picture(msgspec.Struct, frozen=True):
    """The bytes of a picture. ``media_type`` is one of ``TYPES``."""

    media_type: str
    data: bytes


def picture(store: Store, holder: str, event: SessionEvent, number: int) -> Picture | None:
    """Return picture ``number`` (from 0) of an event; None if it cannot be shown.

    ``holder`` is the uid of the session with the event.
    """
    found = islice(Payloads(store, holder).encoded_images(event), number, number + 1)
    encoded = next((data for _, data in found), "")
    if not encoded or len(encoded) > MOST_BYTES * 4 // 3 + 4:
        return None
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
    media_type = type_of(data)
    return None if media_type is None else Picture(media_type, data)


def type_of(data: bytes) -> str | None:
    """Return the media type of a picture by its first bytes; None for any other type."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None
