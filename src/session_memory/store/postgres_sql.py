"""Our SQL with ``:named`` parameters, as psycopg wants it."""

import re
from functools import lru_cache

_MARKS = re.compile(r"'(?:[^']|'')*'|::|:([a-z_]\w*)|%")


@lru_cache(maxsize=1024)
def to_psycopg(sql: str) -> bytes:
    """``:name`` → ``%(name)s``. Texts, casts and percent signs keep their meaning."""
    return _MARKS.sub(_mark, sql).encode()


def _mark(match: re.Match[str]) -> str:
    return f"%({match[1]})s" if match[1] else match[0].replace("%", "%%")
