"""The terms by which the errors of a session are found, beside those of the session.

They stand in the same index behind a mark, so that words of an error and words of a task do not
mix: a question about an error is compared with errors alone.
"""

from session_memory.learn.digest import Digest, ErrorSnippet
from session_memory.search.recall_fields import packed_weight
from session_memory.search.recall_terms import ERROR_MARK, terms_in

MOST_TERMS = 400
LONGEST = 4_000


def error_fields(error: ErrorSnippet) -> tuple[str, str, str, str]:
    """The texts of an error: itself, the lines around it, the call, and what resolved it."""
    how = error.resolution
    solved = f"{how.said} {how.text} {' '.join(how.lines)}" if how else ""
    return error.sample, error.near, error.call, solved


def error_terms(digest: Digest) -> dict[str, int]:
    """The terms of all errors of a session, with the same weight each.

    If there are too many, those of the samples stay, because people ask with them.
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
