"""Text that every database can hold."""


def escaped(text: str) -> str:
    """NUL and lone surrogates, which PostgreSQL refuses, as visible escapes, the same everywhere."""
    if text.isascii() and "\0" not in text:
        return text
    text = text.replace("\0", "\\u0000")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text
