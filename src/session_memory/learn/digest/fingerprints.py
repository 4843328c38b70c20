"""Fingerprints of errors: the same error has the same fingerprint in every repository.

The fingerprint is a hash of one line of the output: the line a person would search for. Paths,
numbers, ids, times, ports and temporary names are replaced before the line is hashed.
"""

import re
from hashlib import blake2b

from session_memory.core.text import escaped, one_line
from session_memory.redact import mask

SAMPLE = 300
_EXAMINED = 16_384
_LONGEST_LINE = 2_000


def fingerprint(line: str) -> str:
    """Sixteen hex digits, equal for lines that differ only in paths, numbers and ids."""
    text = normalized(line)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def normalized(line: str) -> str:
    """``line`` in lower case, with paths, numbers, ids and times replaced by placeholders."""
    text = line[:_LONGEST_LINE]
    for pattern, instead in _REPLACED:
        text = pattern.sub(instead, text)
    return " ".join(text.split())[:SAMPLE].strip(" .:").lower()


def error_line(text: str) -> str:
    """The line of an output that says what went wrong, at most `SAMPLE` characters."""
    lines = _lines(text)
    for pattern, last in _ERROR_LINES:
        found = [place for place, line in enumerate(lines) if pattern.search(line)]
        if found:
            return _sample(lines, found[-1 if last else 0])
    content = [place for place, line in enumerate(lines) if not _HEADER.match(line)]
    return _sample(lines, content[0]) if content else ""


def reason_line(*texts: str) -> str:
    """The first error line in ``texts``, else the first line: a run may print only "1 failed"."""
    found = next(filter(None, map(error_line, texts)), "")
    lines = [line for text in texts for line in _lines(text)[:1]]
    return found or (_sample(lines, 0) if lines else "")


def _lines(text: str) -> list[str]:
    if len(text) > 2 * _EXAMINED:
        text = text[:_EXAMINED] + "\n" + text[-_EXAMINED:]
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    # Mask before the text is split and cut: a key spans lines, and half a secret is not recognized.
    text = mask(text)
    text = _TAG.sub("", text)
    lines = (line.strip() for line in text.replace("\r", "\n").split("\n"))
    return [line[:_LONGEST_LINE] for line in lines if line]


def _sample(lines: list[str], place: int) -> str:
    # After a line such as "failed due to the following issue:" the next line has the reason.
    some = lines[place : place + 1]
    if some and some[0].endswith(":"):
        some = lines[place : place + 2]
    return one_line(escaped(_MARGIN.sub("", " ".join(some))), SAMPLE)


_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_TAG = re.compile(r"</?(?:tool_use_error|error|stderr|stdout|output|system-reminder)>")
# Prefixes that are not part of the error: pytest's margin, Codex's wrapping.
_MARGIN = re.compile(r"^(?:E {2,}|failed in sandbox(?: \w+)?(?: with execution error)?: )")
# Lines that agents and shells put before an output.
_HEADER = re.compile(
    r"""(?: error:\  )?
    (?: \[?exit\ code:?\ -?\d+ | process\ exited\ with\ code | wall\ time | chunk\ id | output:
      | script\ (?:completed|failed) | total\ output\ lines | original\ token\ count
      | command\ failed(?:\ with\ exit\ code\ \d+)?:?$ | npm\ warn | warning:
      | \[[\w:.-]+\]\ (?:\$\ |finished\ in) | ={3,} | -{3,} | \d+\ (?:passed|failed)
      | traceback\ \(most\ recent | file\ "[^"]+",\ line\ \d | [{}\[\]().]+$ )""",
    re.IGNORECASE | re.VERBOSE,
)
_EXCEPTION = r"(?:[A-Za-z_][\w.]*)?(?:Error|Exception|Exit|Interrupt|Panic|Failure)"
# The most specific pattern first. True takes the last matching line, False the first.
_ERROR_LINES: tuple[tuple[re.Pattern[str], bool], ...] = (
    (re.compile(rf"^E {{2,}}(?:{_EXCEPTION}\b|assert )"), False),
    (re.compile(rf"^(?:\w+ )?{_EXCEPTION}(?:: \S|$)"), True),
    (re.compile(r"\berror(?:\[\w+\])?:? ?(?:TS\d+)?: \S|\berror TS\d+"), False),
    (re.compile(r"^(?:FAILED|ERROR) \S+(?:::| - )|^--- FAIL: |^not ok \d"), False),
    (re.compile(r"^(?:FAIL|ERROR): \w|^E {2,}\S"), False),
    (re.compile(r"(?i)\b(?:fatal|panic|error|err!)\b: ?\S|^npm ERR! (?!A complete)\S"), False),
    (re.compile(r"(?i)command not found|no such file|permission denied|not recognized as"), False),
    (re.compile(r"(?i)\b(?:cannot|can't|could not|unable to|failed to)\b"), False),
    (re.compile(r"(?i)\b(?:refused|denied|timed? ?out)\b"), False),
    (re.compile(r"^FAIL(?:ED|URE)?\b:? +\S+ \S"), False),
)
_EXTENSIONS = (
    "py|pyi|js|mjs|cjs|ts|tsx|jsx|go|rs|java|kt|rb|php|c|h|cc|cpp|hpp|cs|swift|json|jsonl|ya?ml"
    "|toml|md|txt|sh|sql|html?|css|scss|lock|log|cfg|ini|env|xml|csv|db|ipynb|vue|svelte"
)
_CLOCK = r"\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_PLACE = r"(?:\(\d+,\d+\)|(?::\d+)*)"
_UNIT = r"(?:ms|s|m|h|%|kb|mb|gb|b)?"
# The order matters: a time contains numbers, and a path contains ids.
_REPLACED: tuple[tuple[re.Pattern[str], str], ...] = (
    (_ANSI, ""),
    (re.compile(r"(?i)\bhttps?://[^\s'\"<>)]+"), "<url>"),
    (re.compile(r"(?i)\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<id>"),
    (re.compile(rf"\b\d{{4}}-\d\d-\d\d(?:[T ]{_CLOCK})?"), "<time>"),
    (re.compile(r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b"), "<time>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b(?::\d+)?"), "<address>"),
    (re.compile(r"\b(localhost)(?::\d+)?\b"), "<address>"),
    # Names of temporary files: 'tmpab12cd'.
    (re.compile(r"""(['"`])(?:[\w.-]*(?:tmp|temp)[\w.-]*)\1""", re.IGNORECASE), "<name>"),
    (re.compile(r"(?:\b[A-Za-z]:)?(?:\\[\w.@ -]+){2,}"), "<path>"),
    (re.compile(r"(?<![\w<])(?:~|\.{1,2})?/[\w.@+~-]+(?:/[\w.@+~-]+)*/?(?::\d+)*"), "<path>"),
    (re.compile(r"(?<![\w<])[\w.@+-]+(?:/[\w.@+-]+)+/?(?::\d+)*"), "<path>"),
    (re.compile(rf"(?<![\w<])[\w-]+(?:\.[\w-]+)*\.(?:{_EXTENSIONS})\b{_PLACE}"), "<path>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "<hex>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"), "<hex>"),
    (re.compile(rf"(?i)(?<![A-Za-z0-9_<])-?\d+(?:[.,]\d+)*{_UNIT}\b"), "#"),
)
