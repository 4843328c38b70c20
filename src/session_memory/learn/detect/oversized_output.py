"""Detect very long tool results, which fill the context."""

from collections import defaultdict
from collections.abc import Iterator

from session_memory.learn.detector import SessionDetector
from session_memory.learn.digest import Digest, LargeOutput
from session_memory.learn.digest.steps import program_of
from session_memory.learn.signal import ESTIMATED, Signal, signal

CHARACTERS_IN_A_TOKEN = 4


def oversized_output(digest: Digest) -> Iterator[Signal]:
    by_source: dict[str, list[LargeOutput]] = defaultdict(list)
    for output in digest.outputs:
        by_source[program_of(output.tool, output.call)].append(output)
    for source, outputs in sorted(by_source.items()):
        size = sum(output.size for output in outputs)
        yield signal(
            digest,
            "oversized_output",
            locus=source,
            magnitude=len(outputs),
            detail=f"{size:,} characters from {_call_of(outputs[0]) or source}",
            evidence=tuple(output.event_uid for output in outputs[:5]),
            tokens=size // CHARACTERS_IN_A_TOKEN,
            basis=ESTIMATED,
        )


def _call_of(output: LargeOutput) -> str:
    """Return the call, with the tool's name if the tool is that of an MCP server.

    The arguments of such a tool, such as an id, do not say what was called.
    """
    server, _, name = (output.tool or "").rpartition("__")
    return f"{name} {output.call}".strip() if server.startswith("mcp") else output.call


DETECTOR = SessionDetector(
    type="oversized_output",
    title="Outputs fill the context",
    advice="Let {locus} print less: head, tail, a filter, a line range.",
    find=oversized_output,
    about_tool=True,
)
