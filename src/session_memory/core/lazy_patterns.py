"""Regular expressions that are compiled when they are first used.

To compile one takes as long as to load a small module, and a command uses few of those that the
modules it loads have.
"""

import re
from typing import Any, cast


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The same as `re.compile`, later. It is no instance of `re.Pattern`."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))


class _LazyPattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Only called for what is not there yet. From then on it is as fast as the pattern itself.
        found = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, found)
        return found
