"""The quality gate: what is personal goes, what names a project stays out, the rest gets a score.

Pure. Secrets are masked first, then the places and names of the project are made general, and
whatever still names one is refused.
"""

import re
from collections import Counter

import msgspec

from session_memory.redact import mask

KEPT_FROM = 3
LEAST_PROMPT = 8
LEAST_ANSWER = 8
SUBSTANTIAL = 40
MOST_CHARACTERS = 100_000
# Chosen and rejected must be clearly different, and an answer must not repeat its question.
MOST_ALIKE = 0.7

NAMES_A_PROJECT = "names a project or a person"
TOO_LONG = "too long"
TOO_SHORT = "too short"
LOW_SCORE = f"scored below {KEPT_FROM}"

_HOME = re.compile(r"(?:/home|/Users|/root|[A-Za-z]:[\\/]+Users)[\\/]+(?!\.)([\w.-]+)?")
_MAIL = re.compile(r"\b(?!git@)[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")
_MASK = re.compile(r"\[redacted:([\w-]+)\]")
_EXAMPLE_MAIL = "user@example.com"
# Paths that are the same on every machine name nobody's project.
_SYSTEM = r"usr|bin|sbin|etc|tmp|var|dev|proc|sys|lib|lib64|opt|run|app|api|v\d"
_ABSOLUTE = re.compile(rf"(?<![\w/.:~*-])/(?!(?:{_SYSTEM})\b)[\w.-]+/[\w.-]+/[\w.-]+")
_BELOW_HOME = re.compile(r"~[\\/](?!\.)[\w-]")
# Names that tell nobody apart.
_COMMON = frozenset(
    ("backend", "build", "client", "code", "demo", "docs", "example", "frontend", "home", "main")
    + ("project", "repo", "root", "sample", "scripts", "server", "service", "site", "test", "tests")
    + ("tool", "tools", "user", "admin", "work")
)


class Names(msgspec.Struct, frozen=True):
    """What would tell whose work it was."""

    cwd: str = ""
    repo: str = ""
    host: str = ""

    def told(self) -> list[str]:
        user = _HOME.match(self.cwd)
        names = (self.repo, self.host, user[1] if user and user[1] else "")
        return [name for name in names if len(name) > 3 and name.lower() not in _COMMON]


def clean(text: str, names: Names) -> str:
    """Masked and made general."""
    return general(mask(text), names)


def masked_in(text: str) -> dict[str, int]:
    """How many secrets of which kind were masked in a text."""
    return dict(Counter(_MASK.findall(text)))


def general(text: str, names: Names) -> str:
    """The text as it could have been said in any project."""
    cwd = names.cwd.rstrip("/\\")
    if len(cwd) > 1:
        text = text.replace(f"{cwd}/", "").replace(cwd, ".")
    text = _HOME.sub("~", text)
    text = _MAIL.sub(_EXAMPLE_MAIL, text)
    for name in names.told():
        text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", "project", text)
    return text


def names_a_project(text: str, names: Names) -> bool:
    if _ABSOLUTE.search(text) or _BELOW_HOME.search(text):
        return True
    lowered = text.lower()
    return any(name.lower() in lowered for name in names.told())


def refusal(prompt: str, answers: tuple[str, ...], names: Names, most: int) -> str | None:
    """Why an example is left out; None when nothing speaks against it."""
    texts = (prompt, *answers)
    if sum(map(len, texts)) > most:
        return TOO_LONG
    if len(prompt.strip()) < LEAST_PROMPT or any(len(a.strip()) < LEAST_ANSWER for a in answers):
        return TOO_SHORT
    return NAMES_A_PROJECT if any(names_a_project(text, names) for text in texts) else None


def attempt_score(prompt: str, answer: str, tries: int) -> int:
    """1 to 5 for an attempt that a run has proved; docs/training.md has the rules."""
    score = 3
    score += tries == 1
    score += len(answer) >= SUBSTANTIAL and len(prompt) >= SUBSTANTIAL
    score -= answer.rstrip().endswith(("…", "..."))
    score -= "[redacted:" in answer
    return max(1, min(score, 5))


def pair_score(alike: float, same_model: bool) -> int:
    """1 to 5 for two attempts at the same thing, one proved to work and one to fail."""
    return 3 + same_model + (alike < MOST_ALIKE / 2)


_EVIDENCE = {"tests": 4, "last_word": 4, "commit": 3}


def session_score(
    reason: str, *, errors: int, retries: int, interventions: int, undone: int, calls: int
) -> int:
    """1 to 5 for a session that evidence says succeeded."""
    score = _EVIDENCE.get(reason, 2)
    score += not (errors or retries or interventions)
    score -= errors * 4 > max(calls, 4)
    score -= interventions > 2
    score -= bool(undone)
    return max(1, min(score, 5))
