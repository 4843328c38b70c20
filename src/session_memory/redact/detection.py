"""Apply each rule to a text where its words occur.

Rules work on texts whose characters are bytes (latin-1). So positions are the same in a text and in
its bytes, and one set of rules serves both.
"""

import re
import string
from collections.abc import Iterator
from functools import cache
from itertools import islice

import msgspec

from session_memory.redact.assignments import KINDS as NAMED_KINDS
from session_memory.redact.assignments import (
    MOST_FAILURES,
    WORDS,
    AssignedSecret,
    assigned_secrets,
    is_name,
    is_password,
    is_words,
)
from session_memory.redact.commands import FLAGS, command_secrets
from session_memory.redact.decoding import MARKS
from session_memory.redact.plausibility import entropy, is_placeholder
from session_memory.redact.quoted_keys import quoted_key_lines
from session_memory.redact.rules import LEAD, RULES, Rule
from session_memory.redact.scan import FindMarks, Scan, mark_finder, scanner
from session_memory.redact.wrapping import break_start

MASK = "[redacted"
# The kind of a text that is full of secrets.
DUMP = "dump"
_PASSWORDS = frozenset({"url-password", "command-line-password", "netrc-password"})
_PASSWORD_WORDS = frozenset({"password", "passwd", "passwort", "pass", "pwd", "secret", "token"})
_DATABASES = re.compile(
    r"(?:postgres(?:ql)?|mysql|mariadb|mongodb|redis|rediss|amqps?|mssql|oracle|clickhouse|cockroachdb"
    r"|snowflake)(?:\+\w{1,20})?\Z",
    re.ASCII | re.IGNORECASE,
)
_SCHEME_SIGNS = f"{string.ascii_letters}{string.digits}_+"
_SCHEMES = ("basic", "token", "bot", "apikey", "digest", "negotiate")
# After a backslash, these characters end an escape, so they cannot start a secret.
_ESCAPED = frozenset("nrtbfu\"'\\/")


class Secret(msgspec.Struct, frozen=True, order=True):
    """The range of a secret, in characters of a text or in bytes.

    ``genuine`` says whether its checksum is right. None if its format has no checksum.
    """

    start: int
    end: int
    kind: str
    genuine: bool | None = None


class RuleMatch(msgspec.Struct, frozen=True):
    """A range that a rule matches. The match of a rule with a lower ``rank`` is preferred."""

    start: int
    end: int
    rank: int
    kind: str
    genuine: bool | None = None


def _words(*, any_case: bool) -> set[str]:
    return {word for rule in RULES if rule.any_case == any_case for word in rule.words}


TOKEN_WORDS = tuple(sorted(_words(any_case=False)))
_ANY_CASE = tuple(sorted(_words(any_case=True) | {*WORDS, *FLAGS}))
_NUMBERED = (*TOKEN_WORDS, *_ANY_CASE)
_KEY_RANK = next(rank for rank, rule in enumerate(RULES) if rule.kind == "private-key")
_KEY_WORD = RULES[_KEY_RANK].words[0]
# Rules about assigned names come after all others, because a token's own format says more.
NAMED = len(RULES)
# The rules that recognize a secret by the text around it.
AROUND_RANKS = frozenset(
    (NAMED, *(rank for rank, rule in enumerate(RULES) if rule.any_case or "://" in rule.words))
)
KINDS = tuple(
    dict.fromkeys((*(rule.kind for rule in RULES), "database-url-password", *NAMED_KINDS, DUMP))
)


def _rules_of(number: int) -> tuple[tuple[int, Rule], ...]:
    word, any_case = _NUMBERED[number], number >= len(TOKEN_WORDS)
    ranked = enumerate(RULES)
    return tuple(
        (rank, rule) for rank, rule in ranked if rule.any_case == any_case and word in rule.words
    )


_BY_WORD = tuple(_rules_of(number) for number in range(len(_NUMBERED)))


@cache
def _scan() -> Scan:
    return scanner(TOKEN_WORDS, _ANY_CASE)


@cache
def _mark_finder() -> FindMarks:
    return mark_finder(MARKS)


def marks(text: str, data: bytes) -> list[int]:
    """Return where escapes, colours and invisible characters end in a text, in any order.

    A view of the text (see `View`) differs from it only there. ``data`` is the text as bytes.
    """
    return _mark_finder()(text, data)


def word_places(text: str, data: bytes) -> Iterator[int]:
    """Yield every place of a word of a rule, in any order. No rule matches without its word.

    ``data`` is the text as bytes.
    """
    for _, places in _scan()(text, data):
        yield from places


def hits(
    text: str,
    starts: list[int] | None = None,
    data: bytes | None = None,
    most: int | None = None,
) -> list[RuleMatch]:
    """Return what the rules match in a text whose characters are bytes. Matches may overlap.

    Escapes are not decoded here. Places where a secret may start are added to ``starts``, even if
    no rule matches there. With more than ``most`` matches the search ends early.
    """
    # To copy a long text takes as long as to search it, so it is encoded only once.
    data = text.encode("latin-1") if data is None else data
    found: list[RuleMatch] = []
    seen = starts if starts is not None else []
    for number, places in _scan()(text, data):
        for rank, rule in _BY_WORD[number]:
            if not rule.any_case:
                seen += _starts(rule, text, places)
            found += islice(_matched(rule, rank, text, places), _left(most, found))
        word = _NUMBERED[number]
        if word == _KEY_WORD:
            found += islice(_quoted_keys(text, places), _left(most, found))
        if word in WORDS or word in FLAGS:
            found += islice(_found_beside(text, places, word, seen), _left(most, found))
        if most is not None and len(found) > most:
            break
    seen += [hit.start for hit in found]
    return found


def _left(most: int | None, found: list[RuleMatch]) -> int | None:
    return None if most is None else max(most + 1 - len(found), 0)


def _found_beside(
    text: str, places: list[int], word: str, starts: list[int]
) -> Iterator[RuleMatch]:
    """Yield the secrets that are assigned to names with ``word``, or follow it if it is a flag."""
    if word in WORDS:
        values = assigned_secrets(text, places, word, starts)
    else:
        values = command_secrets(text, places, word)
    for value in values:
        hit = _bounded(text, NAMED, value)
        if hit is not None:
            yield hit


def _starts(rule: Rule, text: str, places: list[int]) -> list[int]:
    """Return where the secrets may start that have a word of the rule at ``places``."""
    if rule.back == (0,) or ("\n" not in text and "\\n" not in text):
        return places
    starts = [*places]
    # A break may be inside of the secret, but not before its first character.
    reach = rule.back[-1] + (len(rule.back) > 1)
    for place in places:
        # A line break may be between the start of the secret and its word.
        first = max(place - reach - 1, 0)
        line = max(text.rfind("\\n", first, place) + 1, text.rfind("\n", first, place))
        if place - line - 1 < reach and line > 0:
            starts.append(max(break_start(text, line + 1) - 1, 0))
    return starts


def _quoted_keys(text: str, places: list[int]) -> Iterator[RuleMatch]:
    for place in places:
        for start, end in quoted_key_lines(text, place):
            if MASK not in text[start:end]:
                yield RuleMatch(start, end, _KEY_RANK, RULES[_KEY_RANK].kind)


def _matched(rule: Rule, rank: int, text: str, places: list[int]) -> Iterator[RuleMatch]:
    done = failed_to = failures = 0
    match_at, starts_at_word = rule.pattern.match, rule.back == (0,) and rule.lead is None
    for place in places:
        if place < done or (failures >= MOST_FAILURES and place < failed_to):
            continue
        match = match_at(text, place) if starts_at_word else _match_around(rule, text, place)
        if match is None:
            continue
        hit = _accepted(rule, rank, text, match)
        if hit is not None:
            done = hit.end
            yield hit
        else:
            failures = failures + 1 if place < failed_to else 1
            failed_to = max(failed_to, match.end())


def _match_around(rule: Rule, text: str, place: int) -> re.Match[str] | None:
    """A match that contains ``place`` and starts before it."""
    if rule.lead is not None:
        start = text.rfind(rule.lead, max(place - LEAD, 0), place)
        return rule.pattern.match(text, start) if start >= 0 else None
    # A quick test comes first. Each of these secrets has a letter or a digit before its word. If
    # the part before the word can have several lengths, it has only letters and digits.
    sure = rule.back[-1] if len(rule.back) > 1 else 1
    if not text[max(place - sure, 0) : place].isalnum():
        return None
    for back in rule.back:
        match = rule.pattern.match(text, place - back) if back <= place else None
        if match is not None and match.end() > place:
            return match
    return None


def _accepted(rule: Rule, rank: int, text: str, match: re.Match[str]) -> RuleMatch | None:
    group = 1 if match.re.groups else 0
    value = match[group]
    if is_placeholder(value) or MASK in value or entropy(value) < rule.floor:
        return None
    kind = rule.kind
    if kind in _PASSWORDS:
        if value.lower() in _PASSWORD_WORDS or value.isdigit():
            return None
        if kind != "url-password" and not is_password(value, literal=True):
            return None
        if kind == "url-password" and _is_database(text, match.start()):
            kind = "database-url-password"
    if kind == "authorization-header" and not _is_credential(text, match):
        return None
    genuine = rule.checksum(value) if rule.checksum is not None else None
    start, end = match.span(group)
    return _bounded(text, rank, AssignedSecret(kind, start, end), genuine)


def _is_credential(text: str, match: re.Match[str]) -> bool:
    """Whether the value of an authorization header is a credential, not the name of a variable."""
    value, before = match[1], text[match.start() : match.start(1)].rstrip().lower()
    has_scheme = before.endswith(_SCHEMES) or "bearer" in before
    return any(map(str.isdigit, value)) and (has_scheme or not (is_name(value) or is_words(value)))


def _is_database(text: str, end: int) -> bool:
    """Whether the scheme of an address, which ends at ``end``, is that of a database."""
    before = text[max(end - 40, 0) : end]
    return _DATABASES.search(before, len(before.rstrip(_SCHEME_SIGNS))) is not None


def _bounded(
    text: str, rank: int, value: AssignedSecret, genuine: bool | None = None
) -> RuleMatch | None:
    """Return the match extended to whole characters; None if it would start inside an escape."""
    start, end = value.start, value.end
    if start and text[start - 1] == "\\" and text[start] in _ESCAPED:
        return None
    if MASK in text[start:end]:
        return None
    if not text[start:end].isascii():
        while start and "\x80" <= text[start] <= "\xbf":
            start -= 1
        while end < len(text) and "\x80" <= text[end] <= "\xbf":
            end += 1
    return RuleMatch(start, end, rank, value.kind, genuine)
