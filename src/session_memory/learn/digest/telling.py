"""Pick what matters from texts: the names in them, the telling lines, the telling sentence."""

import re
from collections.abc import Sequence
from functools import lru_cache

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.core.text import escaped, one_line
from session_memory.redact import mask

SAID = 240
_NAME = lazy_pattern(r"[A-Za-z_$@][\w$@-]*(?:\.[A-Za-z_][\w-]*)*")
_QUOTED = lazy_pattern(r"""[`'"‘“]([\w$@./ -]{2,60})[`'"’”]""")
_PARTED = lazy_pattern(r"[a-z][A-Z]|_\w|\w-\w|\w\.\w|[A-Za-z]\d|[A-Z]{2,}")
_COMMON_WORDS = """
    string number boolean undefined null true false object array error errors type types test
    tests file files line node_modules src lib index main app console process users home tmp
    var private typeerror syntaxerror referenceerror assertionerror err_assertion promise json
    https http www com org github.com localhost name value data result this self
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def names_in(text: str) -> frozenset[str]:
    """Return the identifiers, file names and quoted words of a text, in lower case.

    Common words such as "error" and plain words are left out.
    """
    return _names_in(text[:20_000])


@lru_cache(maxsize=128)
def _names_in(text: str) -> frozenset[str]:
    """Do the work of `names_in`. Results are cached, because every call after an error is compared
    with the same text."""
    found: set[str] = set()
    for name in set(_NAME.findall(text)):
        if len(name) > 3 and not _is_word(name) and _PARTED.search(name):
            found.add(name.lower())
            if "." in name:
                found.update(part for part in name.lower().split(".") if len(part) > 4)
    for quoted in set(_QUOTED.findall(text[:4_000])):
        found.update(part for part in re.split(r"[\s/.]+", quoted.lower()) if len(part) > 3)
    return frozenset(found - _COMMON)


def _is_word(name: str) -> bool:
    """Whether a name is a plain word of one part. Most names are, and this check is quick."""
    return name.isalpha() and name[1:].islower()


def named_in(text: str, names: frozenset[str]) -> frozenset[str]:
    """Return those of ``names`` that a text contains. Faster than `names_in` for most texts."""
    lowered = text.lower()
    return names & names_in(text) if any(name in lowered for name in names) else frozenset()


def telling_lines(lines: Sequence[str], names: frozenset[str], most: int) -> list[str]:
    """Return at most ``most`` lines of a change, in order.

    These are the added lines with one of ``names``, and the lines around them. If there are none,
    the removed lines with a name are taken, or else the first changed lines.
    """
    if len(lines) <= most or most <= 0:
        return list(lines[: max(0, most)])
    named = [place for place, line in enumerate(lines) if named_in(line, names)]
    marked = (
        [place for place in named if lines[place][:1] == "+"]
        or [place for place in named if lines[place][:1] == "-"]
        or [place for place, line in enumerate(lines) if line[:1] in ("+", "-")][:most]
        or named
    )
    kept: set[int] = set()
    for place in marked:
        for near in (place, place - 1, place + 1, place + 2):
            if 0 <= near < len(lines) and len(kept) < most:
                kept.add(near)
    if not kept:
        kept = set(range(most))
    return [lines[place] for place in sorted(kept)]


def said_in(text: str) -> str:
    """Return the last sentences of a message, at most `SAID` characters, with secrets masked.

    There a model often announces what it does next.
    """
    paragraphs = [one.strip() for one in re.split(r"\n\s*\n", text) if one.strip()]
    if text.lstrip().startswith(("{", "[{")):
        # A message in JSON is written for a program, and tells a reader nothing.
        return ""
    plain = [one for one in paragraphs if not one.startswith(("#", "|", "```"))]
    chosen = plain[-1] if plain else paragraphs[-1] if paragraphs else ""
    if len(plain) > 1 and len(chosen) < 60:
        chosen = f"{plain[-2]} {chosen}"
    chosen = " ".join(chosen.split())
    if len(chosen) > SAID:
        sentences = re.split(r"(?<=[.!?])\s+|(?<=[。！？])\s*", chosen)
        last = ""
        for sentence in reversed([one for one in sentences if one]):
            if last and len(last) + len(sentence) > SAID:
                break
            last = f"{sentence} {last}".strip()
        chosen = last or chosen
    return one_line(escaped(mask(chosen)), SAID)
