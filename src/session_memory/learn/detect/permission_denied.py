"""Detect programs and tools that were refused twice or more in a session.

A person, a rule or a sandbox can refuse them.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from session_memory.learn.detector import SessionDetector
from session_memory.learn.digest import Digest, ErrorSnippet
from session_memory.learn.digest.steps import program_of
from session_memory.learn.signal import Signal, signal

OFTEN = 2
_REFUSED = re.compile(
    r"""requested\ permissions? | haven['’]?t\ granted | user\ rejected | doesn['’]?t\ want\ to
    | tool\ use\ was\ rejected | denied\ by | permission\ to\ use\ .{1,60}\ has\ been\ denied
    | denied\ (?:in|by)\ (?:the\ )?sandbox | sandbox\ denied
    | not\ permitted\ by | operation\ not\ permitted | approval\ (?:denied|required)
    | requires\ approval""",
    re.IGNORECASE | re.VERBOSE,
)


def permission_denied(digest: Digest) -> Iterator[Signal]:
    refused: dict[str, list[ErrorSnippet]] = defaultdict(list)
    for error in digest.error_snippets:
        if _REFUSED.search(error.sample):
            refused[program_of(error.tool, error.call)].append(error)
    for source, errors in sorted(refused.items()):
        times = sum(error.count for error in errors)
        if times >= OFTEN:
            yield signal(
                digest,
                "permission_denied",
                locus=source,
                magnitude=times,
                detail=f"{source} refused {times} times: {errors[0].sample}",
                evidence=tuple(uid for error in errors for uid in error.event_uids)[:5],
                tokens=sum(error.tokens for error in errors),
            )


DETECTOR = SessionDetector(
    type="permission_denied",
    title="Calls are refused",
    advice="Allow {locus}, or tell the agent not to try it.",
    find=permission_denied,
    about_tool=True,
)
