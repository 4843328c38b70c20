"""Colours, escapes, invisible characters and line breaks do not hide a secret from the rules."""

import json
from collections.abc import Callable

import pytest
from effort import EFFORT, times
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.redact import KINDS, Masker, hide, hide_lines, mask, mask_cut, secrets
from session_memory.redact.decoding import MARKS, View, views
from session_memory.redact.scan import mark_finder, marks_one_by_one
from session_memory.redact.wrapping import _WIDTHS
from session_memory.testing.hidden_secrets import FORMS, SPELLINGS, leaked, seen, wrapped
from session_memory.testing.secrets import Planted, lookalikes, planted_secrets

PLANTED = planted_secrets()
TOKEN = next(planted for planted in PLANTED if planted.kind == "github-token")
# Recognized by their own format, and on one line.
TOKENS = [p for p in PLANTED if p.text.startswith("it printed") and "\n" not in p.secret]


def formed(planted: Planted, form: Callable[[str], str]) -> str:
    """The text of a secret with each of its lines in another form."""
    hidden = "\n".join(form(line) for line in planted.secret.split("\n"))
    return planted.text.replace(planted.secret, hidden)


def leaks_of_line(planted: Planted, line: str) -> str:
    """What leaks from a line of JSON that is masked as while collecting."""
    data = line.encode("utf-8", "surrogatepass")
    hidden = hide(data)
    assert len(hidden) == len(data)
    assert hide(hidden) == hidden
    json.loads(hidden)
    return leaked(planted, hidden.decode("utf-8", "surrogatepass"))


def test_a_secret_of_every_kind_is_planted() -> None:
    # A dump is a text with many secrets.
    assert {planted.kind for planted in PLANTED} == set(KINDS) - {"dump"}
    assert len(PLANTED) * len(FORMS) > 177


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_of_every_kind_is_masked_in_every_form(form: str) -> None:
    for planted in PLANTED:
        text = formed(planted, FORMS[form])
        masked = mask(text)
        assert not leaked(planted, masked), (planted.kind, masked)
        assert mask(masked) == masked
        assert not leaks_of_line(planted, json.dumps({"text": text})), planted.kind


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("form", ["plain", "colour around", "highlighted", "link"])
def test_a_secret_of_every_kind_is_masked_in_every_spelling_of_json(
    form: str, spelling: str
) -> None:
    # Of the forms that are no matter of JSON each spelling has a third of the kinds, not the same.
    first = list(SPELLINGS).index(spelling) % 3
    for planted in PLANTED if form == "plain" or EFFORT > 1 else PLANTED[first::3]:
        line = SPELLINGS[spelling](planted.secret, formed(planted, FORMS[form]))
        assert not leaks_of_line(planted, line), (planted.kind, line)


@pytest.mark.parametrize("sign", ["+", "-", "\x1b[32m+\x1b[m\x1b[32m"])
def test_a_token_at_the_start_of_a_line_of_a_diff_is_masked(sign: str) -> None:
    for planted in TOKENS:
        for before in ("@@ -1 +1 @@\n", "a\tb\n\t", ""):
            text = f"{before}{sign}{planted.secret}\n"
            assert not leaked(planted, mask(text)), (planted.kind, before)
            assert not leaks_of_line(planted, json.dumps({"out": text})), (planted.kind, before)


@pytest.mark.parametrize("behind", ["user@host:~$", "_old", "/repo", "-x", "+1"])
def test_what_is_printed_right_behind_a_token_does_not_hide_it(behind: str) -> None:
    masked = mask(f"{TOKEN.secret}{behind}")
    assert not leaked(TOKEN, masked)
    assert masked.endswith(behind)


def test_an_address_inside_of_an_address_is_decoded() -> None:
    password = next(p for p in PLANTED if p.kind == "database-url-password")
    encoded = password.text.replace(":", "%3A").replace("/", "%2F").replace("@", "%40")
    assert password.secret not in mask(f"open?next={encoded}&x=1")
    first = f"%{ord(TOKEN.secret[0]):02X}{TOKEN.secret[1:]}"
    assert mask(f"?t={first}&x=1") == "?t=[redacted:github-token]&x=1"


@pytest.mark.parametrize("width", [80, 93, 120])
@pytest.mark.parametrize("line", ["\n", "\r\n", "\\\n"], ids=["lf", "crlf", "shell"])
def test_a_token_that_a_terminal_wrapped_is_masked(width: int, line: str) -> None:
    for planted in TOKENS:
        for at in (2, len(planted.secret) // 2):
            text = wrapped(planted, width, at, line)
            assert not leaked(planted, mask(text)), (planted.kind, text)
            assert not leaks_of_line(planted, json.dumps({"text": text})), planted.kind
            assert not leaks_of_line(planted, json.dumps({"text": json.dumps([text])}))


@pytest.mark.parametrize("indent", ["  ", "\t", "        "])
def test_a_token_with_an_indented_second_line_is_masked(indent: str) -> None:
    text = f"key: >-\n{indent}{TOKEN.secret[:18]}\n{indent}{TOKEN.secret[18:]}\nother: done"
    masked = mask(text)
    assert TOKEN.secret[:18] not in masked and TOKEN.secret[18:] not in masked
    assert masked.endswith("\nother: done")
    line = hide(json.dumps({"text": text}).encode()).decode()
    assert TOKEN.secret[18:] not in line and json.loads(line)["text"].endswith("other: done")


@pytest.mark.parametrize("follower", ["done", "a1b2c3 is next", "export X=1", "", "\n\ndone"])
def test_the_last_line_of_a_wrapped_token_may_be_followed_by_another(follower: str) -> None:
    for planted in TOKENS:
        for at in (2, 9, len(planted.secret) // 2):
            text = wrapped(planted, 80, at).replace(" and went on", f"\n{follower}")
            masked = mask(text)
            assert not leaked(planted, masked), (planted.kind, masked)
            # A line of a usual width counts as wrapped, even if it is the last one by chance.
            if _WIDTHS.isdisjoint(map(len, text.split("\n")[1:])):
                assert masked.endswith(f"\n{follower}"), (planted.kind, masked)


def test_a_secret_beside_a_name_is_masked_if_the_line_has_a_usual_width() -> None:
    for planted in PLANTED:
        if planted.kind in ("password", "secret", "api-key", "token", "url-password"):
            text = wrapped(planted, 80, len(planted.secret) // 2)
            assert not leaked(planted, mask(text)), planted.kind


def test_the_next_line_is_not_masked_with_a_secret_at_the_end_of_a_line() -> None:
    for planted in TOKENS:
        for follower in (
            "DATABASE_HOST=db.local",
            "done",
            "src/app/main.py: 3 errors",
            "Next step",
        ):
            # This line is wider than any usual terminal.
            text = f"{'and then ' * 20} export KEY={planted.secret}\n{follower}"
            assert mask(text).split("\n")[1:] == [follower], planted.kind


def test_an_address_at_the_end_of_a_line_has_no_password_from_the_next_line() -> None:
    text = "it listens on http://x.local:8080\nme@x.local wrote it\nssh://git@x.local:22\na@b"
    assert mask(text) == text


def test_a_title_masks_a_token_whose_line_break_became_a_blank() -> None:
    for planted in TOKENS:
        half = len(planted.secret) // 2
        title = f"deploy with {planted.secret[:half]} {planted.secret[half:]} now"
        assert not leaked(planted, mask_cut(title).replace(" ", "")), planted.kind
    for title in ("add the token parser for ghp_ and glpat- prefixes now", "fix http://x:80 a@b"):
        assert mask_cut(title) == title


def test_what_is_around_a_hidden_secret_stays() -> None:
    text = f"\x1b[1mfirst\x1b[0m \x1b[32m{TOKEN.secret}\x1b[0m, then \x1b[31mlast\x1b[0m"
    assert mask(text) == (
        "\x1b[1mfirst\x1b[0m \x1b[32m[redacted:github-token]\x1b[0m, then \x1b[31mlast\x1b[0m"
    )
    line = json.dumps({"a": text, "b": 'a "quoted" C:\\new\\table'})
    assert json.loads(mask(line)) == {"a": mask(text), "b": 'a "quoted" C:\\new\\table'}


def test_places_are_those_of_the_original_text() -> None:
    for form in FORMS.values():
        text = f"größe ✓ {form(TOKEN.secret)} ✓"
        (secret,) = secrets(text)
        assert seen(text[secret.start : secret.end]).strip("\u241b") == TOKEN.secret
        assert secret.kind == "github-token" and secret.genuine


def test_the_same_secret_has_the_same_number_in_every_form() -> None:
    masker = Masker()
    for form in FORMS.values():
        assert "[redacted:github-token#1]" in masker.mask(f"it is {form(TOKEN.secret)} here")
    assert masker.mask(f"{wrapped(TOKEN, 80, 9)}").count("#1]") == 1


@pytest.mark.parametrize("form", [form for form in FORMS if FORMS[form]("word").isascii()])
def test_what_only_looks_like_a_secret_is_left_in_every_form(form: str) -> None:
    for text in lookalikes():
        if "\n" not in text and len(text) < 1000:
            coloured = " ".join(FORMS[form](word) for word in text.split(" "))
            assert mask(coloured) == coloured


def test_a_secret_in_the_address_of_a_link_is_masked() -> None:
    for token in (TOKEN.secret, "\x1b[1m" + TOKEN.secret):
        text = f"\x1b]8;;https://x.local/?t={token}\x07here\x1b]8;;\x07"
        assert TOKEN.secret not in mask(text)


def test_a_secret_far_from_what_hides_it_is_masked_whole() -> None:
    jwt = next(p.secret for p in PLANTED if p.kind == "jwt")
    head, body, sign = jwt.split(".")
    long = f"{head}.{body * 60}.{sign}"
    text = f"it is {long[:-5]}\x1b[0m{long[-5:]} there"
    assert mask(text) == "it is [redacted:jwt] there"
    key = next(p.secret for p in PLANTED if p.kind == "private-key")
    hidden = key.replace("-----BEGIN", "\\u002d----BEGIN").replace("\n", "\\n")
    assert json.loads(mask(f'["{hidden}"]')) == ["[redacted:private-key]"]


# ------------------------------------------------------------ anything at all

PIECES = st.sampled_from(
    [
        "\x1b",
        "[",
        "\x1b[1m",
        "\x1b]8;;",
        "\x07",
        "\\",
        "\\u00",
        "67",
        "\\u0067",
        "\\x1b",
        "%70",
        "n",
    ]
    + ["&#", "103;", "^[[0m", "\u200b", "\xad", "\b", '"', "\n", "\\n", "/", "\\/", "b", "é", "\0"]
    + [TOKEN.secret, TOKEN.secret[:9], TOKEN.secret[9:], "password=", "hp_", "token: "]
)
HOSTILE = st.lists(PIECES, max_size=24).map("".join)


# Without hyperscan, both are the same.
FINDERS = (marks_one_by_one(MARKS), mark_finder(MARKS))


@settings(max_examples=times(66), deadline=None)
@given(HOSTILE)
def test_json_stays_json_and_masking_again_changes_nothing(text: str) -> None:
    for line in (json.dumps([text]), json.dumps([text], ensure_ascii=False)):
        assert isinstance(json.loads(mask(line)), list)
        data = line.encode()
        hidden = hide(data)
        assert len(hidden) == len(data) and isinstance(json.loads(hidden), list)
        assert hide(hidden) == hidden
        assert hide_lines(data + b"\n" + data) == hidden + b"\n" + hidden
    masked = mask(text)
    assert mask(masked) == masked


@settings(max_examples=times(50), deadline=None)
@given(HOSTILE)
def test_every_character_of_a_view_is_at_its_place_in_the_text(text: str) -> None:
    plain = text.encode().decode("latin-1")
    for view in views(plain):
        last = 0
        for place in range(len(view.text)):
            start, end = view.original(place, place + 1)
            assert last <= start < end <= len(plain)
            last = start
        if view.text:
            assert view.original(0, len(view.text))[1] <= len(plain)


@settings(max_examples=times(50), deadline=None)
@given(HOSTILE)
def test_every_text_that_has_a_view_has_a_mark(text: str) -> None:
    plain = text.encode().decode("latin-1")
    slow, fast = (set(find(plain)) for find in FINDERS)
    # One overprinted character alone hides nothing.
    if "\\b" not in plain and any(view.text != plain for view in views(plain)):
        assert slow
    assert fast >= slow


def test_positions_are_translated_through_several_changes() -> None:
    view = View("ab<cd>ef", 100).without([(2, 3), (5, 6)])
    assert view.text == "abcdef"
    assert view.original(2, 4) == (103, 105)
    assert view.original(0, 6) == (100, 108)
    assert view.without([(1, 5)]).original(1, 2) == (107, 108)
