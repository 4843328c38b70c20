"""Check whether an earlier edit is still in the files of a checkout. If so, it cannot be the fix.

Paths and lines are from a log. Files are only read and compared, and never shown.
"""

import os
import stat

LARGEST_FILE = 2 << 20
MOST_PARTS = 20
# Shorter lines, such as a bracket, are in most files.
SHORTEST_LINE = 8


def is_in_place(root: str, paths: str, lines: "list[str]") -> bool:
    """Whether a file of the checkout has what an edit added, and not what it removed.

    ``paths`` are the edited files, with ", " between them; ``lines`` are those of the diff. False
    if nothing was added.
    """
    added, removed = _lines(lines, "+"), _lines(lines, "-")
    if not added:
        return False
    for path in paths.split(", "):
        text = _text(root, path)
        if text is None:
            continue
        known = {line.strip() for line in text.splitlines()}
        if added <= known and not (removed - added) & known:
            return True
    return False


def _lines(lines: "list[str]", sign: str) -> "set[str]":
    stripped = {line[1:].strip() for line in lines if line[:1] == sign}
    return {line for line in stripped if len(line) >= SHORTEST_LINE}


def _text(root: str, path: str) -> str | None:
    """Return the text of a file that another session edited, perhaps in another directory.

    The longest end of ``path`` that exists below ``root`` is the file.
    """
    parts = [part for part in path.replace("\\", "/").split("/") if part]
    if ".." in parts:
        return None
    for start in range(len(parts))[-MOST_PARTS:]:
        try:
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
            file = os.open(os.path.join(root, *parts[start:]), flags)
        except (OSError, ValueError):
            continue
        try:
            found = os.fstat(file)
            if stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST_FILE:
                return os.read(file, LARGEST_FILE).decode("utf-8", "replace")
        finally:
            os.close(file)
    return None
