"""The quality gate for training examples: mask, refuse, and score. Pure functions.

Secrets are masked, and paths and names of the project are replaced by general ones. A text that
still names the project is refused. The remaining examples get a score from 1 to 5.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from session_memory.redact import mask, mask_each

KEPT_FROM = 3
LEAST_PROMPT = 8
LEAST_ANSWER = 8
SUBSTANTIAL = 40
MOST_CHARACTERS = 100_000
# Chosen and rejected answers must be clearly different.
MOST_ALIKE = 0.7

NAMES_A_PROJECT = "names a project or a person"
TOO_LONG = "too long"
TOO_SHORT = "too short"
LOW_SCORE = f"scored below {KEPT_FROM}"

# These are two patterns, because one that begins with a fixed character is found much faster.
_HOME = re.compile(r"/(?:home|Users|root)[\\/]+(?!\.)([\w.-]+)?")
_WINDOWS_HOME = re.compile(r"[A-Za-z]:[\\/]+Users[\\/]+(?!\.)([\w.-]+)?")
_MAIL = re.compile(r"\b(?!git@)[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")
# Lines that name the author of a commit; below, addresses that name the owner of a repository.
_AUTHOR = re.compile(
    r"\b(?:Author|Commit(?:ter)?|(?:Co-authored|Signed-off|Reviewed|Acked|Reported)-by):[ \t]*"
    r"([^\n<\"\\]{2,60}?)[ \t]*<[^<>\n]{3,80}>",
    re.IGNORECASE,
)
_FORGE = re.compile(
    r"\b((?:github|gitlab|bitbucket|codeberg|gitea)\.(?:com|org)[:/])([\w.-]+)(?=/[\w.-])",
    re.IGNORECASE,
)
_NO_PERSON = re.compile(
    r"claude|codex|copilot|cursor|gemini|grok|\bbot\b|\[bot\]|github|noreply", re.IGNORECASE
)
# A text needs one of these parts to match the patterns above. This search is much faster.
_BEFORE_AUTHORS = ("author:", "commit:", "committer:", "-by:")
_FORGES = ("github.", "gitlab.", "bitbucket.", "codeberg.", "gitea.")
# A case-insensitive pattern matches these letters as i, s and k.
_ODD_LETTERS = ("\u0130", "\u0131", "\u017f", "\u212a")
_SOMEBODY, _ORGANIZATION = "Somebody", "organization"
MOST_PEOPLE = 200
_MASK = re.compile(r"\[redacted:([\w-]+)\]")
_EXAMPLE_MAIL = "user@example.com"
# Paths below these directories exist on every machine and do not name a project.
_SYSTEM = r"usr|bin|sbin|etc|tmp|var|dev|proc|sys|lib|lib64|opt|run|app|api|v\d"
# The pattern begins with the slash and then looks back, because it is found faster that way.
_ABSOLUTE = re.compile(rf"/(?<![\w/.:~*-]/)(?!(?:{_SYSTEM})\b)[\w.-]+/[\w.-]+/[\w.-]+")
_BELOW_HOME = re.compile(r"~[\\/](?!\.)[\w-]")
# Names that are too common to identify a project.
_COMMON = frozenset(
    ("backend", "build", "client", "code", "demo", "docs", "example", "frontend", "home", "main")
    + ("project", "repo", "root", "sample", "scripts", "server", "service", "site", "test", "tests")
    + ("tool", "tools", "user", "admin", "work")
)


class ProjectNames(msgspec.Struct, frozen=True):
    """The names that identify a project or its owner: directory, repository, machine, people."""

    cwd: str = ""
    repo: str = ""
    host: str = ""
    people: tuple[str, ...] = ()

    def identifying(self) -> list[str]:
        return _identifying(self.cwd, self.repo, self.host)


@lru_cache(maxsize=64)
def _identifying(cwd: str, repo: str, host: str) -> list[str]:
    user = _HOME.match(cwd) or _WINDOWS_HOME.match(cwd)
    names = (repo, host, user[1] if user and user[1] else "")
    return [name for name in names if len(name) > 3 and name.lower() not in _COMMON]


def clean(text: str, names: ProjectNames) -> str:
    """Return the text with secrets masked and with names of the project replaced."""
    return general(mask(text), names)


def clean_all(texts: Iterable[str], names: ProjectNames) -> dict[str, str]:
    """Map each text to the result of `clean`. This is faster than one by one, because most texts
    have no secret."""
    different = list(dict.fromkeys(texts))
    masked = mask_each(different)
    return {text: general(safe, names) for text, safe in zip(different, masked, strict=True)}


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text in a nested value, including the names of fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield str(key)
            yield from texts_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts_in(one)


def with_texts(value: Any, instead: Mapping[str, str]) -> Any:
    """Return the nested value with every text and field name replaced by that of ``instead``."""
    if isinstance(value, str):
        return instead[value]
    if isinstance(value, dict):
        return {instead[str(key)]: with_texts(one, instead) for key, one in value.items()}
    return [with_texts(one, instead) for one in value] if isinstance(value, list) else value


def people_in(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the authors of commits that texts name, without agents and bots, longest first."""
    found = {
        name.strip()
        for text in texts
        if _may_have(text, _BEFORE_AUTHORS)
        for name in _AUTHOR.findall(text)
        if not _NO_PERSON.search(name) and len(name.strip()) > 3
    }
    return tuple(sorted(found, key=lambda name: (-len(name), name))[:MOST_PEOPLE])


def _may_have(text: str, parts: tuple[str, ...]) -> bool:
    """Whether a text may match a pattern that needs one of ``parts`` (in lower case)."""
    lowered = text.lower()
    # A loop, because `any` with a generator takes twice as long, and most texts are short.
    for part in parts:
        if part in lowered:
            return True
    return not text.isascii() and any(letter in text for letter in _ODD_LETTERS)


def masked_in(text: str) -> dict[str, int]:
    """Count the masked secrets in a text, by kind."""
    return dict(Counter(_MASK.findall(text)))


def general(text: str, names: ProjectNames) -> str:
    """Return the text with paths, mail addresses and names of the project replaced."""
    cwd = names.cwd.rstrip("/\\")
    if len(cwd) > 1:
        text = text.replace(f"{cwd}/", "").replace(cwd, ".")
    for person in names.people:
        text = text.replace(person, _SOMEBODY)
    if _may_have(text, _FORGES):
        text = _FORGE.sub(rf"\1{_ORGANIZATION}", text)
    if "Users" in text and (":/" in text or ":\\" in text):
        text = _WINDOWS_HOME.sub("~", text)
    if "/home" in text or "/root" in text or "/Users" in text:
        text = _HOME.sub("~", text)
    if "@" in text:
        text = _without_addresses(text)
    for name in names.identifying():
        if name in text:
            text = _whole_name(name).sub("project", text)
    return text


@lru_cache(maxsize=64)
def _whole_name(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])")


def _without_addresses(text: str) -> str:
    """Replace mail addresses. Only lines with an ``@`` are searched, because few have one."""
    parts: list[str] = []
    done, sign = 0, text.find("@")
    while sign >= 0:
        start = text.rfind("\n", done, sign) + 1
        end = text.find("\n", sign)
        end = len(text) if end < 0 else end
        parts += (text[done:start], _MAIL.sub(_EXAMPLE_MAIL, text[start:end]))
        done, sign = end, text.find("@", end)
    return "".join((*parts, text[done:]))


def names_a_project(text: str, names: ProjectNames) -> bool:
    if _ABSOLUTE.search(text) or _BELOW_HOME.search(text):
        return True
    lowered = text.lower()
    return any(name.lower() in lowered for name in names.identifying())


def refusal(prompt: str, answers: tuple[str, ...], names: ProjectNames, most: int) -> str | None:
    """Return why an example is refused; None if it is not. ``most`` is the maximum length."""
    if reason := wrong_length(prompt, answers, most):
        return reason
    is_named = any(names_a_project(text, names) for text in (prompt, *answers))
    return NAMES_A_PROJECT if is_named else None


def wrong_length(prompt: str, answers: tuple[str, ...], most: int) -> str | None:
    if len(prompt) + sum(map(len, answers)) > most:
        return TOO_LONG
    if len(prompt.strip()) < LEAST_PROMPT or any(len(a.strip()) < LEAST_ANSWER for a in answers):
        return TOO_SHORT
    return None


def attempt_score(prompt: str, answer: str, tries: int) -> int:
    """Score a verified attempt of a skill from 1 to 5. docs/training.md has the rules."""
    score = 3
    score += tries == 1
    score += len(answer) >= SUBSTANTIAL and len(prompt) >= SUBSTANTIAL
    score -= answer.rstrip().endswith(("…", "..."))
    score -= "[redacted:" in answer
    return max(1, min(score, 5))


def pair_score(alike: float, same_model: bool) -> int:
    """Score a pair from 3 to 5: a verified and a failed attempt at the same input.

    ``alike`` is the share of three-word runs that both outputs have in common.
    """
    return 3 + same_model + (alike < MOST_ALIKE / 2)


_EVIDENCE = {"tests": 4, "last_word": 4, "commit": 3}


def session_score(
    reason: str, *, errors: int, retries: int, interventions: int, undone: int, calls: int
) -> int:
    """Score a session with evidence of success from 1 to 5. ``reason`` is that of its outcome."""
    score = _EVIDENCE.get(reason, 2)
    score += not (errors or retries or interventions)
    score -= errors * 4 > max(calls, 4)
    score -= interventions > 2
    score -= bool(undone)
    return max(1, min(score, 5))
