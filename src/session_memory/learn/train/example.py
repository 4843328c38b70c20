"""The types of the export: a training example, a refused one, and a filter of examples."""

from typing import Any

import msgspec

from session_memory.learn.train import gate

SFT, CHAT, DPO = "sft", "chat", "dpo"
KINDS = (SFT, CHAT, DPO)


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a data set, and its source.

    ``text`` is compared to find duplicates. ``origin`` is the project, which decides the split.
    ``event_uids`` are the events that prove the success.
    """

    kind: str
    row: dict[str, Any]
    score: int
    origin: str
    text: str
    session_uid: str
    event_uids: tuple[str, ...] = ()


class RefusedExample(msgspec.Struct, frozen=True):
    kind: str
    reason: str


class ExampleFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which kinds of examples to make, whether with tool calls, and the longest example."""

    kinds: tuple[str, ...] = KINDS
    tools: bool = True
    most_characters: int = gate.MOST_CHARACTERS
