"""Recognize scripts in a shell text, such as ``python -c …``, and compare them."""

import re
from functools import lru_cache

_INLINE = re.compile(
    r"\b(?:python[\d.]*|node|ruby|perl|php|deno|bash|sh|zsh|psql|mysql|mariadb|mongosh|osascript)\b"
    r"[^|;&\n]{0,80}?\s(?:-[a-z]*[ce]|-|<<)[\s'\"]"
    r"|\b(?:sqlite3|duckdb)\b[^|;&\n'\"]{0,80}?\s['\"]"
)
_CODE_NAME = re.compile(r"\w{4,}")
_COMMON_CODE = "import print from open read json python python3 node console"
_CODE_WORDS = frozenset(_COMMON_CODE.split())
_SAME_SCRIPT = 0.6


@lru_cache(maxsize=500)
def is_inline(text: str) -> bool:
    """Whether a shell text has a script in it: ``python -c …``, ``node - <<EOF``."""
    return _INLINE.search(text) is not None


def is_other_script(one: str, other: str) -> bool:
    """Whether two shell texts have scripts in them that have little in common."""
    if not (is_inline(one) and is_inline(other)):
        return False
    first, second = _names_in(one), _names_in(other)
    return len(first & second) < _SAME_SCRIPT * max(1, min(len(first), len(second)))


def is_like_script(one: str, other: str) -> bool:
    """Whether two scripts in shell texts have at least half of all their names in common."""
    first, second = _names_in(one), _names_in(other)
    return 2 * len(first & second) >= len(first | second)


def _names_in(text: str) -> set[str]:
    """Return the names in the script of a shell text, without the command that runs it."""
    found = _INLINE.search(text)
    script = text if found is None else text[found.end() :]
    return set(_CODE_NAME.findall(script)) - _CODE_WORDS
