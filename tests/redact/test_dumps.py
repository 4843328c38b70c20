"""A text that is full of secrets is masked whole: nothing leaks, JSON stays valid, ids stay."""

import json
import random
import string

import pytest

from session_memory.redact import hide, hide_lines, mask, secrets
from session_memory.redact.dumps import MOST, SHORTEST


def invented(count: int, form: str) -> tuple[list[str], str]:
    """Passwords, and a text with each of them in this form."""
    some = random.Random(form)
    signs = string.ascii_letters + string.digits
    values = [f"q{''.join(some.choices(signs, k=9))}7" for _ in range(count)]
    return values, "".join(form.format(value) for value in values)


FORMS = (
    "password={} ",
    "token=\x1b[1m{}x1Y2z3 ",
    "https://u:\x1b[m{}@h/ ",
    "DB_PASS={}\n",
    '{{"password": "{}", "n": 12345678, "ok": true}}, ',
)


@pytest.mark.parametrize("form", FORMS)
def test_no_secret_of_a_dump_leaks_and_the_record_stays_readable(form: str) -> None:
    values, text = invented(1500, form)
    record = {"type": "user", "uuid": "0d01be1c-c130-5d8e", "n": 7, "content": [{"text": text}]}
    for line in (json.dumps(record), json.dumps({**record, "content": json.dumps(record)})):
        hidden = hide(line.encode())
        assert len(hidden) == len(line) and hide(hidden) == hidden
        read = json.loads(hidden)
        assert (read["type"], read["uuid"], read["n"]) == ("user", "0d01be1c-c130-5d8e", 7)
        masked = mask(line)
        assert json.loads(masked)["uuid"] == "0d01be1c-c130-5d8e"
        assert mask(masked) == masked
        assert not [value for value in values if value in masked or value.encode() in hidden]
    assert "dump" in {secret.kind for secret in secrets(json.dumps(record))}
    masked = mask(text)
    assert not [value for value in values if value in masked]


def test_codes_of_letters_in_a_dump_are_masked() -> None:
    values, _ = invented(1200, "codes")
    text = " ".join(f"password={value}" for value in values)
    for code in ("\\u{:04x}", "\\{:03o}"):
        escaped = "".join(code.format(ord(sign)) for sign in values[0])
        assert escaped[1:] not in mask(f"{text} {escaped}")


def test_a_text_with_fewer_secrets_is_no_dump() -> None:
    _, text = invented(MOST - 100, "password={} and some words that are between two secrets, ")
    assert len(text) > SHORTEST
    assert {secret.kind for secret in secrets(text)} == {"password"}
    assert "some words" in mask(text)


def test_the_mask_of_a_line_does_not_depend_on_the_dump_beside_it() -> None:
    _, dump = invented(1500, "password={} ")
    _, few = invented(300, "password={} x")
    lines = [json.dumps({"text": text}).encode() for text in (few, dump, "nothing", few, "x")]
    lines += [f"password=a{number}b7c8d9".encode() for number in range(400)]
    assert hide_lines(b"\n".join(lines)) == b"\n".join(map(hide, lines))
