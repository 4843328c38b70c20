"""Detect tools that were called with wrong arguments twice or more in a session."""

import re
from collections import defaultdict
from collections.abc import Iterator

from session_memory.learn.detector import SessionDetector
from session_memory.learn.digest import Digest, ErrorSnippet
from session_memory.learn.signal import Signal, signal

OFTEN = 2
_ARGUMENTS = re.compile(
    r"""InputValidationError | invalid_?\ ?(?:tool\ )?(?:arguments?|parameters?|input)\b
    | required\ parameter | missing\ (?:required|field|\d+\ required)
    | unexpected\ (?:parameter|keyword) | failed\ to\ parse\ (?:function\ )?arguments
    | not\ valid\ json | unknown\ (?:field|parameter|tool) | no\ such\ tool
    | schema\ validation | is\ not\ of\ type | expected\ (?:string|object|array|number)
    | invalid\ patch | does\ not\ match\ the\ schema""",
    re.IGNORECASE | re.VERBOSE,
)


def schema_thrash(digest: Digest) -> Iterator[Signal]:
    by_tool: dict[str, list[ErrorSnippet]] = defaultdict(list)
    for error in digest.error_snippets:
        if error.tool is not None and _ARGUMENTS.search(error.sample):
            by_tool[error.tool].append(error)
    for tool, errors in sorted(by_tool.items()):
        times = sum(error.count for error in errors)
        if times >= OFTEN:
            yield signal(
                digest,
                "schema_thrash",
                locus=tool,
                magnitude=times,
                detail=f"{tool} called wrongly {times} times: {errors[0].sample}",
                evidence=tuple(uid for error in errors for uid in error.event_uids)[:5],
                tokens=sum(error.tokens for error in errors),
            )


DETECTOR = SessionDetector(
    type="schema_thrash",
    title="A tool is called with wrong arguments",
    advice="Show the agent a correct call of {locus}.",
    find=schema_thrash,
    about_session=True,
)
