"""Text that every database can hold, and short texts out of long ones."""

SUMMARY = 80


def one_line(text: str, length: int = SUMMARY) -> str:
    """The beginning of ``text`` on one line, blanks collapsed."""
    line = text[: length + 1]
    if not line.isprintable() or "  " in line:
        line = " ".join(text[: length * 2].split())
    return line if len(line) <= length else line[: length - 1] + "…"


def escaped(text: str) -> str:
    """NUL and lone surrogates, which PostgreSQL refuses, as escapes that one can see."""
    if text.isascii() and "\0" not in text:
        return text
    text = text.replace("\0", "\\u0000")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text
