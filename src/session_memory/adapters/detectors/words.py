"""Words of a person that tell more than they say."""

import re

# Typographic apostrophes come from phones and editors, missing ones from haste.
_CORRECTION = re.compile(
    r"""[\s"'*>(“‘-]*+
    (?: no | stop | wait | don['’]?t | actually | undo | revert | that(?:['’]?s|\ is)\ wrong )
    (?! [\w'’-] )""",
    re.IGNORECASE | re.VERBOSE,
)


def is_soft_correction(prompt: str) -> bool:
    """Whether a prompt that follows a finished turn opens by taking something back.

    A low-confidence sign: "wait for the build" opens the same way.
    """
    return _CORRECTION.match(prompt) is not None
