"""Secrets of many kinds are masked, what only looks like one is left, and nothing else changes."""

import json
import random
import string
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from math import log2
from pathlib import Path

import pytest
from effort import times
from hypothesis import example, given, settings
from hypothesis import strategies as st

from session_memory.core.text import one_line
from session_memory.redact import (
    KINDS,
    Masker,
    Secret,
    hide,
    hide_lines,
    mask,
    mask_cut,
    mask_values,
    secrets,
)
from session_memory.redact.detection import _ANY_CASE, TOKEN_WORDS
from session_memory.redact.plausibility import ends_in_checksum, entropy
from session_memory.redact.scan import at_once, marks_one_by_one, one_by_one
from session_memory.redact.wrapping import _BEFORE_TOKENS, _long_runs
from session_memory.testing.hidden_secrets import FORMS, wrapped
from session_memory.testing.secrets import Planted, _Maker, lookalikes, planted_secrets

PLANTED = planted_secrets()
TWENTY_MORE_SEEDS = range(1, 21)


def ids(planted: Planted) -> str:
    return planted.kind


def in_json(text: str, depth: int) -> str:
    for _ in range(depth):
        text = json.dumps({"type": "user", "content": [{"text": text}], "n": 3})
    return text


def spellings(secret: str) -> list[str]:
    """A secret as it stands in a text, in JSON, and in JSON in JSON."""
    once = json.dumps(secret)[1:-1]
    return [secret, once, json.dumps(once)[1:-1]]


def test_there_are_rules_for_many_kinds() -> None:
    assert len(KINDS) == len(set(KINDS)) >= 80
    assert len({planted.kind for planted in PLANTED}) >= 50
    assert {planted.kind for planted in PLANTED} <= set(KINDS)


@pytest.mark.parametrize("depth", [0, 1, 2], ids=["text", "json", "json in json"])
@pytest.mark.parametrize("planted", PLANTED, ids=ids)
def test_a_secret_is_masked_by_its_kind_and_nothing_around_it(planted: Planted, depth: int) -> None:
    line = in_json(planted.text, depth)
    masked = mask(line)
    assert not any(spelling in masked for spelling in spellings(planted.secret))
    assert f"[redacted:{planted.kind}]" in masked
    before, after = line.split(spellings(planted.secret)[depth])
    assert masked.startswith(before) and masked.endswith(after)


@pytest.mark.parametrize("seed", TWENTY_MORE_SEEDS)
def test_no_secret_of_any_kind_is_missed_whatever_it_is_made_of(seed: int) -> None:
    for planted in planted_secrets(seed):
        line = in_json(planted.text, 1)
        assert planted.kind in {secret.kind for secret in secrets(line)}, planted
        assert json.loads(mask(line))


@pytest.mark.parametrize("seed", range(5))
def test_what_only_looks_like_a_secret_is_left(seed: int) -> None:
    for text in lookalikes(seed):
        for depth in range(3):
            line = in_json(text, depth)
            assert [line[s.start : s.end] for s in secrets(line)] == []
            assert mask(line) is line


PASSWORDS = (
    "DB_PASSWORD={}",
    '"Env": ["DB_PASSWORD={}"]',
    "SMTP_PASS={}",
    "password: '{}'",
    '"passwd":"{}"',
    "PGPASSWORD={} psql -h db",
    "kubectl create secret generic x --from-literal=password={}",
    "vault write secret/x password={}",
    "tool --password {} --host x",
    "Server=db;User Id=sa;Password={};Encrypt=1",
    "<password>{}</password>",
    "redis-cli -a {} ping",
    "mysql -u root -p{} shop",
    "mongodb+srv://app:{}@cluster0.example.net",
    "amqp://guest:{}@mq:5672",
    'os.environ["ADMIN_PASSWORD"] = "{}"',
)
RANDOM = (
    "export AWS_SECRET_ACCESS_KEY={}",
    "aws configure set aws_secret_access_key {}",
    'os.environ["OPENAI_KEY"] = "{}"',
    "//registry.example.com/:_authToken={}",
    "https://x-access-token:{}@git.example.com/a/b.git",
    "X-API-Key: {}",
    '-H "x-api-key: {}"',
    '"clientSecret":"{}"',
    "JWT_SECRET={}",
    "secret_key_base: {}",
    "?api_key={}&q=2",
    "access_token={}&x=1",
    "--token={}",
    'bearer_token = "{}"',
    "Authorization: token {}",
    "Cookie: theme=dark; session={}; lang=en",
    "apiKey: `{}`",
    '"accessKeySecret": "{}"',
)


@pytest.mark.parametrize("line", [*PASSWORDS, *RANDOM])
def test_a_secret_is_found_however_it_is_written_down(line: str) -> None:
    some = random.Random(line)
    for _ in range(10):
        made = "".join(some.choices(string.ascii_letters + string.digits, k=32))
        value = made if line in RANDOM else f"{made[:4]}{some.randrange(10, 99)}{made[4:8]}"
        for depth in range(3):
            text = in_json(line.format(value), depth)
            assert value not in mask(text), text


def test_places_are_characters_of_a_text_and_bytes_of_bytes() -> None:
    planted = PLANTED[4]
    text = f"prüfe 日本 {planted.secret} ✓"
    (secret,) = secrets(text)
    assert text[secret.start : secret.end] == planted.secret
    data = text.encode()
    (secret,) = secrets(data)
    assert data[secret.start : secret.end].decode() == planted.secret


def test_text_and_bytes_are_masked_alike() -> None:
    for planted in PLANTED:
        text = f"größe ✓ {planted.text} \udcff"
        data = text.encode("utf-8", "surrogatepass")
        assert mask(data) == mask(text).encode("utf-8", "surrogatepass")


def test_a_secret_after_an_escape_is_found_and_the_escape_stays_whole() -> None:
    token = next(p.secret for p in PLANTED if p.kind == "npm-token")
    line = json.dumps({"text": f"first\n{token}\ttab"})
    assert json.loads(mask(line)) == {"text": "first\n[redacted:npm-token]\ttab"}
    # \npm_… is a line break and pm_…, not an escaped npm_….
    torn = '{"text": "' + "\\" + token + '"}'
    assert json.loads(mask(torn)) == json.loads(torn)


def test_the_value_of_a_json_number_is_never_replaced() -> None:
    line = '{"password": 12345678, "api_key": 98765432109876, "token": null, "pwd": true}'
    assert mask(line) is line


def test_a_key_whose_end_was_cut_off_is_masked_and_the_words_after_it_are_not() -> None:
    whole = next(p.secret for p in PLANTED if p.kind == "private-key")
    cut = whole[:300]
    assert mask(f"{cut}... and so on") == "[redacted:private-key]... and so on"
    assert mask("look for -----BEGIN PRIVATE " + "KEY----- in it") == (
        "look for -----BEGIN PRIVATE " + "KEY----- in it"
    )


HEADERS = ("RSA PRIVATE" + " KEY", "OPENSSH PRIVATE" + " KEY", "PGP PRIVATE" + " KEY BLOCK")


def numbered(key: str, sign: str) -> str:
    return "\n".join(f"{n:6}{sign}{line}" for n, line in enumerate(key.split("\n"), start=1))


WAYS_TO_SHOW: dict[str, Callable[[str], str]] = {
    "numbered with an arrow": lambda key: numbered(key, "→"),
    "numbered with a tab": lambda key: numbered(key, "\t"),
    "numbered with a bar": lambda key: numbered(key, " │ "),
    "numbered by grep": lambda key: "\n".join(f"./id_rsa:7:{line}" for line in key.split("\n")),
    "as comments": lambda key: "# " + key.replace("\n", "\n# "),
    "quoted in a mail": lambda key: "> > " + key.replace("\n", "\n> > "),
    "added in a diff": lambda key: "+" + key.replace("\n", "\n+"),
    "removed in a diff": lambda key: "-" + key.replace("\n", "\n-"),
    "as strings": lambda key: "\n".join(f'"{line}\\n"' for line in key.split("\n")),
    "as strings put together": lambda key: " +\n  ".join(
        f"'{line}\\n'" for line in key.split("\n")
    ),
    "as a list": lambda key: json.dumps(key.split("\n")),
    "as an indented list": lambda key: json.dumps(key.split("\n"), indent=2),
    "on one line": lambda key: key.replace("\n", " "),
}


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("way", WAYS_TO_SHOW)
def test_a_private_key_is_masked_however_its_lines_are_shown(way: str, depth: int) -> None:
    for number, header in enumerate(HEADERS):
        key = _Maker(number).pem(header) + "\n"
        # The last line of a real key is a short one.
        key = key.replace("\n-----END", "\nq3Zx+A==\n-----END").rstrip("\n")
        lines = key.split("\n")[1:-1]
        for ascii in (True, False):
            text = f"before {WAYS_TO_SHOW[way](key)} after"
            for _ in range(depth):
                text = json.dumps({"content": text}, ensure_ascii=ascii)
            masked, data = mask(text), text.encode()
            hidden = hide(data)
            assert not [line for line in lines if line in masked]
            assert not [line for line in lines if line.encode() in hidden]
            assert len(hidden) == len(data)
            assert mask(masked) == masked and hide(hidden) == hidden
            assert {secret.kind for secret in secrets(text)} == {"private-key"}
            if depth:
                assert "after" in json.loads(masked)["content"]
                assert "before" in json.loads(hidden)["content"]


def test_what_stands_after_the_header_of_a_key_in_a_record_is_none_of_it() -> None:
    header = "-----BEGIN RSA PRIVATE" + " KEY-----"
    record = {"content": header, "sourceToolAssistantUUID": "0d01be1c-c130-5d8e-b732-b86b03a9201a"}
    line = json.dumps(record)
    assert mask(line) == line
    listed = json.dumps([header, "toolUseResultOfTheMostRecentCallThatWasMade"])
    assert mask(listed) == listed


def test_a_key_that_was_cut_in_a_summary_is_masked() -> None:
    key = _Maker(3).pem(HEADERS[1])
    for text in (key, numbered(key, "→"), numbered(key, "\t")):
        body = one_line(mask(one_line(text)))
        assert key.split("\n")[1][:20] not in body


def test_lines_of_one_text_are_masked_together() -> None:
    key = _Maker(5).pem(HEADERS[0])
    lines = ["a = 1", *(f"+{line}" for line in key.split("\n")), "b = 2"]
    assert mask_values({"lines": tuple(lines)}) == {
        "lines": ("a = 1", "+[redacted:private-key]", "b = 2")
    }


def test_what_stands_before_the_end_of_a_key_is_no_line_of_it() -> None:
    key = _Maker(5).pem(HEADERS[0])
    diff = "\n".join(f"+  '{line}\\n'" for line in key.split("\n"))
    assert mask(diff).split("\n")[-1] == diff.split("\n")[-1]


def test_of_a_text_that_was_cut_in_a_secret_nothing_of_it_stays() -> None:
    token = next(p.secret for p in PLANTED if p.kind == "github-token")
    assert mask_cut(f"deploy with {token[:20]}…") == "deploy with …"
    assert mask_cut("deploy with all the w…") == "deploy with all the w…"
    assert mask_values([{"sample": f"x {token}", "event_uid": "e"}, 3, None]) == [
        {"sample": "x [redacted:github-token]", "event_uid": "e"},
        3,
        None,
    ]


def test_a_secret_inside_of_another_is_masked_with_it_under_the_name_that_says_more() -> None:
    token = next(p.secret for p in PLANTED if p.kind == "github-token")
    assert mask(f'password = "x1-{token}"') == 'password = "[redacted:github-token]"'
    assert mask(f"Authorization: Bearer {token}") == "Authorization: Bearer [redacted:github-token]"


def test_a_checksum_tells_a_genuine_token_from_an_invented_one() -> None:
    token = next(p.secret for p in PLANTED if p.kind == "github-token")
    assert ends_in_checksum(token)
    assert [secret.genuine for secret in secrets(token)] == [True]
    other = token[:-1] + ("A" if token[-1] != "A" else "B")
    assert [secret.genuine for secret in secrets(other)] == [False]
    assert mask(other) == "[redacted:github-token]"


def test_equal_secrets_of_an_export_get_the_same_number() -> None:
    first, second = (p.secret for p in PLANTED if p.kind == "openai-key")
    masker = Masker()
    assert masker.mask(f"{first} {second}") == "[redacted:openai-key#1] [redacted:openai-key#2]"
    assert masker.mask(second.encode()) == b"[redacted:openai-key#2]"
    assert masker.counts == {"openai-key": 3}
    again = masker.mask(f"{first}")
    assert masker.mask(again) == again


def test_hiding_keeps_every_place() -> None:
    for planted in PLANTED:
        data = in_json(planted.text, 1).encode()
        hidden = hide(data)
        assert len(hidden) == len(data)
        assert json.loads(hidden)
        assert not any(spelling.encode() in hidden for spelling in spellings(planted.secret))
        assert hide(hidden) is hidden


def test_lines_are_hidden_one_by_one() -> None:
    key = next(p.secret for p in PLANTED if p.kind == "private-key")
    lines = [in_json(p.text, 1).encode() for p in PLANTED] + key.encode().split(b"\n")
    assert hide_lines(b"\n".join(lines)) == b"\n".join(hide(line) for line in lines)


# ------------------------------------------------------------ anything at all

PARTS = [p.text for p in PLANTED] + [p.secret for p in PLANTED] + lookalikes()[:8]
TEXTS = st.lists(st.one_of(st.text(max_size=30), st.sampled_from(PARTS)), max_size=6).map("".join)


SECRETS = {p.kind: p.secret for p in PLANTED}
KEY_BEFORE_JWT = SECRETS["private-key"].rstrip() + SECRETS["jwt"]


def test_a_token_right_behind_the_end_of_a_key_is_masked() -> None:
    jwt = SECRETS["jwt"]
    for text in (KEY_BEFORE_JWT, f"-----{jwt}"):
        assert jwt[:30] not in mask(text) and jwt[-30:] not in mask(text)


@settings(max_examples=times(100), deadline=None)
@example(KEY_BEFORE_JWT)
@given(TEXTS)
def test_masking_again_changes_nothing(text: str) -> None:
    once = mask(text)
    assert mask(once) == once
    hidden = hide(text.encode("utf-8", "surrogatepass"))
    assert hide(hidden) == hidden


@settings(max_examples=times(100), deadline=None)
@given(TEXTS)
def test_json_stays_json(text: str) -> None:
    for line in (json.dumps([text]), json.dumps([text], ensure_ascii=False)):
        assert isinstance(json.loads(mask(line)), list)
        data = line.encode("utf-8", "surrogatepass")
        assert isinstance(json.loads(hide(data).decode("utf-8", "surrogatepass")), list)


@settings(max_examples=times(100), deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_can_be_masked(data: bytes) -> None:
    found = list(secrets(data))
    assert (mask(data) == data) == (not found)
    assert len(hide(data)) == len(data)


@settings(max_examples=times(66), deadline=None)
@given(TEXTS)
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    spans = list(secrets(text))
    assert spans == sorted(spans)
    kept, last = [], 0
    for span in spans:
        kept.append(text[last : span.start])
        last = span.end
    kept.append(text[last:])
    if len(kept) == 1:
        assert mask(text) is text
    # In a second round more may be masked; what is kept never comes from elsewhere.
    masked, place = mask(text), 0
    if len(list(secrets(masked))) == 0 and masked.count("[redacted:") == len(spans):
        for part in kept:
            place = masked.index(part, place) + len(part)


# ------------------------------------------------------------ the two ways to look for words


SCANS = at_once(TOKEN_WORDS, _ANY_CASE), one_by_one(TOKEN_WORDS, _ANY_CASE)


needs_hyperscan = pytest.mark.skipif(find_spec("hyperscan") is None, reason="extra scan")


def found_by_both(text: str) -> list[set[tuple[int, int]]]:
    plain = text.encode("utf-8", "surrogatepass").decode("latin-1")
    return [{(at, number) for number, places in scan(plain) for at in places} for scan in SCANS]


@needs_hyperscan
@settings(max_examples=times(66), deadline=None)
@given(TEXTS)
def test_both_scanners_find_the_same_places(text: str) -> None:
    fast, slow = found_by_both(text)
    assert slow == fast


@needs_hyperscan
def test_both_scanners_find_the_same_places_in_hidden_and_wrapped_secrets() -> None:
    for planted in PLANTED:
        hidden = [
            planted.text.replace(planted.secret, form(planted.secret)) for form in FORMS.values()
        ]
        broken = [wrapped(planted, 80, at) for at in (2, 9, len(planted.secret) // 2)]
        for text in (*hidden, *broken):
            fast, slow = found_by_both(text)
            assert slow == fast, (planted.kind, text)


@pytest.mark.parametrize("scan", [one_by_one, at_once])
def test_whichever_scanner_is_there_finds_the_same_secrets(
    scan: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    if scan is not one_by_one:
        pytest.importorskip("hyperscan")
    assert callable(scan)
    scanner = scan(TOKEN_WORDS, _ANY_CASE)
    monkeypatch.setattr("session_memory.redact.detection._scan", lambda: scanner)
    for planted in planted_secrets(77):
        assert planted.kind in {secret.kind for secret in secrets(planted.text)}


@settings(max_examples=times(50), deadline=None)
@given(st.text(st.sampled_from("aAbB01_-é"), min_size=1, max_size=300))
def test_entropy_is_that_of_the_signs_of_the_beginning(text: str) -> None:
    text = text[:256]
    shares = [count / len(text) for count in Counter(text).values()]
    assert entropy(text) == pytest.approx(-sum(share * log2(share) for share in shares))


@pytest.mark.parametrize("line", ["\n", "\\n"])
def test_both_ways_find_the_breaks_inside_of_every_word(line: str) -> None:
    rest, found = "a1B2c3D4e5F6g7H8", _long_runs(TOKEN_WORDS)
    every = marks_one_by_one(_BEFORE_TOKENS)
    for word in TOKEN_WORDS:
        for size in range(1, len(word)):
            text = f"x {word[:size]}{line}{word[size:]}{rest} y{line}{rest} y"
            places, runs = set(found(text)), set(every(text))
            assert places <= runs
            first = 2 + size + len(line) + 16
            assert (first in places) == (first in runs), text


# ------------------------------------------------------------ hostile text


HOSTILE = [
    "eyJ",
    "_eyJ",
    "token",
    "password=",
    'password="',
    "://a:",
    "://",
    "authorization: bearer ",
    "-----BEGIN PRIVATE " + "KEY-----",
    "-----BEGIN PRIVATE " + "KEY-----\\n",
    "sk-",
    "pypi-AgE",
    "a" * 20 + "-us1",
    "AccountKey=" + "A" * 80,
    "login x password ",
    " -u a:",
    "\\" * 7 + '"auth\\": \\"',
    "dp.st.",
    "xoxb-1-",
    "mysql -u a ",
    "redis-cli x ",
    "cookie: a=b; ",
    "a_pass=x ",
    "-----BEGIN PRIVATE " + "KEY-----\n     1→",
    "-----BEGIN PRIVATE " + 'KEY-----\\n\\"Version: 1',
    "-----BEGIN PRIVATE " + "KEY-----" + '\n"aB3' * 20,
    "-----BEGIN PRIVATE " + "KEY-----" + "\n> " + "aB3" * 20,
    'Private-Lines: 9\n  1→aB3"',
    "authorization=",
    "glpat-x.",
    "-pypi-AgE",
    "sntrys_=",
    "pwd=",
    "_pass= ",
    ":AA",
    "\\nglrt-",
    "sk-\n",
    "sk-a1B2c3\n",
    "g\nhp_" + "a1" * 8,
    "\x1b",
    "\0",
    "a\x1b[1mtoken",
    "\x1b]8;;",
    "\\u0067hp_",
    "\\u005cu0067",
    "%67hp_",
    "&#103;",
    "a\ba",
    "[1;1;1;1",
    "\x1bPRIVATE " + "KEY " + "a" * 9000,
    "-----BEGIN PRIVATE " + "KEY-----\x1b[m\nA",
]


@pytest.mark.parametrize("part", HOSTILE)
def test_a_long_line_of_the_worst_there_is_is_worked_through(part: str) -> None:
    """A rule that looks far ahead from every place would take minutes or hours here."""
    line = (part * (80_000 // len(part))).encode()
    assert len(hide(line)) == len(line)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["eyJ", HOSTILE[8]])
def test_a_line_of_a_megabyte_is_worked_through(part: str) -> None:
    line = (part * (1_000_000 // len(part))).encode()
    assert len(hide(line)) == len(line)


def test_randomness_is_measured_in_bits_for_each_character() -> None:
    assert entropy("") == 0 == entropy("aaaa")
    assert entropy("abab") == 1
    assert entropy("abcd" * 4) == 2 == entropy("abcd")
    signs = string.ascii_letters + string.digits
    assert entropy("".join(random.Random(1).choices(signs, k=40))) > 4


def test_a_secret_names_its_kind_and_place() -> None:
    planted = next(p for p in PLANTED if p.kind == "stripe-key")
    assert list(secrets(planted.secret)) == [Secret(0, len(planted.secret), "stripe-key")]


def test_every_kind_is_on_the_page_about_them() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "redaction.md").read_text("utf-8")
    assert [kind for kind in KINDS if f"`{kind}`" not in page] == []
