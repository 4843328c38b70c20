"""Find what a person typed, and when, in the text that Cursor sends to the model."""

import re
from datetime import datetime, timedelta, timezone

from session_memory.adapters.base import NativeEvent
from session_memory.core.text import one_line
from session_memory.core.time import MAX_MS, MIN_MS

_QUERY = re.compile(r"<user_query>(.*?)(?:</user_query>|\Z)", re.DOTALL)
_BLOCK = re.compile(r"\s*<([a-z_]{1,40})>.*?</\1>\s*", re.DOTALL)
_AT = re.compile(
    r"<timestamp>\w+, (\w{3})\w* (\d{1,2}), (\d{4}), (\d{1,2}:\d\d [AP]M)"
    r" \(UTC(?:([+-]\d{1,2})(?::(\d\d))?)?\)</timestamp>"
)
# Cursor writes this prompt itself when a subagent has ended.
_OWN = re.compile(r"The (?:beginning of the )?above subagent result is already visible")
_MOST_BLOCKS = 50


def time_in(text: str) -> int | None:
    """Return the time before a prompt in milliseconds since 1970, or None. Cursor writes it as
    ``Friday, May 8, 2026, 6:05 AM (UTC+5:30)``."""
    found = _AT.search(text[:4096])
    if found is None:
        return None
    month, day, year, clock, hours, minutes = found.groups()
    ahead = timedelta(hours=abs(int(hours or 0)), minutes=int(minutes or 0))
    try:
        zone = timezone(-ahead if (hours or "").startswith("-") else ahead)
        naive = datetime.strptime(f"{month} {day} {year} {clock}", "%b %d %Y %I:%M %p")  # noqa: DTZ007
        at = round(naive.replace(tzinfo=zone).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
    return at if MIN_MS <= at <= MAX_MS else None


def words_in(text: str) -> str:
    """Return what a person typed: the texts in ``<user_query>``. If there are none, return ``text``
    without the blocks that Cursor puts at its beginning."""
    queries = _QUERY.findall(text)
    if queries:
        return "\n".join(query.strip() for query in queries)
    rest = text
    for _ in range(_MOST_BLOCKS):
        block = _BLOCK.match(rest)
        if block is None:
            break
        rest = rest[block.end() :]
    return rest.strip()


def prompt(text: str, *, is_subagent: bool) -> NativeEvent:
    """Return the event of a message with the role of the user."""
    words = words_in(text)
    if is_subagent:
        return NativeEvent(
            "lifecycle", "user", one_line(words), "user/subagent_prompt", body=words or text
        )
    if not words or _OWN.match(words) is not None:
        return NativeEvent("lifecycle", "user", one_line(text), "user/injected", body=text)
    return NativeEvent("user_msg", "user", one_line(words), "user", is_prompt=True, text=words)
