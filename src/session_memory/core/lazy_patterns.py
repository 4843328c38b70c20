"""Regular expressions that are compiled when they are first used.

This makes commands start faster. To compile a pattern takes as long as to import a small module,
and a command imports many patterns that it never uses.
"""

import re
from typing import Any, cast


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Like `re.compile`, but compile on first use. The result is no instance of `re.Pattern`."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))


class _LazyPattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Python calls this only for an attribute that is not set. Setting it makes later uses fast.
        found = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, found)
        return found
