"""What settling asks about the stored events of its session."""

from typing import Protocol

import msgspec

from session_memory.derive.settle.state import PathPrompt


class StoredResult(msgspec.Struct, gc=False):
    """The columns of a stored tool result that a late outcome may change."""

    seq: int
    kind: str
    marks: str
    is_error: bool
    exit_code: int | None


class EarlierEvents(Protocol):
    """Answers what settling asks about the stored events of one session."""

    def last_seq(self, native_id: str) -> int | None:
        """The seq of the last event of the record with this native id."""
        ...

    def is_abandoned(self, seq: int) -> bool:
        """Whether an event lies on an abandoned branch."""
        ...

    def result_of(self, call_id: str) -> StoredResult | None:
        """The stored result of a call."""
        ...

    def prompts(self) -> list[PathPrompt]:
        """Every stored prompt that was not taken back, in order."""
        ...
