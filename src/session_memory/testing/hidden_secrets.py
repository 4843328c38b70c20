"""Hide secrets in texts as real logs do: by colours, escapes, invisible characters, line breaks.

`FORMS` changes the text of a secret, `SPELLINGS` writes a text into a line of JSON, and `seen`
returns what a reader of the result sees.
"""

import json
import re
from collections.abc import Callable

from session_memory.testing.secrets import Planted

Form = Callable[[str], str]
"""A function that returns the characters with which a secret is shown in a text."""


def _coloured(start: str, end: str) -> Form:
    return lambda secret: f"{start}{secret}{end}"


def _inside(sequence: str, places: int = 1) -> Form:
    def form(secret: str) -> str:
        size = max(len(secret) // (places + 1), 1)
        parts = [secret[at : at + size] for at in range(0, size * places, size)]
        return sequence.join((*parts, secret[size * places :]))

    return form


def _highlighted(secret: str) -> str:
    """Colour a part of the secret, as grep marks a match."""
    return f"{secret[:2]}\x1b[01;31m\x1b[K{secret[2:5]}\x1b[m\x1b[K{secret[5:]}"


FORMS: dict[str, Form] = {
    "plain": str,
    "colour before": _coloured("\x1b[32m", ""),
    "colour around": _coloured("\x1b[1;38;5;208m", "\x1b[0m"),
    "colour and charset": _coloured("\x1b[32m", "\x1b(B\x1b[m"),
    "colour inside": _inside("\x1b[31m", 3),
    "highlighted": _highlighted,
    "every letter coloured": lambda secret: "".join(
        f"\x1b[3{n % 8}m{c}" for n, c in enumerate(secret)
    ),
    "bold by overstrike": lambda secret: "".join(f"{c}\b{c}" for c in secret),
    "link": _coloured("\x1b]8;;https://x.local/\x1b\\", "\x1b]8;;\x1b\\"),
    "title before": _coloured("\x1b]0;a title\x07", ""),
    "cursor moved before": _coloured("\x1b[4C", "\x1b[2C"),
    "eight-bit colour": _coloured("\x9b32m", "\x9b0m"),
    "colour as \\x1b": _coloured("\\x1b[32m", "\\x1b[0m"),
    "colour as \\033": _coloured("\\033[32m", "\\033[0m"),
    "colour as \\e": _coloured("\\e[32m", "\\e[0m"),
    "colour as \\u001b": _coloured("\\u001b[32m", "\\u001b[0m"),
    "colour as ^[": _coloured("^[[32m", "^[[0m"),
    "colour as a sign": _coloured("\u241b[32m", "\u241b[0m"),
    "colour without ESC": _coloured("[1;32m", "[0m"),
    "zero width space": _inside("\u200b", 2),
    "soft hyphen": _inside("\xad", 2),
    "byte order mark": _coloured("\ufeff", ""),
    "word joiner": _inside("\u2060"),
    "control characters": _inside("\x0f\x00"),
    "first letter as a code": lambda secret: f"\\x{ord(secret[0]):02x}{secret[1:]}",
    "octal codes": lambda secret: "".join(f"\\{ord(c):03o}" for c in secret),
    "entities": lambda secret: "".join(f"&#{ord(c)};" for c in secret),
}


def _json(text: str) -> str:
    return json.dumps({"content": [{"text": text}]}, ensure_ascii=False)


def _first_letter(planted: str, text: str) -> str:
    inner = json.dumps(planted)[1:-1]
    code = f"\\u{ord(planted[0]):04x}"
    return _json(text).replace(inner, code + inner[1:])


def _every_letter(_: str, text: str) -> str:
    codes = "".join(f"\\u{unit:04X}" for unit in _units(text))
    return f'{{"content": [{{"text": "{codes}"}}]}}'


def _units(text: str) -> list[int]:
    data = text.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[at : at + 2]) for at in range(0, len(data), 2)]


def _html_safe(_: str, text: str) -> str:
    """Write JSON with the escapes that Go and PHP use."""
    line = _json(text).replace("/", "\\/")
    for sign in "&<>'=+":
        line = line.replace(sign, f"\\u{ord(sign):04x}")
    return line


SPELLINGS: dict[str, Callable[[str, str], str]] = {
    "json": lambda _, text: _json(text),
    "ascii json": lambda _, text: json.dumps({"text": text}),
    "first letter escaped": _first_letter,
    "every letter escaped": _every_letter,
    "safe for html": _html_safe,
    "json in json": lambda _, text: json.dumps({"text": json.dumps([text])}),
    "every letter escaped in json in json": lambda _, text: json.dumps(
        {"line": _every_letter("", text)}
    ),
}


def wrapped(planted: Planted, width: int, at: int, line: str = "\n") -> str:
    """Return the text as a terminal of this width wraps it: a line ends before character ``at`` of
    the secret.

    Words fill the line before the text. ``line`` is the line break.
    """
    before, _, after = planted.text.partition(planted.secret)
    padding = ("some words of a prompt " * 20)[: max(width - at - len(before), 0)]
    rest = planted.secret[at:]
    lines = [rest[start : start + width] for start in range(0, len(rest), width)]
    return line.join((f"{padding}{before}{planted.secret[:at]}", *lines)) + after


_UNSEEN = re.compile(
    "(?:\x1b|\\\\{1,8}x1b|\\\\{1,8}033|\\\\{1,8}e|\\\\{1,8}u001b|\\^\\[|\u241b)"
    "(?:\\[[0-9;]*[A-Za-z]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|\\(B)"
    "|\x9b[0-9;]*m|\\[[0-9;]+m|[\x00-\x08\x0e-\x1f\xad\u200b\u2060\ufeff]"
)


def seen(text: str) -> str:
    """Return a text without everything that hides a secret in it.

    This code is independent of the masking rules that it tests.
    """
    for _ in range(4):
        text = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), text)
        text = re.sub(r"\\+x([0-9a-fA-F]{2})", lambda m: chr(int(m[1], 16)), text)
    text = re.sub(r"\\+([01][0-7]{2})", lambda m: chr(int(m[1], 8)), text)
    text = re.sub(r"&#(\d+);", lambda m: chr(int(m[1])), text)
    text = re.sub("(.)\b\\1", r"\1", text)
    text = re.sub(r"\\+b", "\b", text)
    text = re.sub("(.)\b\\1", r"\1", text)
    return re.sub(r"\\+(?:[rn]|(/))|[\r\n]", r"\1", _UNSEEN.sub("", text))


def leaked(planted: Planted, text: str) -> str:
    """Return a part of the secret that a reader of the text sees; "" if there is none."""
    readable = seen(text)
    lines = planted.secret.split("\n")
    # The first and the last line of a key are no secret.
    body = "".join(lines[1:-1]) if lines[0].startswith("-----") else "".join(lines)
    size = min(len(body), 12)
    parts = (body[at : at + size] for at in range(len(body) - size + 1))
    return next((part for part in parts if part in readable), "")
