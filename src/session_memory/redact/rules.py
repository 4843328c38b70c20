"""The rules: the format of each kind of secret. An earlier rule in `RULES` is preferred.

A rule is applied only where one of its words occurs in the text, so its words must be rare. Every
repetition is bounded, which limits the work on hostile text. The formats are published by their
issuers and collected in the rules of gitleaks 8. docs/redaction.md lists every kind.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import msgspec

from session_memory.redact.plausibility import ends_in_checksum

# Increase this when a rule changes. `session-memory secrets` keeps its results for this version,
# and the card of a training export names it.
VERSION = 6

# A token cannot start inside a word or inside base64. But it may follow a letter that ends an
# escape of JSON or a percent escape of an address, and a plus or minus sign of a diff.
_AFTER_ESCAPE = r"(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4})|(?<=%[0-9A-Fa-f]{2})"
_AFTER_SIGN = r"(?<=[^\w+/=-][+-])|(?<=\\[nrt][+-])|(?<=\A[+-])"
_FREE = rf"(?:(?<![A-Za-z0-9+])|{_AFTER_ESCAPE}|{_AFTER_SIGN})"
_END = r"(?![A-Za-z0-9_+/-])"
# The end of a token with a unique prefix: it is found even if other text follows it directly.
_ANY_END = ""
_REPEATED = re.compile(r"\{\d+,\d+\}")
LINE = r"(?:[\r\n]|\\{1,7}[rn])"
# Text before the lines of a key if a tool, a diff, a quote or a comment shows it: marks, and a line
# number followed by an arrow, a bar or a tab. As bytes and as JSON escapes.
SIGN = r"(?:[ \t>#|*;%:.+/-]|\\{1,7}t|\xe2\x86\x92|\xe2\x94\x82|\\{1,7}u(?:2192|2502|003[Ee]))"
_MARGIN = rf"{SIGN}{{0,24}}+(?:\d{{1,7}}{SIGN}{{1,8}}+)?+"

LEAD = 160
KEY_LEAD = "-----BEGIN"


class SecretPattern(NamedTuple):
    """A regular expression that is compiled when it is used first. Most are never used."""

    expression: str
    flags: int = 0

    @property
    def match(self) -> Callable[[str, int], re.Match[str] | None]:
        return _compiled(self.expression, self.flags).match


@cache
def _compiled(expression: str, flags: int) -> re.Pattern[str]:
    return re.compile(expression, flags)


class Rule(msgspec.Struct, frozen=True):
    """A rule. The first group of ``pattern`` is the secret, or else the whole match.

    With ``any_case`` the lower-case ``words`` match in any case. ``back`` lists how many characters
    before its word a match may start. With ``lead``, a match starts at this text, at most `LEAD`
    characters before the word. ``floor`` is the least entropy of a secret. ``checksum`` tests
    whether a secret is genuine. A secret with a wrong checksum is masked, too.
    """

    kind: str
    words: tuple[str, ...]
    pattern: SecretPattern
    floor: float = 3.0
    any_case: bool = False
    back: tuple[int, ...] = (0,)
    lead: str | None = None
    checksum: Callable[[str], bool] | None = None


def _token(
    kind: str,
    words: str,
    shape: str,
    floor: float = 3.0,
    *,
    back: tuple[int, ...] = (0,),
    checksum: Callable[[str], bool] | None = None,
    end: str = _END,
) -> Rule:
    """Make the rule for a secret that is recognized by its prefix, anywhere in a text."""
    # Repetitions become possessive ({4,9}+): the rest of the pattern never matches characters that
    # a repetition took, so trying again with fewer of them would only take time.
    shape = _REPEATED.sub(r"\g<0>+", shape)
    pattern = SecretPattern(f"{_FREE}{shape}{end}", re.ASCII)
    words_of = tuple(words.split())
    return Rule(kind, words_of, pattern, floor, back=back, checksum=checksum)


def _address(kind: str, pattern: str) -> Rule:
    """Make the rule for a secret that is part of a URL."""
    return Rule(kind, ("://",), SecretPattern(f"://{pattern}", re.ASCII))


def _in_text(kind: str, words: tuple[str, ...], pattern: str, floor: float = 0.0) -> Rule:
    """Make the rule for a secret that is recognized by the text around it."""
    compiled = SecretPattern(pattern, re.ASCII | re.IGNORECASE)
    return Rule(kind, words, compiled, floor, any_case=True)


_OPEN = r"\\{0,7}[\"']"
_CLOSE = rf"(?={_OPEN})"
# Passwords in commands and in code whose place says what they are.
_ARGUMENTS: tuple[Rule, ...] = (
    # The password of a user in SQL.
    _in_text(
        "command-line-password",
        ("identified ",),
        rf"identified[ \t](?:with[ \t][\"'\w]{{1,40}}+[ \t])?(?:by|as)[ \t](?:password[ \t])?"
        rf"{_OPEN}([^\s\"'\\]{{4,128}}+){_CLOSE}",
    ),
    # Flags of curl that are written together: -sSu me:….
    _in_text(
        "command-line-password",
        ("curl ",),
        r"curl[ \t](?:-[a-z-]{1,20}+[ \t]){0,6}?-[a-z]{1,5}u[ \t]{1,2}[\"']?[\w.@+-]{1,64}:"
        r"([^\s\"'\\@]{4,128}+)",
    ),
    _in_text(
        "command-line-password",
        ("securestring ",),
        rf"securestring[ \t](?:-string[ \t])?{_OPEN}([^\s\"'\\]{{4,128}}+){_CLOSE}",
    ),
    _in_text(
        "command-line-password",
        ("auth=(", "basicauth(", ".login("),
        rf"(?:auth=|basicauth|\.login)\([ \t]{{0,2}}{_OPEN}[^\"'\\\r\n]{{1,80}}+{_OPEN},"
        rf"[ \t]{{0,2}}{_OPEN}([^\s\"'\\]{{4,128}}+){_CLOSE}",
    ),
    _in_text(
        "secret",
        ("jwt.sign(", "jwt.verify(", "jwt.encode(", "jwt.decode("),
        rf"jwt\.\w{{4,6}}\([^()\"'\r\n]{{1,60}}+{_OPEN}([^\s\"'\\]{{16,128}}+){_CLOSE}",
        3.0,
    ),
    _in_text(
        "command-line-password",
        ("sqlplus ", "oracle:thin:"),
        r"(?:sqlplus[ \t](?:-\w{1,8}[ \t]){0,3}|oracle:thin:)[\"']?[\w$]{1,40}+/"
        r"([^\s\"'\\@/]{4,128}+)@",
    ),
    _in_text(
        "command-line-password",
        ("htpasswd ",),
        r"htpasswd[ \t](?:-\w{1,6}[ \t]){0,2}?-(?=\w{0,5}b)"
        r"(?:(?=\w{0,5}n)\w{2,6}|\w{1,6}[ \t][^\s\"'\\]{1,80}+)[ \t][^\s\"'\\]{1,60}+[ \t]"
        r"[\"']?([^\s\"'\\]{4,128}+)",
    ),
    _in_text(
        "command-line-password",
        ("--with-token", "sudo -s", "secret put ", "chpasswd", "vncpasswd "),
        r"(?:--with-token|sudo[ \t]-S[^\r\n<|\\]{0,40}|secret put[ \t][\w-]{1,60}|chpasswd"
        rf"|vncpasswd -f)[ \t]{{0,2}}<<<[ \t]{{0,2}}(?:{_OPEN})?([^\s\"'\\]{{4,200}}+)",
    ),
    # A password that `echo` prints into the input of a command.
    Rule(
        "command-line-password",
        ("-stdin", "--with-token", "sudo -s", "chpasswd"),
        SecretPattern(
            rf"echo[ \t](?:-\w{{1,3}}[ \t])?(?:{_OPEN})?(?:[\w.@-]{{1,40}}:)?+"
            rf"([^\s\"'\\|:]{{4,200}}+)(?:{_OPEN})?[ \t]{{0,2}}\|",
            re.ASCII,
        ),
        0.0,
        any_case=True,
        lead="echo ",
    ),
    _in_text(
        "seed-phrase",
        ("mnemonic", "seed phrase", "seed_phrase", "seedphrase"),
        rf"(?:mnemonic|seed[ _]?phrase)(?:{_OPEN})?(?:[ \t]is:?|[ \t]{{0,2}}[:=])[ \t]{{0,2}}"
        rf"(?:{_OPEN})?"
        # A text that was cut ends in an ellipsis.
        r"([a-z]{3,8}+(?:(?:[ ][a-z]{3,8}+){11,23}+(?![ ]?[\w,])"
        r"|(?:[ ][a-z]{1,8}+){2,11}+[ ]?(?=\xe2\x80\xa6|\\u2026)))",
        2.5,
    ),
    _in_text(
        "url-signature",
        ("signature=",),
        r"signature=([0-9a-f]{64}(?!\w)|(?=[\w%+/-]{0,60}?\d)[\w%+/-]{27,90}+(?:=|%3D){0,2})",
        3.5,
    ),
)

RULES: tuple[Rule, ...] = (
    # A key whose end was cut off also matches, as far as its lines are base64.
    Rule(
        "private-key",
        ("PRIVATE KEY",),
        SecretPattern(
            r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            rf"(?:(?:[A-Za-z0-9=,_]|-(?!----)|(?!-){SIGN}|{LINE}){{16,20000}}+"
            r"-{5,6}END[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            rf"|(?:{LINE}{{0,4}}+{_MARGIN}[A-Za-z0-9+/=]{{24,2000}}+){{1,400}}+"
            rf"(?:{LINE}{{1,4}}+{_MARGIN}[A-Za-z0-9+/=]{{1,76}}+(?! ?[a-z]))?)",
            re.ASCII,
        ),
        lead=KEY_LEAD,
    ),
    Rule(
        "putty-private-key",
        ("Private-Lines:",),
        SecretPattern(
            rf"Private-Lines: \d{{1,4}}{LINE}{{1,2}}+{_MARGIN}([A-Za-z0-9+/=]{{16,80}}+"
            rf"(?:{LINE}{{1,2}}+{_MARGIN}[A-Za-z0-9+/=]{{1,80}}+(?!-)){{0,200}}+)",
            re.ASCII,
        ),
    ),
    _token("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}"),
    # Clouds
    _token("aws-access-key-id", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    _token("aws-bedrock-key", "ABSK", r"ABSK[A-Za-z0-9+/]{109,269}={0,2}"),
    _token("google-api-key", "AIza", r"AIza[\w-]{35}", 3.5),
    _token("google-oauth-token", "ya29.", r"ya29\.[\w-]{20,1000}", 3.5, end=""),
    _token("google-oauth-secret", "GOCSPX-", r"GOCSPX-[\w-]{28}"),
    _token("azure-client-secret", "Q~", r"[\w~.]{3}\dQ~[\w~.-]{31,34}", back=(4,)),
    Rule(
        "azure-storage-key",
        ("AccountKey=",),
        SecretPattern(r"AccountKey=([A-Za-z0-9+/]{86}==)", re.ASCII),
        3.5,
    ),
    Rule(
        "azure-sas-signature",
        ("sig=",),
        SecretPattern(r"(?<=[?&6])sig=([A-Za-z0-9%+/]{43,90}(?:=|%3[Dd])?)", re.ASCII),
        3.5,
    ),
    _token("digitalocean-token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}", back=(3,)),
    _token("databricks-token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?"),
    _token(
        "fly-token",
        "fm2_",
        r"fm2_[A-Za-z0-9+/]{100,2000}={0,3}",
    ),
    _token("heroku-key", "HRKU-AA", r"HRKU-AA[\w-]{58}"),
    _token("pulumi-token", "pul-", r"pul-[0-9a-f]{40}"),
    _token("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,70}", back=(14,)),
    _token("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{24,300}"),
    _token(
        "doppler-token",
        "dp.",
        r"dp\.(?:pt|sa|st(?:\.[\w-]{2,35})?)\.[A-Za-z0-9]{40,44}",
    ),
    _token("planetscale-token", "pscale_", r"pscale_(?:tkn|oauth|pw)_[\w=.-]{32,64}"),
    _token("supabase-key", "sbp_ sb_secret_", r"(?:sbp_[0-9a-f]{40}|sb_secret_[\w-]{31,40})"),
    _token("tailscale-key", "tskey-", r"tskey-[a-z]{3,10}-[A-Za-z0-9-]{20,80}"),
    _token("cloudflare-origin-key", "v1.0-", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    # Code and packages
    _token(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_",
        r"gh[pousr]_[A-Za-z0-9]{36}",
        checksum=ends_in_checksum,
        end=_ANY_END,
    ),
    _token(
        "github-fine-grained-token",
        "github_pat_",
        r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}",
        end=_ANY_END,
    ),
    _token(
        "gitlab-token",
        "glpat- glrt- gldt- glptt- glcbt- glft- glsoat- gloas- glagent-",
        r"gl(?:pat|rt|dt|ptt|cbt|ft|soat|oas|agent)-[\w.-]{20,300}",
        end="",
    ),
    _token("gitlab-runner-token", "GR1348941", r"GR1348941[\w-]{20}"),
    _token("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}", checksum=ends_in_checksum, end=_ANY_END),
    _token("pypi-token", "pypi-AgE", r"pypi-AgE[\w-]{50,1000}", end=""),
    _token("rubygems-key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    _token("docker-token", "dckr_", r"dckr_[po]at_[\w-]{27,40}"),
    _in_text(
        "docker-registry-auth",
        ('"auth',),
        r"\"auth\\{0,7}\"[ \t]{0,2}:[ \t]{0,2}\\{0,7}\"([A-Za-z0-9+/]{16,2000}={0,2})(?=\\{0,7}\")",
        3.0,
    ),
    _token("artifactory-token", "AKCp cmVmd", r"(?:AKCp[A-Za-z0-9]{69}|cmVmd[A-Za-z0-9]{59})", 4.0),
    _token("postman-key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _token("linear-key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}", end=_ANY_END),
    _token("atlassian-token", "ATATT3", r"ATATT3[\w=-]{180,240}"),
    _token("figma-token", "figd_", r"figd_[\w-]{40}"),
    _token("notion-token", "ntn_", r"ntn_[0-9]{11}[A-Za-z0-9]{35}"),
    # Models
    _token("anthropic-key", "sk-ant-", r"sk-ant-[a-z]{3,8}\d\d-[\w-]{80,120}", end=_ANY_END),
    _token("openrouter-key", "sk-or-v1-", r"sk-or-v1-[0-9a-f]{64}"),
    _token(
        "openai-key", "sk-", r"sk-(?:proj-|svcacct-|admin-|None-)[\w-]{40,200}", 3.5, end=_ANY_END
    ),
    _token("openai-key", "sk-", r"sk-[A-Za-z0-9]{32,64}", 3.3),
    _token("huggingface-token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{34}", 3.3),
    _token("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{52}", end=_ANY_END),
    _token("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{48}"),
    _token("xai-key", "xai-", r"xai-[A-Za-z0-9]{70,90}"),
    _token("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37,40}"),
    _token("nvidia-key", "nvapi-", r"nvapi-[\w-]{60,70}"),
    # Messages and payments
    _token(
        "slack-token",
        "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxe-",
        r"xox[abeoprs]-[A-Za-z0-9-]{18,200}",
        2.5,
    ),
    _token(
        "slack-token",
        "xoxe. xapp-",
        r"(?:xoxe\.xox[bp]-\d-[A-Za-z0-9]{140,200}|xapp-\d-[A-Z0-9]{8,20}-\d{8,20}-[A-Za-z0-9]{20,80})",
        2.5,
    ),
    _token(
        "telegram-bot-token",
        ":AA",
        r"(?:bot)?\d{8,10}:AA[\w-]{32,33}",
        back=(13, 12, 11, 10, 9, 8),
    ),
    _token(
        "stripe-key",
        "sk_live_ rk_live_ sk_test_ rk_test_",
        r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,200}",
        end=_ANY_END,
    ),
    _token("stripe-webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/]{32,64}={0,2}"),
    _token("square-token", "sq0", r"sq0(?:atp|csp|idp)-[\w-]{22,60}"),
    _token("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _token("twilio-key", "SK", r"SK[0-9a-f]{32}"),
    _token("sendgrid-key", "SG.", r"SG\.[\w-]{16,32}\.[\w-]{38,50}"),
    _token("mailgun-key", "key-", r"key-[0-9a-f]{32}"),
    _token("mailchimp-key", "-us", r"[0-9a-f]{32}-us\d{1,2}", back=(32,)),
    _token("brevo-key", "xkeysib-", r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _token("easypost-key", "EZAK EZTK", r"EZ[AT]K[A-Za-z0-9]{54}"),
    # Monitoring
    _token("new-relic-key", "NRAK- NRII- NRJS-", r"NR(?:AK|II|JS)-[A-Za-z0-9-]{19,32}"),
    _token(
        "grafana-token",
        "glsa_ glc_ eyJrIjoi",
        r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_[A-Za-z0-9+/]{32,400}={0,3}|eyJrIjoi[A-Za-z0-9]{70,400}={0,3})",
    ),
    _token(
        "sentry-token", "sntrys_ sntryu_", r"(?:sntryu_[0-9a-f]{64}|sntrys_[A-Za-z0-9+/=_]{60,600})"
    ),
    _token("dynatrace-token", "dt0c01.", r"dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _token("1password-token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9+/]{250,2000}={0,3}"),
    # Secrets of many issuers
    Rule(
        "jwt",
        ("eyJ",),
        SecretPattern(
            # A token cannot follow a dash, but it can follow a line of dashes, such as that at the
            # end of a key.
            rf"(?:(?<![\w+-])|(?<=----)|{_AFTER_ESCAPE}|{_AFTER_SIGN})"
            r"eyJ[\w-]{10,4000}+\.eyJ[\w-]{10,12000}+(?:\.[\w-]{10,2000}={0,2})?",
            re.ASCII,
        ),
    ),
    _address("slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w+/]{40,80})"),
    _address(
        "discord-webhook", r"\w{0,12}\.?discord(?:app)?\.com/api/webhooks/(\d{15,22}/[\w-]{60,80})"
    ),
    _address("teams-webhook", r"[\w.-]{1,60}\.webhook\.office\.com/(webhookb2/[\w@/-]{80,300})"),
    Rule(
        "url-password",
        ("://",),
        SecretPattern(r"://[^\s/:@\"'`\\<>|]{0,100}:([^\s/@\"'`\\<>]{3,200})@(?=[\w\[])", re.ASCII),
        0.0,
    ),
    Rule(
        "url-password",
        ("://",),
        SecretPattern(
            r"(?:(?<=http)|(?<=https))://(?=[\w-]{0,60}\d[\w-]{0,60}\d)([\w-]{20,200}+)@(?=[\w\[])",
            re.ASCII,
        ),
        3.5,
    ),
    _in_text(
        "authorization-header",
        ("authorization",),
        r"authorization\\{0,7}[\"'`]?[ \t]{0,2}[:=,][ \t]{0,2}\\{0,7}[\"'`]?"
        r"(?:(?:bearer|basic|token|bot|apikey|digest|negotiate)[ \t]{1,2})?"
        r"([\w.~+/=-]{8,4000}+)(?![(\[])",
        2.5,
    ),
    _in_text("authorization-header", ("bearer ",), r"\bbearer ([\w.~+/=-]{20,4000})", 3.5),
    _in_text(
        "session-cookie",
        ("cookie",),
        r"cookie(?:\\{0,7}[\"'`]?[ \t]{0,2}[:=]|[ \t])[ \t]{0,2}\\{0,7}[\"'`]?"
        r"(?:[\w.-]{1,40}+=[^;\s\"'\\]{0,200}+;[ \t]?){0,8}"
        r"[\w.-]{0,30}(?:sess|sid|auth|token)[\w.-]{0,20}=([\w%.~+/=:-]{16,4000})",
        3.0,
    ),
    _in_text(
        "netrc-password",
        ("login ",),
        r"(?:\b|(?<=\\[nrt]))login[ \t]{1,4}[^\s\"\\]{1,80}+(?:[ \t]|\r?\n|\\{1,7}[nrt]){1,16}+"
        r"password[ \t]{1,4}([^\s\"\\]{4,128})",
        2.0,
    ),
    *_ARGUMENTS,
)
