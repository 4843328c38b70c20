"""Secrets that are recognized by the name they are assigned to: ``password = "…"``, ``api_key: …``.

Names and values occur in many styles and quotings, escaped or not. Code often has such names
without a secret, so the value must look like one: random, not a placeholder, not the name of
something. A quoted name needs a quoted value, because in JSON any other value is not a secret.
"""

import re
import string
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from session_memory.redact.plausibility import entropy, is_placeholder, is_uuid

# Searched for in the lower-case text.
WORDS = (
    "passw",
    "passphrase",
    "_pass",
    "pwd",
    "secret",
    "apikey",
    "api-key",
    "accesskey",
    "token",
) + ("_key",)

_LONGEST_NAME = 60
# After so many values that are no secrets, the words inside of the last one are skipped. Otherwise
# a hostile text could have every value judged again from each of its words.
MOST_FAILURES = 4
_NAME_SIGNS = string.ascii_letters + string.digits + "_.-"
_REST = re.compile(
    r"(?P<tail>[\w-]{0,40}+)(?P<close>\\{0,7}[\"'`]\]?)?"
    r"(?:[ \t]{0,4}(?::[ \t]{0,2}[A-Za-z]{1,12}[ \t]{0,2}=|=>|:=|={1,3}|:|>)[ \t]{0,4}"
    r"|\\u003[ade]|(?P<blank>[ \t]{1,2}))"
    r"(?P<open>[rbf]?\\{0,7}[\"'`])?",
    re.ASCII,
)
_QUOTED = re.compile(r"[^\x00-\x20\x7f\"'`\\]{6,200}+(?=\\{0,7}[\"'`])", re.ASCII)
_BARE = re.compile(r"[^\x00-\x20\x7f\"'`\\<>,;(){}\[\]|&]{6,200}+(?![(\[])", re.ASCII)
_ESCAPE = re.compile(r"\\(?:[nrtbf]|u[0-9a-f]{4})", re.ASCII | re.IGNORECASE)

# After these names a blank may separate the value.
_VALUE_AFTER_BLANK = re.compile(r"--|aws_secret_access_key", re.ASCII)
# Names that contain one of the words but hold no secret.
_HARMLESS = re.compile(
    r"tokeni[sz]|tokens\b|token_?(?:count|type|usage|limit|budget|index|name|len|url|id|expir|class)"
    r"|(?:max|min|num|total|next|page|csrf|xsrf|pad|eos|bos|sep|cls|unk|mask|continuation|sync)_?token"
    r"|public|primary_key|foreign_key|unique_key|cache|sort_key|partition|idempoten|dedup|lock_key"
    r"|_(?:file|path|dir|field|label|hint|name|policy|length|hash|digest|url|uri|env|var|count|len"
    r"|prompt|required|type|column|attr|manager|provider|version|arn|ref)s?\b|secrets?_?manager"
    r"|resource_?version|keyword|_keys\b|_pass(?:ed|es|ing|_?rate|_?through|_?count)",
    re.ASCII,
)
_SECRET_KEYS = re.compile(
    r"api|access|secret|auth|private|encrypt|sign|master|service|account|admin|storage|shared"
    r"|deploy|consumer|app",
    re.ASCII,
)
_OWNED_TOKEN = re.compile(
    r"(?:access|auth|api|bearer|refresh|bot|user|personal|session|id|deploy|service|app|admin|hub|lab)"
    r"[_.-]?token",
    re.ASCII,
)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:[.:-][A-Za-z_$][\w$]*)*[.:]?", re.ASCII)
_PLACE = re.compile(
    r"[~.]{0,2}/|[A-Za-z]:/|[a-z][a-z0-9+]{1,15}://|\d+(?:\.\d+)+\Z|\d{4}-\d\d-\d\d"
    r"|0[xX][0-9a-fA-F]{1,40}\Z|v?\d+\.\d",
    re.ASCII,
)
_LETTERS = re.compile(r"[A-Za-z]", re.ASCII)
_DIGITS = re.compile(r"\d", re.ASCII)
_TURNS = re.compile(r"[a-z](?=[A-Z0-9])|[A-Z](?=[a-z0-9])|[0-9](?=[A-Za-z])", re.ASCII)
_SYMBOLS = re.compile(r"[^\w\s.:/-]", re.ASCII)


# Secrets of these issuers have no prefix. The name and the shape together identify them.
_ISSUERS: tuple[tuple[str, re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (kind, re.compile(name, re.ASCII), re.compile(shape, re.ASCII))
    for kind, name, shape in (
        ("aws-secret-key", r"aws_?secret|secret_?access_?key", r"[A-Za-z0-9+/]{40}"),
        ("gcp-private-key-id", r"private_key_id", r"[0-9a-f]{40}"),
        ("azure-storage-key", r"(?:account|storage)_?key", r"[A-Za-z0-9+/]{86}=="),
        ("cloudflare-key", r"cloudflare|cf_api", r"[\w-]{37,40}"),
        ("datadog-key", r"datadog|dd_ap", r"[0-9a-f]{32}(?:[0-9a-f]{8})?"),
        ("discord-token", r"discord", r"[\w-]{24,28}\.[\w-]{6}\.[\w-]{27,40}|[\w-]{32}"),
        ("heroku-key", r"heroku", r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
        ("twilio-auth-token", r"twilio", r"[0-9a-f]{32}"),
        ("telegram-bot-token", r"telegram", r"\d{8,10}:[\w-]{35}"),
        ("okta-token", r"okta", r"00[\w-]{40}"),
        ("sonar-token", r"sonar", r"(?:sq[upa]_)?[0-9a-f]{40}"),
        ("algolia-key", r"algolia", r"[0-9a-f]{32}"),
        ("cohere-key", r"cohere|co_api", r"[A-Za-z0-9]{40}"),
        ("mistral-key", r"mistral", r"[A-Za-z0-9]{32}"),
        ("snyk-token", r"snyk", r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    )
)
KINDS = (*(issuer[0] for issuer in _ISSUERS), "password", "secret", "api-key", "token")


class AssignedSecret(NamedTuple):
    kind: str
    start: int
    end: int


def assigned_secrets(
    text: str, places: list[int], word: str, starts: list[int]
) -> Iterator[AssignedSecret]:
    """The secrets that are assigned to names with ``word`` at one of ``places``.

    ``starts`` gets the start of every value, also of those that are no secrets.
    """
    done = failed_to = failures = 0
    rest_at, size = _REST.match, len(word)
    for place in places:
        if place < done or (failures >= MOST_FAILURES and place < failed_to):
            continue
        rest = rest_at(text, place + size)
        if rest is None or (rest["close"] and not rest["open"]):
            continue
        starts.append(rest.end())
        value = (_QUOTED if rest["open"] else _BARE).match(text, rest.end())
        if value is None:
            continue
        kind = _kind_of(text, word, place, rest, value)
        if kind is not None:
            done = value.end()
            yield AssignedSecret(kind, *value.span())
        else:
            failures = failures + 1 if place < failed_to else 1
            failed_to = max(failed_to, value.end())


def _kind_of(
    text: str, word: str, place: int, rest: re.Match[str], value: re.Match[str]
) -> str | None:
    """The kind of a value that is a secret, or None. ``word`` is at ``place``, in any case."""
    first = _name_start(text, place)
    name = text[first : rest.end("tail")].lower()
    if rest["blank"] is not None and not _VALUE_AFTER_BLANK.match(name):
        return None
    is_upper = text[place : place + len(word)].isupper()
    literal = is_upper and text[rest.end() - 1] == "=" or _is_literal(text, first, rest, value)
    return _judged(name, word, is_upper, value[0], literal)


# The same assignments are in a log again and again: in each view of a text, too.
@lru_cache(maxsize=32768)
def _judged(name: str, word: str, is_upper: bool, value: str, literal: bool) -> str | None:
    kind = _kind(name, word, is_upper)
    if kind is None or not _looks_secret(kind, name, value, literal):
        return None
    return _issuer(name, value) or kind


def _is_literal(text: str, first: int, rest: re.Match[str], value: re.Match[str]) -> bool:
    """Whether the value is a literal: quoted, a shell argument, in a connection string or in XML.

    Any other value may be the name of a variable.
    """
    if rest["open"] or rest["blank"]:
        return True
    before, after = text[first - 1 : first], text[value.end() : value.end() + 2]
    if text[rest.end() - 1] == ">":
        return after == "</"
    is_tight = text[rest.end() - 1] == "=" and text[rest.end("tail")] == "="
    ends = not after or after[0] in " \t\r\n\"'\\&;"
    return is_tight and ends and (not before or before in " \t\n;?&=\"'n")


def _issuer(name: str, value: str) -> str | None:
    for kind, shape in _issuers_named(name):
        if shape.fullmatch(value):
            return kind
    return None


@lru_cache(maxsize=2048)
def _issuers_named(name: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, shape) for kind, known, shape in _ISSUERS if known.search(name))


def _name_start(text: str, place: int) -> int:
    """The start of the name that contains the word. An escape before it is not part of it."""
    before = text[max(place - _LONGEST_NAME, 0) : place]
    first = place - len(before) + len(before.rstrip(_NAME_SIGNS))
    if first and text[first - 1] == "\\":
        escape = _ESCAPE.match(text, first - 1)
        first = min(escape.end(), place) if escape is not None else first
    return first


def _kind(name: str, word: str, is_upper: bool) -> str | None:
    if _HARMLESS.search(name):
        return None
    if word in ("passw", "passphrase", "pwd", "_pass"):
        return "password"
    if word == "token":
        return "token"
    if word == "secret":
        return "secret"
    return "api-key" if word != "_key" or is_upper or _SECRET_KEYS.search(name) else None


def _looks_secret(kind: str, name: str, value: str, literal: bool) -> bool:
    if _PLACE.match(value) or (kind == "password" and not is_password(value, literal)):
        return False
    if is_placeholder(value):
        return False
    if kind == "password":
        return True
    if kind == "token" and is_uuid(value):
        return _OWNED_TOKEN.search(name) is not None or _issuer(name, value) is not None
    return _is_random(value, literal)


def is_password(value: str, literal: bool) -> bool:
    """Whether a value may be a password: not necessarily random, but not a name of something."""
    lowered = value.lower()
    if "passw" in lowered or "secret" in lowered or "token" in lowered or entropy(value) < 2.0:
        return False
    digits, symbols = len(_DIGITS.findall(value)), len(_SYMBOLS.findall(value))
    if not _LETTERS.search(value):
        return digits >= 6 and literal or digits >= 4 and symbols > 0
    if _IDENTIFIER.fullmatch(value) and not (digits and literal) and digits < 3:
        # Letters alone are a word, a type or a variable, except for a long quoted random run.
        return literal and len(value) >= 16 and value.isalpha() and entropy(value) >= 3.5
    return digits + symbols > 0


def is_random_run(run: str) -> bool:
    """Whether a run of letters and digits looks like a part of a token and not like a name."""
    turns = len(_TURNS.findall(run))
    return len(run) >= 12 and turns >= len(run) * 0.25 and _DIGITS.search(run) is not None


def _is_random(value: str, literal: bool) -> bool:
    digits = len(_DIGITS.findall(value))
    if len(value) < 10 or not digits or not _LETTERS.search(value):
        return False
    if entropy(value) < (3.0 if len(value) < 20 else 3.3):
        return False
    # some_name_2 and someName2 are names. a1B2c3 is not.
    is_name = _IDENTIFIER.fullmatch(value) and digits < (2 if literal else 3)
    return not is_name or len(_TURNS.findall(value)) >= len(value) * 0.4
