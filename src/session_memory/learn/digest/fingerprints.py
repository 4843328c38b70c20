"""Compute fingerprints of errors: the same error has the same fingerprint in every repository.

The fingerprint is a hash of one line of the output: the line a person would search for. Paths,
numbers, ids, times, ports and temporary names are replaced before the line is hashed. All errors of
one linter rule are the same error, whatever names their messages contain. A missing program is the
same error in every shell.
"""

import re
from functools import lru_cache
from hashlib import blake2b

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.learn.digest.error_lines import ANSI, SAMPLE

_LONGEST_LINE = 2_000


@lru_cache(maxsize=1_024)
def fingerprint(line: str) -> str:
    """Return sixteen hex digits. Lines that differ only in paths, numbers or ids get the same."""
    text = rule_of(line) or normalized(_in_any_shell(line))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def normalized(line: str) -> str:
    """Return the line in lower case, with placeholders for paths, numbers, ids and times."""
    text = line[:_LONGEST_LINE]
    for pattern, instead in _REPLACED:
        text = pattern.sub(instead, text)
    return " ".join(text.split())[:SAMPLE].strip(" .:").lower()


def rule_of(line: str) -> str:
    """Return the linter rule that an error line names, or ""."""
    for pattern in _RULES:
        if (match := pattern.match(line)) is not None:
            return match["rule"]
    return ""


def _in_any_shell(line: str) -> str:
    """Return what a shell says, in the same words for each shell; other lines as they are."""
    if (match := _MISSING.match(line)) is not None:
        return f"command not found: {match['before'] or match['after']}"
    return "no matches found" if _NO_MATCHES.match(line) is not None else line


_RULES = (
    # biome: "lint/correctness/noUnusedVariables: This variable x is unused."
    lazy_pattern(r"(?:at )?(?:\S+ )?(?P<rule>(?:lint|suppressions)/\w+/\w+)\b"),
    # eslint: "12:5 error 'x' is never used @typescript-eslint/no-unused-vars"
    lazy_pattern(r"\d+:\d+\s+(?:error|[✖×])\s.*\s(?P<rule>(?:@?[\w-]+/)*[a-z]+(?:-[a-z]+)+)$"),
    # oxlint: "× eslint(no-unused-vars): Variable 'x' is never used."
    # oxlint also prints errors of the TypeScript compiler. They name no rule: errors with the same
    # code have little else in common.
    lazy_pattern(r"[×✖x!] (?P<rule>(?!typescript\(TS\d)[\w-]+\([\w/-]+\)): "),
    # ruff: "src/app.py:1:8: F401 [*] `os` imported but unused"
    lazy_pattern(r"(?:\S+:\d+:\d+: )?(?P<rule>[A-Z]{1,4}\d{3,4}):? (?:\[\*\] )?[`'\"A-Z]"),
)
_SHELL = r"(?:\S*\b(?:ba|z|da|k|fi)?sh|\(eval\))(?::(?: line)? ?\d+)?: "
_MISSING = lazy_pattern(
    rf"{_SHELL}(?:command not found: (?P<before>\S+)|(?P<after>[^\s:]+): (?:command )?not found)$"
)
_NO_MATCHES = lazy_pattern(rf"{_SHELL}no matches found: ")
_EXTENSIONS = (
    "py|pyi|js|mjs|cjs|ts|tsx|jsx|go|rs|java|kt|rb|php|c|h|cc|cpp|hpp|cs|swift|json|jsonl|ya?ml"
    "|toml|md|txt|sh|sql|html?|css|scss|lock|log|cfg|ini|env|xml|csv|db|ipynb|vue|svelte"
)
_CLOCK = r"\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_PLACE = r"(?:\(\d+,\d+\)|(?::\d+)*)"
_UNIT = r"(?:ms|s|m|h|%|kb|mb|gb|b)?"
# The order matters: a time contains numbers, and a path contains ids.
_REPLACED: tuple[tuple[re.Pattern[str], str], ...] = (
    (ANSI, ""),
    (lazy_pattern(r"(?i)\bhttps?://[^\s'\"<>)]+"), "<url>"),
    (lazy_pattern(r"(?i)\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<id>"),
    (lazy_pattern(rf"\b\d{{4}}-\d\d-\d\d(?:[T ]{_CLOCK})?"), "<time>"),
    (lazy_pattern(r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b"), "<time>"),
    (lazy_pattern(r"\b\d{1,3}(?:\.\d{1,3}){3}\b(?::\d+)?"), "<address>"),
    (lazy_pattern(r"\b(localhost)(?::\d+)?\b"), "<address>"),
    # Names of temporary files: 'tmpab12cd'.
    (lazy_pattern(r"""(['"`])(?:[\w.-]*(?:tmp|temp)[\w.-]*)\1""", re.IGNORECASE), "<name>"),
    (lazy_pattern(r"(?:\b[A-Za-z]:)?(?:\\[\w.@ -]+){2,}"), "<path>"),
    (lazy_pattern(r"(?<![\w<])(?:~|\.{1,2})?/[\w.@+~-]+(?:/[\w.@+~-]+)*/?(?::\d+)*"), "<path>"),
    (lazy_pattern(r"(?<![\w<])[\w.@+-]+(?:/[\w.@+-]+)+/?(?::\d+)*"), "<path>"),
    (lazy_pattern(rf"(?<![\w<])[\w-]+(?:\.[\w-]+)*\.(?:{_EXTENSIONS})\b{_PLACE}"), "<path>"),
    (lazy_pattern(r"\b0x[0-9a-fA-F]+\b"), "<hex>"),
    (lazy_pattern(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"), "<hex>"),
    (lazy_pattern(rf"(?i)(?<![A-Za-z0-9_<])-?\d+(?:[.,]\d+)*{_UNIT}\b"), "#"),
)
