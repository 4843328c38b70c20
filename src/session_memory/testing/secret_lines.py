"""Make lines like those in logs, with a secret or with something that only looks like one.

The forms of the lines are in ``benchmarks/secret_lines.txt`` and ``harmless_lines.txt``. They were
written by hand from the manuals of the tools. In a form, ``{p}`` is a password; other names in
braces are other random texts. The same seed gives the same lines.
"""

import base64
import re
import string
import uuid
from pathlib import Path
from random import Random
from typing import NamedTuple

_MIXED = string.ascii_letters + string.digits
_LOWER = string.ascii_lowercase + string.digits
_HEX = "0123456789abcdef"
_FIELD = re.compile(r"\{(\w+)\}")


class SecretLine(NamedTuple):
    """A line, the form that it was made from, and the secrets in it."""

    text: str
    form: str
    secrets: tuple[str, ...]


def filled_lines(path: Path, seed: int = 0) -> list[SecretLine]:
    """Return a line for each form in the file ``path``."""
    return [_filled(form, seed) for form in path.read_text("utf-8").splitlines()]


def _filled(form: str, seed: int) -> SecretLine:
    values = _values(Random(f"{seed} {form}"))
    used = tuple(values[name] for name in _FIELD.findall(form) if name in values)
    text = _FIELD.sub(lambda field: values.get(field[1], field[0]), form.replace("\\n", "\n"))
    return SecretLine(text, form, used)


def _values(random: Random) -> dict[str, str]:
    def some(count: int, signs: str = _MIXED) -> str:
        return "".join(random.choices(signs, k=count))

    words = ("abandon", "ability", "able", "about", "above", "absent", "absorb", "abuse", "access")
    return {
        "p": f"{some(4)}{random.randrange(10, 99)}{some(4)}!",
        "uuid": str(uuid.UUID(some(32, _HEX))),
        "b64": base64.b64encode(b"me:" + some(14).encode()).decode(),
        "b64long": base64.b64encode(some(90).encode()).decode(),
        "b64u": some(43) + "=",
        "HEX32": some(32, _HEX).upper(),
        "B16": some(16, string.ascii_uppercase + "234567"),
        "alnum26": some(26, _LOWER),
        "r52": some(52, _LOWER),
        "l34": some(34, string.ascii_letters),
        "d9": some(9, "123456789"),
        "words": " ".join(random.choices(words, k=12)),
        "r": some(32),
        "r44": some(43),
        **{f"r{count}": some(count) for count in (6, 18, 24, 27, 33, 35, 40, 86)},
        **{f"hex{count}": some(count, _HEX) for count in (32, 37, 40, 64)},
    }
