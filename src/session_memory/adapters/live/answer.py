"""Finds the answer that a usage belongs to. Some runtimes log usage before the message, some
after."""

import msgspec

from session_memory.adapters.base import NativeUsage


class LastAnswer(msgspec.Struct, array_like=True):
    """The last answer. ``is_waiting``: its usage is not logged yet. ``used``: a usage whose answer
    is not logged yet."""

    is_waiting: bool = False
    used: NativeUsage | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(LastAnswer).decode


def saved(answer: LastAnswer) -> str:
    return _encode(answer).decode()


def restored(state: str) -> LastAnswer:
    return _decode(state) if state else LastAnswer()
