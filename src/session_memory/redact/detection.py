"""Find the secrets in a text: apply each rule where its words occur, and merge the results.

Rules work on texts whose characters are bytes (latin-1). So positions are the same in a text and in
its bytes, and one set of rules serves both.
"""

import re
from collections.abc import Iterator
from functools import cache

import msgspec

from session_memory.redact.assignments import KINDS as NAMED_KINDS
from session_memory.redact.assignments import WORDS, AssignedSecret, assigned_secret, is_password
from session_memory.redact.plausibility import entropy, is_placeholder
from session_memory.redact.quoted_keys import quoted_key_lines
from session_memory.redact.rules import RULES, Rule
from session_memory.redact.scan import Scan, scanner

MASK = "[redacted"
_PASSWORDS = frozenset({"url-password", "command-line-password", "netrc-password"})
_PASSWORD_WORDS = frozenset({"password", "passwd", "passwort", "pass", "pwd", "secret", "token"})
_DATABASES = re.compile(
    r"(?:postgres(?:ql)?|mysql|mariadb|mongodb|redis|rediss|amqps?|mssql|oracle|clickhouse|cockroachdb"
    r"|snowflake)(?:\+\w{1,20})?\Z",
    re.ASCII | re.IGNORECASE,
)
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


class _Hit(msgspec.Struct, frozen=True):
    start: int
    end: int
    rank: int
    kind: str
    genuine: bool | None = None


def _words(*, in_run: bool, any_case: bool) -> set[str]:
    rules = [rule for rule in RULES if (rule.in_run, rule.any_case) == (in_run, any_case)]
    return {word for rule in rules for word in rule.words}


_ANYWHERE = _words(in_run=False, any_case=False)
_EXACT = tuple(sorted(_ANYWHERE))
_IN_RUN = tuple(sorted(_words(in_run=True, any_case=False) - _ANYWHERE))
_ANY_CASE = tuple(sorted(_words(in_run=False, any_case=True) | set(WORDS)))
_NUMBERED = (*_IN_RUN, *_EXACT, *_ANY_CASE)
_KEY_RANK = next(rank for rank, rule in enumerate(RULES) if rule.kind == "private-key")
_KEY_WORD = RULES[_KEY_RANK].words[0]
# Rules about assigned names have the lowest rank, because a token's own format says more.
_LAST = len(RULES)
KINDS = tuple(
    dict.fromkeys((*(rule.kind for rule in RULES), "database-url-password", *NAMED_KINDS))
)


def _rules_of(number: int) -> tuple[tuple[int, Rule], ...]:
    word, any_case = _NUMBERED[number], number >= len(_IN_RUN) + len(_EXACT)
    ranked = enumerate(RULES)
    return tuple(
        (rank, rule) for rank, rule in ranked if rule.any_case == any_case and word in rule.words
    )


_BY_WORD = tuple(_rules_of(number) for number in range(len(_NUMBERED)))


@cache
def _scan() -> Scan:
    return scanner(_IN_RUN, _EXACT, _ANY_CASE)


def find_secrets(text: str) -> list[Secret]:
    """The secrets of a text whose characters are bytes, in order, without overlaps."""
    hits = list(_hits(text))
    if not hits:
        return []
    hits.sort(key=lambda hit: (hit.start, -hit.end))
    merged: list[_Hit] = []
    for hit in hits:
        if merged and hit.start < merged[-1].end:
            merged[-1] = _union(merged[-1], hit)
        else:
            merged.append(hit)
    return [Secret(hit.start, hit.end, hit.kind, hit.genuine) for hit in merged]


def _union(one: _Hit, other: _Hit) -> _Hit:
    """The union of both ranges, with the kind of the better rule."""
    better = min(one, other, key=lambda hit: hit.rank)
    return _Hit(
        min(one.start, other.start),
        max(one.end, other.end),
        better.rank,
        better.kind,
        better.genuine,
    )


def _hits(text: str) -> Iterator[_Hit]:
    lowered = text.encode("latin-1").lower().decode("latin-1")
    done: dict[int, int] = {}
    for place, number in _scan()(text, lowered):
        for rank, rule in _BY_WORD[number]:
            if place >= done.get(rank, 0):
                hit = _applied(rule, rank, text, place)
                if hit is not None:
                    done[rank] = hit.end
                    yield hit
        word = _NUMBERED[number]
        if word == _KEY_WORD:
            for start, end in quoted_key_lines(text, place):
                if MASK not in text[start:end]:
                    yield _Hit(start, end, _KEY_RANK, RULES[_KEY_RANK].kind)
        if word in WORDS:
            value = assigned_secret(text, lowered, place, word)
            hit = _bounded(text, _LAST, value) if value is not None else None
            if hit is not None:
                yield hit


def _applied(rule: Rule, rank: int, text: str, place: int) -> _Hit | None:
    match = None
    for start in range(max(place - rule.back, 0), place + 1):
        match = rule.pattern.match(text, start)
        if match is not None and match.end() > place:
            break
    if match is None:
        return None
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
        if kind == "url-password" and _DATABASES.search(
            text, max(match.start() - 40, 0), match.start()
        ):
            kind = "database-url-password"
    if kind == "authorization-header" and not any(sign.isdigit() for sign in value):
        return None
    genuine = rule.checksum(value) if rule.checksum is not None else None
    start, end = match.span(group)
    return _bounded(text, rank, AssignedSecret(kind, start, end), genuine)


def _bounded(
    text: str, rank: int, value: AssignedSecret, genuine: bool | None = None
) -> _Hit | None:
    """The hit extended to whole characters, or None if it would start inside an escape."""
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
    return _Hit(start, end, rank, value.kind, genuine)
