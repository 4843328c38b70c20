"""Compare values with the names, patterns and parts of names that filters contain."""

from fnmatch import fnmatchcase


def is_like(value: str | None, pattern: str | None) -> bool:
    """Whether ``value`` matches a name or a pattern (``web*``), without regard to case.

    The pattern None matches everything.
    """
    if pattern is None:
        return True
    return value is not None and fnmatchcase(value.casefold(), pattern.casefold())


def holds(value: str | None, part: str | None) -> bool:
    """Whether ``value`` contains ``part``, without regard to case. If ``part`` is None: true."""
    if part is None:
        return True
    return value is not None and part.casefold() in value.casefold()


def names_model(model: str | None, part: str | None) -> bool:
    """Whether a model's name contains ``part``, which may have ``*`` and ``?``."""
    if part is None:
        return True
    # "[" would start a set of characters, but model names contain it ("[1m]"), so it is escaped.
    return is_like(model, f"*{part.replace('[', '[[]')}*")
