"""The digest: a summary of one session with its outcome, errors, fixes, tests, files and cost.

A digest is a pure function of the session's events, usage and prices. It holds no clock time, no
row id and nothing about other sessions, so a rebuild gives the same bytes. Every list has a maximum
length. Texts from the transcript are untrusted; secrets in them are masked before texts are cut.

Every module in this package takes part in making digests. `session_memory.learn.version` hashes
their source code, so that a change of the code makes stored digests outdated.
"""

from session_memory.core.late_names import late_names
from session_memory.learn.digest.digest_version import DIGEST_VERSION

TYPE_CHECKING = False  # Type checkers take it for true: see `core.late_names`.
if TYPE_CHECKING:
    from session_memory.learn.digest.values import (
        CommandUse,
        ContextSize,
        Counted,
        Digest,
        ErrorSnippet,
        FileUse,
        LargeOutput,
        Markers,
        Repeat,
        Resolution,
        SessionCost,
        SessionOutcome,
        Statement,
        TestRun,
        TimeSplit,
        ToolUse,
        Undone,
        decoded,
        encoded,
    )

__all__ = [
    "CommandUse",
    "ContextSize",
    "Counted",
    "DIGEST_VERSION",
    "Digest",
    "ErrorSnippet",
    "FileUse",
    "LargeOutput",
    "Markers",
    "Repeat",
    "Resolution",
    "SessionCost",
    "SessionOutcome",
    "Statement",
    "TestRun",
    "TimeSplit",
    "ToolUse",
    "Undone",
    "decoded",
    "encoded",
]

__getattr__ = late_names(__name__, dict.fromkeys(__all__, "values"))
