"""The mark around text that this program gave to an agent, and how logs are read without it.

Such text quotes earlier sessions. In the log of the session that got it, it is nobody's words: no
prompt, no answer, no error, and not to be found there.
"""

MARK = "session-memory"
OPENING, CLOSING = f"<{MARK} ", f"</{MARK}>"
# Some agents escape what a hook says.
ESCAPED_OPENING, ESCAPED_CLOSING = f"&lt;{MARK} ", f"&lt;/{MARK}&gt;"
# Every closing mark has this. All texts that are collected are searched for it, once.
_HINT = f"/{MARK}"
# What hooks give is much shorter. More text between two marks was not written by us.
LONGEST = 4_000


def marked(text: str, **facts: str) -> str:
    """``text`` in the mark. The facts are names and references of our own."""
    given = "".join(f' {name}="{value}"' for name, value in facts.items())
    return f"<{MARK}{given}>\n{text}\n{CLOSING}"


def without_injected(text: str) -> str:
    """``text`` without what this program injected into it."""
    if _HINT not in text:
        return text
    if OPENING in text:
        text = _without(text, OPENING, CLOSING)
    if ESCAPED_OPENING in text:
        text = _without(text, ESCAPED_OPENING, ESCAPED_CLOSING)
    return text


def _without(text: str, opening: str, closing: str) -> str:
    parts, place = [], 0
    while (start := text.find(opening, place)) >= 0:
        end = text.find(closing, start, start + LONGEST)
        if end < 0:
            # A mark that is never closed, or too late, is a text about marks.
            end = start + len(opening)
            parts.append(text[place:end])
            place = end
            continue
        parts.append(text[place:start])
        place = end + len(closing)
    return "".join((*parts, text[place:]))


def is_injected(text: str) -> bool:
    """Whether a text is nothing but what this program injected."""
    return has_injected(text) and not without_injected(text).strip()


def has_injected(text: str) -> bool:
    """Whether there may be injected text. This is quick."""
    return _HINT in text
