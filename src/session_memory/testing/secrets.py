"""Make invented secrets of every kind, and texts that only look like secrets.

A secret is put together from parts when it is made, so that scanners find none in this file. The
same seed gives the same secrets.
"""

import base64
import hashlib
import json
import string
import uuid
from collections.abc import Callable
from random import Random
from typing import NamedTuple
from zlib import crc32

_LETTERS = string.ascii_letters
_MIXED = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_URL = _MIXED + "_-"
_BASE64 = _MIXED + "+/"
_BASE32 = string.ascii_uppercase + "234567"


class Planted(NamedTuple):
    """A secret, its kind, and a text with the secret in it, as in a log."""

    kind: str
    secret: str
    text: str


class _Maker:
    """Makes random texts. The same seed and the same calls give the same texts."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def some(self, count: int, signs: str = _MIXED) -> str:
        return "".join(self._random.choice(signs) for _ in range(count))

    def noise(self, count: int) -> bytes:
        return self._random.randbytes(count)

    def checked(self, prefix: str) -> str:
        """Return a token with a checksum at its end, as GitHub and npm make them."""
        body, rest = self.some(30), ""
        number = crc32(body.encode())
        signs = string.digits + string.ascii_uppercase + string.ascii_lowercase
        while number:
            number, digit = divmod(number, 62)
            rest = signs[digit] + rest
        return prefix + body + rest.rjust(6, "0")

    def pem(self, what: str) -> str:
        lines = "\n".join(self.some(64, _BASE64) for _ in range(12))
        return f"-----BEGIN {what}-----\n{lines}\n-----END {what}-----"

    def jwt(self) -> str:
        parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": self.some(10), "iat": 1516239022})
        head, body = (base64.urlsafe_b64encode(json.dumps(p).encode()).decode() for p in parts)
        return ".".join((head.rstrip("="), body.rstrip("="), self.some(43, _URL)))


def planted_secrets(seed: int = 0) -> list[Planted]:
    """Return a secret of every kind, each in a text of its own."""
    make = _Maker(seed)
    return [*_tokens(make), *_named(make), *_rare_tokens(make), *_rare_named(make)]


def _tokens(make: _Maker) -> list[Planted]:
    """Return secrets that are recognized by their own form, in any text."""
    some = make.some
    tokens: tuple[tuple[str, str], ...] = (
        ("aws-access-key-id", "AK" + "IA" + some(16, _BASE32)),
        ("google-api-key", "AI" + "za" + some(35, _URL)),
        ("google-oauth-secret", "GOC" + "SPX-" + some(28, _URL)),
        ("azure-client-secret", some(3) + "8" + "Q~" + some(34, _MIXED)),
        ("github-token", make.checked("gh" + "p_")),
        ("github-token", make.checked("gh" + "s_")),
        ("github-fine-grained-token", "github" + "_pat_" + some(22) + "_" + some(59)),
        ("gitlab-token", "gl" + "pat-" + some(20, _URL)),
        ("npm-token", make.checked("npm" + "_")),
        ("pypi-token", "pypi" + "-AgEIcHlwaS5vcmc" + some(150, _URL)),
        ("rubygems-key", "rubygems" + "_" + some(48, _HEX)),
        ("docker-token", "dckr" + "_pat_" + some(27, _URL)),
        ("anthropic-key", "sk" + "-ant-api03-" + some(93, _URL) + "AA"),
        ("openai-key", "sk" + "-proj-" + some(74, _URL) + "T3Blbk" + "FJ" + some(74, _URL)),
        ("openai-key", "sk" + "-" + some(20) + "T3Blbk" + "FJ" + some(20)),
        ("openrouter-key", "sk" + "-or-v1-" + some(64, _HEX)),
        ("huggingface-token", "hf" + "_" + some(34, _LETTERS)),
        ("groq-key", "gsk" + "_" + some(52)),
        ("replicate-token", "r8" + "_" + some(37)),
        (
            "slack-token",
            "xox" + "b-" + "-".join((some(12, "123456789"), some(12, "123456789"), some(24))),
        ),
        ("stripe-key", "sk" + "_live_" + some(24)),
        ("stripe-webhook-secret", "wh" + "sec_" + some(32)),
        ("twilio-key", "S" + "K" + some(32, _HEX)),
        ("sendgrid-key", "S" + "G." + some(22, _URL) + "." + some(43, _URL)),
        ("mailchimp-key", some(32, _HEX) + "-us" + "14"),
        ("telegram-bot-token", some(10, "123456789") + ":" + "AA" + some(33, _URL)),
        ("shopify-token", "shp" + "at_" + some(32, _HEX)),
        ("digitalocean-token", "dop" + "_v1_" + some(64, _HEX)),
        ("databricks-token", "da" + "pi" + some(32, _HEX)),
        ("vault-token", "hv" + "s." + some(95, _URL)),
        ("terraform-token", some(14) + ".atlas" + "v1." + some(64, _URL)),
        ("pulumi-token", "pu" + "l-" + some(40, _HEX)),
        ("linear-key", "lin" + "_api_" + some(40)),
        ("new-relic-key", "NR" + "AK-" + some(27, string.ascii_uppercase + string.digits)),
        ("grafana-token", "gl" + "sa_" + some(32) + "_" + some(8, _HEX)),
        ("sentry-token", "sntr" + "yu_" + some(64, _HEX)),
        ("postman-key", "PM" + "AK-" + some(24, _HEX) + "-" + some(34, _HEX)),
        ("age-key", "AGE-" + "SECRET-KEY-1" + some(58, "023456789ACDEFGHJKLMNPQRSTUVWXYZ")),
        ("tailscale-key", "ts" + "key-auth-" + some(12) + "-" + some(32)),
        ("jwt", make.jwt()),
        ("private-key", make.pem("RSA PRIVATE" + " KEY")),
        ("private-key", make.pem("OPENSSH PRIVATE" + " KEY")),
    )
    return [Planted(kind, token, f"it printed {token} and went on") for kind, token in tokens]


def _named(make: _Maker) -> list[Planted]:
    """Return secrets that are recognized by the name or the text before them."""
    some = make.some
    named: tuple[tuple[str, str, Callable[[str], str]], ...] = (
        ("aws-secret-key", some(40, _BASE64), "aws_secret_access_key = {}".format),
        ("azure-storage-key", some(86, _BASE64) + "==", "AccountName=x;AccountKey={};End".format),
        ("datadog-key", some(32, _HEX), "export DATADOG_API_KEY={}".format),
        ("heroku-key", str(uuid.UUID(some(32, _HEX))), "HEROKU_API_KEY={}".format),
        (
            "slack-webhook",
            f"T{some(8)}/B{some(10)}/{some(24)}",
            "https://hooks.slack.com/services/{}".format,
        ),
        (
            "discord-webhook",
            f"{some(18, '123456789')}/{some(68, _URL)}",
            "https://discord.com/api/webhooks/{}".format,
        ),
        (
            "database-url-password",
            "pg" + some(10) + "7",
            "postgres://shop:{}@db.local:5432/shop".format,
        ),
        ("url-password", "git" + some(10) + "7", "https://bot:{}@git.local/shop.git".format),
        ("authorization-header", some(40), "Authorization: Bearer {}".format),
        (
            "command-line-password",
            "pw" + some(8) + "7!",
            "curl -s -u admin:{} https://x.local".format,
        ),
        ("netrc-password", "nr" + some(8) + "7", "machine x.local login me password {}".format),
        (
            "docker-registry-auth",
            base64.b64encode(f"me:{some(14)}".encode()).decode(),
            '{{"auths": {{"x": {{"auth": "{}"}}}}}}'.format,
        ),
        ("password", "b" + some(9) + "7$", 'password = "{}"'.format),
        ("password", "B" + some(9) + "7", "DB_PASSWORD={}".format),
        ("secret", some(32), "client_secret: {}".format),
        ("api-key", some(32), "'apiKey': '{}'".format),
        ("token", some(32), '"access_token": "{}"'.format),
    )
    return [Planted(kind, secret, text(secret)) for kind, secret, text in named]


def _rare_tokens(make: _Maker) -> list[Planted]:
    """Return secrets of less common issuers that are recognized by their own form."""
    some = make.some
    upper = string.ascii_uppercase + string.digits
    tokens: tuple[tuple[str, str], ...] = (
        ("aws-bedrock-key", "AB" + "SK" + some(110, _MIXED)),
        ("google-oauth-token", "ya" + "29." + some(80, _URL)),
        ("fly-token", "fm" + "2_" + some(120, _MIXED)),
        ("heroku-key", "HRKU" + "-AA" + some(58, _URL)),
        ("doppler-token", "dp" + ".pt." + some(43)),
        ("planetscale-token", "pscale" + "_tkn_" + some(43, _URL)),
        ("supabase-key", "sb" + "p_" + some(40, _HEX)),
        ("cloudflare-origin-key", "v1" + ".0-" + some(24, _HEX) + "-" + some(146, _HEX)),
        ("gitlab-runner-token", "GR" + "1348941" + some(20, _URL)),
        ("artifactory-token", "AK" + "Cp" + some(69)),
        ("atlassian-token", "ATA" + "TT3" + some(186, _URL)),
        ("figma-token", "fig" + "d_" + some(40, _URL)),
        ("notion-token", "nt" + "n_" + some(11, string.digits) + some(35)),
        ("perplexity-key", "pp" + "lx-" + some(48)),
        ("xai-key", "xa" + "i-" + some(80)),
        ("nvidia-key", "nv" + "api-" + some(64, _URL)),
        ("square-token", "sq" + "0csp-" + some(43, _URL)),
        ("mailgun-key", "ke" + "y-" + some(32, _HEX)),
        ("brevo-key", "xkey" + "sib-" + some(64, _HEX) + "-" + some(16)),
        ("easypost-key", "EZ" + "AK" + some(54)),
        ("dynatrace-token", "dt0" + "c01." + some(24, upper) + "." + some(64, upper)),
        ("1password-token", "ops" + "_eyJ" + some(300)),
    )
    return [Planted(kind, token, f"it printed {token} and went on") for kind, token in tokens]


def _rare_named(make: _Maker) -> list[Planted]:
    """Return secrets of less common issuers that are recognized by the name or the text before
    them."""
    some = make.some
    putty = "\n".join(some(64, _BASE64) for _ in range(4))
    named: tuple[tuple[str, str, Callable[[str], str]], ...] = (
        ("putty-private-key", putty, "Private-Lines: 4\n{}".format),
        (
            "azure-sas-signature",
            some(43, _MIXED) + "%3D",
            "https://x.blob.local/c?sv=2022&sig={}".format,
        ),
        (
            "teams-webhook",
            f"webhookb2/{uuid.UUID(some(32, _HEX))}@{uuid.UUID(some(32, _HEX))}/{some(32, _HEX)}",
            "https://shop.webhook.office.com/{}".format,
        ),
        ("session-cookie", some(32), "Cookie: theme=dark; session={}; lang=en".format),
        ("gcp-private-key-id", some(40, _HEX), '"private_key_id": "{}"'.format),
        ("cloudflare-key", some(40), "CLOUDFLARE_API_TOKEN={}".format),
        ("discord-token", f"{some(24)}.{some(6)}.{some(27)}", "DISCORD_TOKEN={}".format),
        ("twilio-auth-token", some(32, _HEX), "TWILIO_AUTH_TOKEN={}".format),
        ("okta-token", "00" + some(40), "OKTA_API_TOKEN={}".format),
        ("sonar-token", "squ_" + some(40, _HEX), "SONAR_TOKEN={}".format),
        ("algolia-key", some(32, _HEX), "ALGOLIA_API_KEY={}".format),
        ("cohere-key", some(40), "COHERE_API_KEY={}".format),
        ("mistral-key", some(32), "MISTRAL_API_KEY={}".format),
        (
            "url-signature",
            some(64, _HEX),
            "https://x.local/a?X-Amz-Date=1&X-Amz-Signature={}".format,
        ),
        (
            "seed-phrase",
            " ".join(some(6, string.ascii_lowercase) for _ in range(12)),
            'mnemonic = "{}"'.format,
        ),
        ("snyk-token", str(uuid.UUID(some(32, _HEX))), "SNYK_TOKEN={}".format),
    )
    return [Planted(kind, secret, text(secret)) for kind, secret, text in named]


def lookalikes(seed: int = 0) -> list[str]:
    """Return texts that look like secrets but are none."""
    make = _Maker(seed)
    some = make.some
    image = base64.b64encode(make.noise(6000)).decode()
    digest = hashlib.sha512(some(20).encode()).digest()
    return [
        f"commit {some(40, _HEX)}\nAuthor: A. Person <a@x.local>",
        f"index {some(7, _HEX)}..{some(7, _HEX)} 100644",
        f"sha256:{some(64, _HEX)}",
        f'{{"uuid": "{uuid.UUID(some(32, _HEX))}", "sessionId": "{uuid.UUID(some(32, _HEX))}"}}',
        f'"integrity": "sha512-{base64.b64encode(digest).decode()}"',
        f"--hash=sha256:{some(64, _HEX)}",
        f"golang.org/x/sys v0.1.0 h1:{some(43, _BASE64)}=",
        f'<img src="data:image/png;base64,{image}">',
        f'{{"type": "base64", "media_type": "image/png", "data": "{image}"}}',
        f'"id": "toolu_01{some(22)}", "message": {{"id": "msg_01{some(22)}"}}',
        "!function(e,t){e.token=t.token,e.password=t.password;var n=e.apiKey||t.apiKey;n()}(a)",
        'e.exports={password:"password",token:"token",apiKey:"apiKey",secret:n(31)}',
        '"usage": {"input_tokens": 12345678, "cache_read_input_tokens": 87654321}',
        "max_tokens=4096, token_count: 123456789, tokenizer = AutoTokenizer.from_pretrained(name)",
        'password = os.environ["DB_PASSWORD"]; token = get_token(user_id)',
        "password: str = Field(min_length=8), api_key: Optional[str] = None",
        "token = request.headers.get('Authorization').removeprefix('Bearer ')",
        "secret = self.settings.secret_key_for_signing",
        "api_key: ${{ secrets.API_KEY }} password=$DB_PASSWORD token=%TOKEN% secret=<your-secret>",
        "AKIA" + "IOSFODNN7" + "EXAMPLE",
        "api_key = 'your-api-key-here-1234'",
        "gh" + "p_" + "x" * 36,
        "sort_key=created_at2024, primary_key=id_000123, cache_key: v1:users:8842:page:3f9a2b",
        "task-0123 and disk-usage and a risk-averse mask-1",
        "postgres://localhost:5432/shop and http://x.local:8080/a@b",
        "Enter your password: \nPassword: ********",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + some(43) + " me@x.local",
    ]
