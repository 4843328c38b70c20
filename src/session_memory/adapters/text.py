"""Short texts out of long ones."""

SUMMARY = 80


def one_line(text: str, length: int = SUMMARY) -> str:
    """The beginning of ``text`` on one line, blanks collapsed."""
    line = " ".join(text[: length * 2].split())
    if len(line) > length or len(text) > length * 2:
        line = line[: length - 1] + "…"
    return line
