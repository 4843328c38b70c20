"""A failed call with one of its errors, and what the error is about."""

import re
from functools import lru_cache
from typing import NamedTuple

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.learn.digest.actions import Action
from session_memory.learn.digest.error_lines import CHECKED, ErrorLine

_CALL = lazy_pattern(
    r"""(?i)\b(?: unknown | unrecogni[sz]ed | unexpected\ argument | illegal\ option | invalid
      \ (?:option|value|argument) | not\ found | no\ such | no\ rule | no\ matches
      | permission | permitted
      | denied | eperm | eacces | publickey | authenticat\w+ | could\ not\ resolve
      | couldn't\ connect
      | enotfound | econnrefused | timed\ out | timeout | connecting | not\ a\ git | pathspec
      | ambiguous | usage | unsupported | ignored\ by | rejected | already\ exists | syntax\ error
      | problem\ with\ the\ editor | terminal\ is\ dumb
      | no\ tests?\ (?:ran|found|files?\ found) | cannot\ open | cannot\ lock | unable\ to
      | (?:not\ |un)trusted | dubious\ ownership )\b""",
    re.VERBOSE,
)
_FILE = lazy_pattern(r"[\w-]+(?:\.[\w-]+)*\.\w{1,8}\b")


class FailedCall(NamedTuple):
    """An error, and the last call that failed with it or with another error of its kind.

    For an error that a person reported, ``action`` is the first call after the report.
    """

    error: ErrorLine
    action: Action

    @property
    def is_about_call(self) -> bool:
        """Whether the call itself was wrong or not allowed, rather than the files it checked."""
        error = self.error
        if error.about in CHECKED:
            return False
        return error.about == "call" or _tells_of_call(error.text)

    @property
    def files(self) -> frozenset[str]:
        """The names of the files in the failed command."""
        is_known = self.action.is_shell and bool(self.action.errors)
        return frozenset(_FILE.findall(self.action.command) if is_known else ())

    @property
    def is_of_edit(self) -> bool:
        return not self.action.is_shell


@lru_cache(maxsize=500)
def _tells_of_call(text: str) -> bool:
    return _CALL.search(text) is not None
