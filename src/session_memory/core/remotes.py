"""Find the name of a repository in the URL of its remote."""

import re

from session_memory.core.text import escaped, one_line

LONGEST_NAME = 100
# A URL longer than this is no URL of a repository.
_LONGEST_URL = 2_000
_AFTER_PATH = re.compile(r"[?#].*", re.DOTALL)


def remote_name(url: object) -> str | None:
    """The last part of a remote's URL, without ``.git``; None if ``url`` has no usable name.

    The name is the same on every machine, for ssh and https. It never holds the credentials that
    some URLs contain.
    """
    if not isinstance(url, str) or len(url) > _LONGEST_URL:
        return None
    text = url.strip().replace("\\", "/")
    scheme, mark, rest = text.partition("://")
    if mark:
        # The part before the first slash is the machine, perhaps with a user and a password.
        text = _AFTER_PATH.sub("", rest).partition("/")[2]
    elif scheme and ":" in text.partition("/")[0]:
        # ``git@machine:owner/name.git``, or a path on Windows.
        text = text.partition(":")[2]
    name = text.rstrip("/").rpartition("/")[2].removesuffix(".git")
    name = one_line(escaped(name), LONGEST_NAME).strip()
    return name if name.strip(".") and "@" not in name else None
