"""Secrets in commands, headers, files and code are masked; references and names in code are not."""

import json
from pathlib import Path

import pytest

from session_memory.redact import mask
from session_memory.testing.secret_lines import SecretLine, filled_lines

FORMS = Path(__file__).parent.parent.parent / "benchmarks"

# What no rule recognizes yet. A rule that does removes its line here.
MISSED = {
    "vault login {r}",
    'const stripe = new Stripe("{r}")',
    "'DB_PASSWORD', '{p}'",
    "sonar.login={r}",
    'curl -b "session={r}" https://x.local',
    "poetry config http-basic.x me {p}",
    "poetry config pypi-token.pypi {r}",
    'gh secret set DB_PASSWORD --body "{p}"',
    "gh secret set DB_PASSWORD -b{p}",
    "password: !vault {r}",
    r"net use z: \\\\x\\y /user:me {p}",
    'connect("db", "me", "{p}")',
    "wpa_passphrase home {p}",
    "mount -o user=me,pass={p} //x/y",
    "rclone config create x sftp pass {p}",
    'restic -r x --password-command "echo {p}"',
    "kinit me <<< {p}",
    r'expect "password:" send "{p}\r"',
    "xfreerdp /u:me /p:{p} /v:x",
}
# Chosen passwords, even if they are those of a test or of a manual.
MASKED = {
    "postgres://postgres:postgres@localhost:5432/x",
    'password="test1234"',
    'password: "hunter2"',
}


def shown(line: SecretLine) -> list[str]:
    """The masked line, in a text and in JSON."""
    record = json.dumps({"type": "user", "content": [{"text": f"first\n{line.text}\nlast"}]})
    return [mask(line.text), json.loads(mask(record))["content"][0]["text"]]


@pytest.mark.parametrize("seed", range(3))
def test_a_secret_is_masked_in_every_line(seed: int) -> None:
    leaking = {
        line.form
        for line in filled_lines(FORMS / "secret_lines.txt", seed)
        if any(secret in text for text in shown(line) for secret in line.secrets)
    }
    assert leaking == MISSED


@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_masked_in_a_line_without_a_secret(seed: int) -> None:
    changed = {
        line.form
        for line in filled_lines(FORMS / "harmless_lines.txt", seed)
        if any("[redacted:" in text for text in shown(line))
    }
    assert changed == MASKED
