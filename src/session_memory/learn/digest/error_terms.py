"""Compute the search terms of a session's errors, by which `session-memory fix` finds them.

The terms are in the same index as the other terms of the session, with a mark before each. So a
question about an error is compared with errors alone, and never with the words of a task.
"""

from session_memory.learn.digest import Digest, ErrorSnippet
from session_memory.search.recall_fields import packed_weight
from session_memory.search.recall_terms import ERROR_MARK, terms_in

MOST_TERMS = 400
LONGEST = 4_000


def error_fields(error: ErrorSnippet) -> tuple[str, str, str, str]:
    """Return four texts of an error: its line, the lines around it, the failed call, and what
    resolved it."""
    how = error.resolution
    solved = f"{how.said} {how.text} {' '.join(how.lines)}" if how else ""
    return error.sample, error.near, error.call, solved


def error_terms(digest: Digest) -> dict[str, int]:
    """Return the terms of all errors of a session. Each has the same weight.

    If there are too many, the terms of the errors' own lines stay, because people search for them.
    """
    fields = [error_fields(error) for error in digest.error_snippets]
    found: dict[str, None] = {}
    for place in range(4):
        for texts in fields:
            found.update(dict.fromkeys(terms_in(texts[place][:LONGEST])))
            if len(found) >= MOST_TERMS:
                break
    weight = packed_weight(1.0, 0)
    return {f"{ERROR_MARK}{term}": weight for term in list(found)[:MOST_TERMS]}
