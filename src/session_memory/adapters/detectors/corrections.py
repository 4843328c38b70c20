"""Recognize prompts in which a person corrects the agent."""

import re

from session_memory.core.lazy_patterns import lazy_pattern

# People also type typographic apostrophes, or none.
_CORRECTION = lazy_pattern(
    r"""[\s"'*>(“‘-]*+
    (?: no | stop | wait | don['’]?t | actually | undo | revert | that(?:['’]?s|\ is)\ wrong )
    (?! [\w'’-] )""",
    re.IGNORECASE | re.VERBOSE,
)


def is_soft_correction(prompt: str) -> bool:
    """Whether a prompt after a finished turn begins like a correction: "no", "wait", "undo".

    The sign is weak: "wait for the build" begins the same way.
    """
    return _CORRECTION.match(prompt) is not None
