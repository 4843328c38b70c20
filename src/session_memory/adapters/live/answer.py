"""Which answer a usage belongs to: some runtimes write it down before the message, some after."""

import msgspec

from session_memory.adapters.base import NativeUsage


class LastAnswer(msgspec.Struct, array_like=True):
    """``is_waiting``: an answer was given and nothing says yet what it used; ``used``: the other
    way round."""

    is_waiting: bool = False
    used: NativeUsage | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(LastAnswer).decode


def saved(answer: LastAnswer) -> str:
    return _encode(answer).decode()


def restored(state: str) -> LastAnswer:
    return _decode(state) if state else LastAnswer()
