"""Names as filters give them: whole names or patterns, and parts of names."""

from fnmatch import fnmatchcase


def is_like(value: str | None, pattern: str | None) -> bool:
    """Whether ``pattern`` is ``value`` but for case, or matches it (``web*``)."""
    if pattern is None:
        return True
    return value is not None and fnmatchcase(value.casefold(), pattern.casefold())


def holds(value: str | None, part: str | None) -> bool:
    """Whether ``part`` is anywhere in ``value``, but for case; None asks for nothing."""
    if part is None:
        return True
    return value is not None and part.casefold() in value.casefold()


def names_model(model: str | None, part: str | None) -> bool:
    """Like `holds`; a ``*`` or ``?`` in ``part`` stands for what it may."""
    if part is None:
        return True
    # A bracket in a pattern would begin a set of characters; no model is asked for by one.
    return is_like(model, f"*{part.replace('[', '[[]')}*")
