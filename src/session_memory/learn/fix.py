"""Find how an error was resolved in earlier sessions.

The question is an output or a description. An error is the same if its fingerprint is that of a
line in the question, in any repository and with any agent. Errors with similar words are found,
too, and the result says which are the same and which are similar.
"""

import re
from collections.abc import Collection, Iterator

import msgspec

from session_memory.core.time import parse_time
from session_memory.learn.digest import Digest, ErrorSnippet, Resolution
from session_memory.learn.digest.error_lines import SAMPLE, error_line, error_lines
from session_memory.learn.digest.fingerprints import fingerprint
from session_memory.learn.digest.runner_lines import DIAGNOSTIC, MESSAGE
from session_memory.learn.digests import digest_of
from session_memory.learn.error_search import ErrorQuestion, usefulness
from session_memory.learn.fix_order import Rated, is_same_call, shares, way_of
from session_memory.redact import mask
from session_memory.store.digests import Digests
from session_memory.store.store import Store

SAME, SIMILAR, NOTHING = "same", "similar", "nothing"
MOST_TEXT = 1 << 20
MOST_LINES = 400
MOST_SESSIONS = 40
SHORTEST_LINE = 8
# The least likeness of a similar error to a description, and to a pasted error. A description may
# call things by other names than the error, so less likeness is enough. A pasted error and an error
# that is less like it share only words that many errors have.
LEAST_ALIKE = 0.3
LEAST_ALIKE_PASTED = 0.4
# An error whose own line has less of the question than this is another error, unless its call and
# the lines around it match as well as `WELL_ALIKE`.
LEAST_OWN = 0.05
LEAST_OWN_PASTED = 0.25
WELL_ALIKE = 0.7
# If the same error was found, a similar error is shown only if it matches the question at least so
# much: as a whole (`likeness`) and by its own line (`own`). If only a nearly same error was found
# and was resolved, this holds for the own line alone. The own line counts, because many errors have
# the same failed call and the same text around them.
LEAST_BESIDE = 0.5
NEARLY_SAME = 0.9
LEAST_OF_BEST = 0.5
SAME_BONUS = 0.6
SUCCESS = 0.5
"""What the score of a fix gains if all sessions with the same error resolved it in this way."""
SAME_CALL = 0.1
_STATUS = re.compile(r"^\S+ ended with status -?\d+$")


class ErrorOccurrence(msgspec.Struct, frozen=True, kw_only=True):
    """The error that was asked for, or a similar one, in one session.

    ``is_same``: its fingerprint is that of a line in the question. ``likeness`` says from 0 to 1
    how well it matches the question. ``near`` is the text around its line. ``resolution`` is None
    if the session did not resolve it.
    """

    session_uid: str
    fingerprint: str
    sample: str
    call: str
    count: int
    event_uid: str
    likeness: float
    resolution: Resolution | None
    is_same: bool = False
    near: str = ""
    ended_at: str | None = None
    own: float = 1.0
    """How much of the question is in the line of the error itself, from 0 to 1."""
    others: int = 0
    """For an error that was not resolved: how many other sessions had it without resolving it."""


class KnownError(msgspec.Struct, frozen=True):
    """The answer to a question about an error.

    ``asked`` is the line that was searched for. ``basis`` says what was found: the ``same`` error,
    only ``similar`` errors, or ``nothing``.
    """

    asked: str
    fingerprint: str
    basis: str
    occurrences: list[ErrorOccurrence]


def known_errors(
    store: Store,
    text: str,
    limit: int,
    *,
    repos: Collection[str] | None = None,
    command: str = "",
) -> KnownError:
    """Find the error in ``text`` in earlier sessions, resolved ones first. ``limit`` 0 means all.

    With ``repos``, sessions of these repositories are looked at before others. ``command`` is the
    command that failed: fixes of the same command come earlier.
    """
    text = mask(text[-MOST_TEXT:])
    asked = error_line(text) or _only_line(text)
    mark = fingerprint(asked)
    if not asked:
        return KnownError("", mark, NOTHING, [])
    found = _with_success(list(_scored(store, text, set(_marks(text, asked)), repos)), command)

    def order(one: tuple[float, ErrorOccurrence]) -> tuple[bool, float, int, str, str]:
        score, error = one
        newest = -(parse_time(error.ended_at) if error.ended_at else 0)
        return error.resolution is None, -score, newest, error.session_uid, error.event_uid

    found.sort(key=order)
    chosen = _distinct(_close([one for _, one in found]))
    basis = SAME if any(one.is_same for one in chosen) else SIMILAR if chosen else NOTHING
    return KnownError(asked, mark, basis, chosen[: limit or None])


def _only_line(text: str) -> str:
    """Return the text if it is one line, else "".

    If a question is a single line, that line is the error to search for, even if it does not look
    like one, such as "hint: 'git pull' before pushing again.".
    """
    line = text.strip()
    return "" if "\n" in line else line[:SAMPLE]


def _close(found: list[ErrorOccurrence]) -> list[ErrorOccurrence]:
    """Remove the errors that are not worth showing beside better ones.

    If the same error was found, a similar error stays only if it matches the question well, both as
    a whole and by its own line. If only a nearly same error was found, and was resolved, the own
    line of a similar error must match well. Similar errors that name only an exit status stay only
    if they were resolved.
    """
    if not found:
        return found
    is_known = any(one.is_same for one in found)
    is_answered = any(
        one.resolution is not None and (one.is_same or one.likeness >= NEARLY_SAME) for one in found
    )
    best = max(one.likeness for one in found)
    least = LEAST_BESIDE if is_known else max(LEAST_ALIKE, LEAST_OF_BEST * best)
    own = LEAST_BESIDE if is_answered or is_known else 0.0
    # An error that is only an exit status ("git ended with status 1") is of no use unresolved.
    found = [
        one for one in found if one.is_same or one.resolution or not _STATUS.search(one.sample)
    ]
    return [
        one
        for one in found
        if one.is_same or one.likeness >= NEARLY_SAME or (one.likeness >= least and one.own >= own)
    ]


def _with_success(
    found: list[tuple[float, ErrorOccurrence]], command: str
) -> list[tuple[float, ErrorOccurrence]]:
    """Raise the scores of those occurrences of the same error that were resolved.

    The gain grows with the share of sessions that resolved the error in the same way. It is larger
    if ``command`` is the command that failed there.
    """
    rated = [
        (place, Rated(one.session_uid, one.resolution))
        for place, (_, one) in enumerate(found)
        if one.is_same and one.resolution is not None
    ]
    gains = shares([one for _, one in rated])
    for (place, _), gain in zip(rated, gains, strict=True):
        score, one = found[place]
        gain = SUCCESS * gain + SAME_CALL * is_same_call(one.call, command)
        found[place] = (round(score + gain, 4), one)
    return found


def _marks(text: str, asked: str) -> Iterator[str]:
    """Yield the fingerprints of the errors in a text.

    If the text has a diagnostic (an error that a compiler or a test run names), only errors are
    used. If it has none, any line may be the error, so the last `MOST_LINES` lines are tried, too.
    """
    yield fingerprint(asked)
    errors = error_lines(text)
    yield from (fingerprint(error.text) for error in errors)
    if errors and errors[0].grade == DIAGNOSTIC:
        # The other lines of a compiler or a test run do not name the error: they are alike for all
        # errors.
        return
    lines = dict.fromkeys(line.strip() for line in text.splitlines())
    yield from (fingerprint(one) for one in list(lines)[-MOST_LINES:] if len(one) >= SHORTEST_LINE)


def _scored(
    store: Store, text: str, marks: set[str], repos: Collection[str] | None
) -> Iterator[tuple[float, ErrorOccurrence]]:
    question = ErrorQuestion(store, text)
    is_pasted = any(error.grade >= MESSAGE for error in error_lines(text))
    least = LEAST_ALIKE_PASTED if is_pasted else LEAST_ALIKE
    least_own = LEAST_OWN_PASTED if is_pasted else LEAST_OWN
    same = Digests(store.db).sessions_with(sorted(marks), repos)
    alike = question.sessions(MOST_SESSIONS, repos)
    for uid in dict.fromkeys([*same[:MOST_SESSIONS], *alike]):
        digest = digest_of(store, uid)
        for error in digest.error_snippets if digest else ():
            likeness, is_same = question.likeness(error), error.fingerprint in marks
            if is_same or likeness >= least:
                own = 1.0 if is_same else question.own_share(error)
                if own < least_own and likeness < WELL_ALIKE:
                    continue
                score = round((likeness + SAME_BONUS * is_same) * usefulness(error), 4)
                assert digest is not None
                yield score, _occurrence(digest, error, likeness, is_same, own)


def _occurrence(
    digest: Digest, error: ErrorSnippet, likeness: float, is_same: bool, own: float
) -> ErrorOccurrence:
    return ErrorOccurrence(
        session_uid=digest.session_uid,
        fingerprint=error.fingerprint,
        sample=error.sample,
        call=error.call,
        count=error.count,
        event_uid=error.event_uids[0],
        likeness=1.0 if is_same else round(min(likeness, 0.99), 4),
        resolution=error.resolution,
        is_same=is_same,
        near=error.near,
        ended_at=digest.ended_at or digest.started_at,
        own=own,
    )


def _distinct(found: list[ErrorOccurrence]) -> list[ErrorOccurrence]:
    """Keep one error for each resolution: ten errors that one edit resolved are one answer.

    A resolution that does the same as an earlier one (`way_of`) comes after the different ones.
    Errors without a resolution come last, each once.
    """
    known: set[tuple[object, ...]] = set()
    chosen: list[ErrorOccurrence] = []
    repeated: list[ErrorOccurrence] = []
    unresolved: dict[str, list[ErrorOccurrence]] = {}
    for one in found:
        how = one.resolution
        if how is None:
            unresolved.setdefault(one.fingerprint, []).append(one)
            continue
        own = (one.session_uid, how.event_uids)
        if own in known:
            continue
        way = (way_of(how),)
        (repeated if way in known else chosen).append(one)
        known |= {own, way}
    return chosen + repeated + [_with_others(some) for some in unresolved.values()]


def _with_others(same: list[ErrorOccurrence]) -> ErrorOccurrence:
    """Return the first of these occurrences of one unresolved error.

    Its ``others`` is the number of other sessions with the error.
    """
    sessions = {one.session_uid for one in same}
    return msgspec.structs.replace(same[0], others=len(sessions) - 1)
