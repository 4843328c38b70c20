"""The mark around text that this program gave to an agent, and how logs are read without it.

Such text quotes earlier sessions. In the log of the session that got it, it is nobody's words: no
prompt, no answer, no error, and not to be found there.
"""

MARK = "session-memory"
OPENING, CLOSING = f"<{MARK} ", f"</{MARK}>"
# What hooks give is much shorter. More text between two marks was not written by us.
LONGEST = 4_000


def marked(text: str, **facts: str) -> str:
    """``text`` in the mark. The facts are names and references of our own."""
    given = "".join(f' {name}="{value}"' for name, value in facts.items())
    return f"<{MARK}{given}>\n{text}\n{CLOSING}"


def without_injected(text: str) -> str:
    """``text`` without what this program injected into it."""
    if OPENING not in text:
        return text
    parts, place = [], 0
    while (start := text.find(OPENING, place)) >= 0:
        end = text.find(CLOSING, start, start + LONGEST)
        if end < 0:
            # A mark that is never closed, or too late, is a text about marks.
            parts.append(text[place : start + len(OPENING)])
            place = start + len(OPENING)
            continue
        parts.append(text[place:start])
        place = end + len(CLOSING)
    return "".join((*parts, text[place:]))


def is_injected(text: str) -> bool:
    """Whether a text is nothing but what this program injected."""
    return OPENING in text and not without_injected(text).strip()
