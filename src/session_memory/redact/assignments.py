"""Find secrets by the name they are assigned to: ``password = "…"``, ``api_key: …``.

Names and values occur in many styles and quotings, escaped or not. Code often has such names
without a secret, so the value must look like one: random, not a placeholder, not the name of
something. A quoted name needs a quoted value, because in JSON any other value is not a secret.
"""

import re
import string
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.redact.plausibility import entropy, is_placeholder, is_uuid

# Word to search for in the lower-case text → how many of its characters belong to the name; 0: all.
_STEMS = {
    **dict.fromkeys(("pass", "pwd", "secret", "apikey", "api-key", "accesskey", "access-key"), 0),
    **dict.fromkeys(("token", "_key", "privatekey", "signingkey", "encryptionkey", "auth-key"), 0),
    **dict.fromkeys(("subscription-key", "key-data", "credential", "masterauth"), 0),
    # Short names that are parts of other words count only at the end of a name.
    **{f"{stem}{end}": len(stem) for stem in ("_pat", "pw", "_auth") for end in '=:"\\'},
    "pat=": 3,
    "psk=": 3,
    "_auth ": 5,
    "?key=": 4,
    "&key=": 4,
}
_STEMS = {word: size or len(word) for word, size in _STEMS.items()}
WORDS = tuple(_STEMS)

_LONGEST_NAME = 60
# A value may itself contain words of names. Without this limit, a hostile text could have one long
# value judged again from each of them. So after this many overlapping values that are no secrets,
# the words up to the end of the last value are skipped.
MOST_FAILURES = 4
_NAME_SIGNS = string.ascii_letters + string.digits + "_.-"
_REST = lazy_pattern(
    r"(?P<tail>[\w-]{0,40}+)(?P<close>\\{0,7}[\"'`]\]?)?"
    r"(?:[ \t]{0,4}(?::[ \t]{0,2}[A-Za-z]{1,12}[ \t]{0,2}=|=>|:=|={1,3}|:|>)[ \t]{0,4}"
    r"|\\u003[ade]"
    # A separate value: {"name": "X", "value": "…"}. A default: getenv("X", "…"), env.X || "…".
    r"|(?P<pair>,?(?:[ \t\r\n]|\\{1,7}[nrt]){0,24}+\\{0,7}[\"']?[Vv]alue\\{0,7}[\"']?"
    r"[ \t]{0,2}[:=][ \t]{0,2})"
    r"|(?P<default>\)?[ \t]{0,2}(?:\|\||\?\?|\?:|,|or\b)[ \t]{0,2}(?=[rbf]?\\{0,7}[\"'`]))"
    r"|(?P<call>\((?=\\{0,7}[\"'`]))"
    r"|(?P<says>[ \t]is:?[ \t](?=[^ \t]))|(?P<blank>[ \t]{1,2}))"
    r"(?P<open>[rbf]?\\{0,7}[\"'`])?",
    re.ASCII,
)
_QUOTED = lazy_pattern(r"[^\x00-\x20\x7f\"'`\\]{6,200}+(?=\\{0,7}[\"'`])", re.ASCII)
_BARE = lazy_pattern(r"[^\x00-\x20\x7f\"'`\\<>,;(){}\[\]|&]{6,200}+(?![(\[])", re.ASCII)
_ESCAPE = lazy_pattern(r"\\(?:[nrtbf]|u[0-9a-f]{4})", re.ASCII | re.IGNORECASE)

# After these names a blank may separate the value.
_VALUE_AFTER_BLANK = lazy_pattern(
    r"--?[a-z]|(?:aws_secret_access_key|requirepass|masterauth|[\w.:/-]{0,40}_authtoken|_auth)\Z",
    re.ASCII,
)
_SETTINGS = ("ENV ", "ARG ", "setx ", "env add ", "config ", "config set ", "--global ")
_SHORT_NAME = lazy_pattern(r"(?:\A|[_.-]|db|my|user|admin|root)(?:pw|pat)\Z", re.ASCII)
_PASSWORD_NAME = lazy_pattern(
    r"passw|passphrase|passcode|_pass|(?:\A|[.:/-]|db|admin|root|user|sql|pg|ssh|smtp|store|key|require"
    r"|ftp|mail|redis|mongo|http|proxy|bind|auth|become|login|svc|app|srv|my|wp|rdp|vnc)pass[_-]?\d{0,3}\Z",
    re.ASCII,
)
# Names that contain one of the words but hold no secret.
_HARMLESS = lazy_pattern(
    r"tokeni[sz]|tokens\b|token_?(?:count|type|usage|limit|budget|index|name|len|url|id|expir|class)"
    r"|(?:max|min|num|total|next|page|csrf|xsrf|pad|eos|bos|sep|cls|unk|mask|continuation|sync"
    r"|design|color|colour|syntax)[_-]?token"
    r"|public|primary_key|foreign_key|unique_key|cache|sort_key|partition|idempoten|dedup|lock_key"
    r"|_(?:file|path|dir|field|label|hint|name|policy|length|hash|digest|url|uri|env|var|count|len"
    r"|prompt|required|type|column|attr|manager|provider|version|arn|ref|rounds?|timeout|lifetime|ttl"
    r"|minutes|seconds|attempts|strength|mode|algo(?:rithm)?|reset|change|encoder|validator)s?\b"
    r"|secrets?_?manager|password_?(?:too|must|is|not|min|max|mismatch|invalid|incorrect|confirm)_"
    r"|passwordless|hash(?:ed|es|er|-algo)?\b"
    r"|(?:secret|key|token|credential)s?(?:name|arn|ref|type|url|uri|path|file|field|label|class)s?\b"
    r"|resource_?version|keyword|_keys\b|_pass(?:ed|es|ing|_?rate|_?through|_?count)",
    re.ASCII,
)
_SECRET_KEYS = lazy_pattern(
    r"api|access|secret|auth|private|encrypt|sign|master|service|account|admin|storage|shared"
    r"|deploy|consumer|app|hmac|licen[cs]e|aes",
    re.ASCII,
)
_OWNED_TOKEN = lazy_pattern(
    r"(?:access|auth|api|bearer|refresh|bot|user|personal|session|id|deploy|service|app|admin|hub|lab"
    r"|http|vault|acl)"
    r"[_.-]?token",
    re.ASCII,
)
_IDENTIFIER = lazy_pattern(r"[A-Za-z_$][\w$]*(?:(?:[.-]|::?)[A-Za-z_$][\w$]*)*[.:]?", re.ASCII)
# A name in code that is no literal: module.name, Ed25519PrivateKey.
_OTHER_NAME = lazy_pattern(
    r"(?:[a-z_]{3,40}(?:\.|::))+[A-Za-z_]\w*|[A-Za-z_]\w*(?:Key|Token|Secret|Credential|Password)"
    r"(?:s|Types?|Base|Protocol)?",
    re.ASCII,
)
_PLACE = lazy_pattern(
    r"[~.]{0,2}/|[A-Za-z]:/|[a-z][a-z0-9+]{1,15}://|\d+(?:\.\d+)+\Z|\d{4}-\d\d-\d\d"
    r"|0[xX][0-9a-fA-F]{1,40}\Z|v?\d+\.\d",
    re.ASCII,
)
_WORDS_AND_NUMBERS = lazy_pattern(
    r"(?:[a-z]{1,15}\d{0,3}|\d{1,5})(?:[-_./: ](?:[a-z]{1,15}\d{0,3}|\d{1,5})){1,12}",
    re.ASCII,
)
_INVENTED = lazy_pattern(r"test|fake|mock|demo|dummy|sample|stub", re.ASCII)
_VALIDATION = lazy_pattern(r"required\||\b(?:min|max):\d")
_DIGEST = lazy_pattern(
    r"(?:sha\d{1,3}|md5|blake\w{1,3})[:-]|urn:|arn:|process\.env|import\.meta", re.ASCII
)
_PARTS = lazy_pattern(r"[-.:_]")
_LETTERS = lazy_pattern(r"[A-Za-z]", re.ASCII)
_DIGITS = lazy_pattern(r"\d", re.ASCII)
_TURNS = lazy_pattern(r"[a-z](?=[A-Z0-9])|[A-Z](?=[a-z0-9])|[0-9](?=[A-Za-z])", re.ASCII)
_SYMBOLS = lazy_pattern(r"[^\w\s.:/-]", re.ASCII)


# Secrets of these issuers have no prefix. The name and the shape together identify them.
_ISSUERS: tuple[tuple[str, re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (kind, lazy_pattern(name, re.ASCII), lazy_pattern(shape, re.ASCII))
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
    """The secrets that are assigned to names that contain ``word``, which stands at ``places``.

    The start of every value, secret or not, is added to ``starts``.
    """
    done = failed_to = failures = 0
    rest_at, size = _REST.match, _STEMS[word]
    for place in places:
        if place < done or (failures >= MOST_FAILURES and place < failed_to):
            continue
        rest = rest_at(text, place + size)
        if rest is None or (rest["close"] and not rest["open"]):
            continue
        if rest["blank"] is not None and not _may_follow_blank(text, place, rest):
            # This may be a netrc file. Another rule finds its password, and needs to know only
            # where the password may start.
            starts += [rest.end()] if word == "pass" else []
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
    if rest["default"] and not _is_default(text, first, rest, value[0]):
        return None
    if (rest["says"] or rest["call"]) and not name.endswith("password"):
        return None
    if text[first - 1 : first] == ":" and "arn:" in text[max(first - 80, 0) : first]:
        return None
    is_upper = text[place : place + _STEMS[word]].isupper()
    literal = is_upper and text[rest.end() - 1] == "=" or _is_literal(text, first, rest, value)
    return _judged(name, word, is_upper, value[0], literal)


def _is_default(text: str, first: int, rest: re.Match[str], value: str) -> bool:
    """Whether the value is a default, as in ``getenv("TOKEN", "…")``, and not just the next item
    of a list of names."""
    if is_name(value) or is_words(value.lower()):
        return False
    is_operator = text[rest.start("default") : rest.end("default")].strip() != ","
    called = text[max(first - 9, 0) : first].rstrip("\\\"'`")
    return is_operator or (rest["close"] is not None and called.endswith("("))


def _may_follow_blank(text: str, place: int, rest: re.Match[str]) -> bool:
    """Whether a value may follow this name after a mere blank, as in an option, a setting or SQL.

    In ``--password hunter2`` it may; in prose it may not.
    """
    first = _name_start(text, place)
    name = text[first : rest.end("tail")].lower()
    if _VALUE_AFTER_BLANK.match(name):
        return text[rest.end() : rest.end() + 1] != "-"
    if rest["open"]:
        return name.endswith("password") or text.endswith("#define ", 0, first)
    return text.endswith(_SETTINGS, 0, first)


# Cached, because a log and the views of its texts have the same assignments again and again.
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
    sign, name_end = text[rest.end() - 1], rest.end("tail")
    # openssl -passin pass:…
    is_colon = sign == ":" and text[first:name_end].lower().endswith("pass")
    is_tight = text[name_end] == sign and (sign == "=" or is_colon)
    ends = not after or after[0] in " \t\r\n\"'\\&;"
    return is_tight and ends and (not before or before in " \t\n;?&=/\"'n")


def _issuer(name: str, value: str) -> str | None:
    for kind, shape in _issuers_named(name):
        if shape.fullmatch(value):
            return kind
    return None


@lru_cache(maxsize=2048)
def _issuers_named(name: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, shape) for kind, known, shape in _ISSUERS if known.search(name))


def _name_start(text: str, place: int) -> int:
    """The start of the name that contains the word. An escape before the name is left out."""
    before = text[max(place - _LONGEST_NAME, 0) : place]
    first = place - len(before) + len(before.rstrip(_NAME_SIGNS))
    if first and text[first - 1] == "\\":
        escape = _ESCAPE.match(text, first - 1)
        first = min(escape.end(), place) if escape is not None else first
    return first


def _kind(name: str, word: str, is_upper: bool) -> str | None:
    if _HARMLESS.search(name):
        return None
    stem = word[: _STEMS[word]]
    if stem == "pass":
        return "password" if _PASSWORD_NAME.search(name) else None
    if stem in ("pwd", "pw", "psk", "masterauth"):
        return "password" if len(stem) > 2 or _SHORT_NAME.search(name) else None
    if stem in ("token", "pat", "_pat", "_auth"):
        return "token" if not stem.endswith("pat") or _SHORT_NAME.search(name) else None
    if stem in ("secret", "credential"):
        return "secret"
    return "api-key" if word != "_key" or is_upper or _SECRET_KEYS.search(name) else None


def _looks_secret(kind: str, name: str, value: str, literal: bool) -> bool:
    if (
        _PLACE.match(value)
        or _DIGEST.match(value)
        or _VALIDATION.search(value)
        or (kind == "password" and not is_password(value, literal))
    ):
        return False
    if is_placeholder(value):
        return False
    if kind == "password":
        # "PASS: TestName" is the result of a test.
        is_short = name in ("pass", "pw")
        return not is_short or (
            len(value) >= 8 and not value.isdigit() and (literal or name == "pw")
        )
    if not literal and _OTHER_NAME.fullmatch(value):
        return False
    if kind != "secret" and "abc123" in value.lower():
        return False
    if not value.isascii() or is_words(value) and _is_harmless(kind, value):
        return False
    if kind == "token" and is_uuid(value):
        return _OWNED_TOKEN.search(name) is not None or _issuer(name, value) is not None
    return _is_random(value, literal)


def is_name(value: str) -> bool:
    """Whether a value is the name of something in code, maybe with a number in it."""
    return _IDENTIFIER.fullmatch(value) is not None and len(_DIGITS.findall(value)) < 3


def is_words(value: str) -> bool:
    """Whether a value consists of words and numbers: ``test-key-123``."""
    return _WORDS_AND_NUMBERS.fullmatch(value) is not None


def _is_harmless(kind: str, words: str) -> bool:
    """Whether a value of words and numbers is no secret. Of kind ``secret`` it may be one."""
    return kind != "secret" or words.count("/") > 2 or _INVENTED.search(words) is not None


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
        is_quoted_run = literal and len(value) >= 16 and value.isalpha() and entropy(value) >= 3.5
        return is_quoted_run or (len(value) >= 20 and is_random_run(value))
    return digits + symbols > 0


def is_random_run(run: str) -> bool:
    """Whether a run of letters and digits looks like a part of a token and not like a name."""
    turns = len(_TURNS.findall(run))
    return len(run) >= 12 and turns >= len(run) * 0.25 and _DIGITS.search(run) is not None


def _is_random_letters(run: str) -> bool:
    """Whether letters change between upper and lower case more often than in a name."""
    return len(run) >= 24 and run.isalpha() and len(_TURNS.findall(run)) >= len(run) * 0.4


def _is_random(value: str, literal: bool) -> bool:
    digits = len(_DIGITS.findall(value))
    if len(value) < 10 or not _LETTERS.search(value):
        return False
    if not digits:
        return literal and any(map(_is_random_letters, _PARTS.split(value)))
    if entropy(value) < (3.0 if len(value) < 20 else 3.3):
        return False
    # some_name_2 and someName2 are names. a1B2c3 is not.
    is_name = _IDENTIFIER.fullmatch(value) and digits < (2 if literal else 3)
    if not is_name or len(_TURNS.findall(value)) >= len(value) * 0.4:
        return True
    # A random part after a prefix of words: django-insecure-….
    return any(len(part) >= 20 and is_random_run(part) for part in _PARTS.split(value))
