"""The text that a hook gives to a model: marked as ours, quoted as data, and short."""

import re

from session_memory.core.injected import marked
from session_memory.core.text import below_repo, one_line
from session_memory.hooks.known_fix import KnownFix
from session_memory.learn.digest.digest_version import DIGEST_VERSION
from session_memory.render.answer_text import CHARACTERS_PER_TOKEN, AnswerText

MOST_TOKENS = 120
MOST_LINES = 3
# A quotation cannot end the mark, nor what an agent puts around the text of a hook.
_TAG = re.compile(
    r"<(?=/|(?:session-memory|system|hook|user|assistant|untrusted)\b)", re.IGNORECASE
)
_HOW = {
    "edit": "edited",
    "command": "ran",
    "instead": "ran instead",
}


def fix_text(fix: KnownFix, now: float) -> str:
    around = len(marked("", ref=fix.ref))
    text = AnswerText(MOST_TOKENS - around // CHARACTERS_PER_TOKEN - 1)
    days = max(int((now - fix.ended / 1000) // 86_400), 0)
    age = f"{days} days ago" if days > 1 else "yesterday" if days else "today"
    where = "in another repository" if fix.is_elsewhere else "here"
    text.say(f"This error was resolved {where} {age}; check that it fits.")
    # Texts of a digest of this version are masked by the rules of this release.
    how, is_old = fix.how, fix.version != DIGEST_VERSION
    kind = how["kind"]
    words = _below(how["text"], fix.repo) if kind == "edit" else below_repo(how["text"], fix.repo)
    text.quote(_HOW[kind], _harmless(words), rank=0, most=120, cut=is_old)
    changed = [line for line in how.get("lines", ()) if line[:1] in "+-" and line[1:].strip()]
    for line in changed[:MOST_LINES]:
        text.quote("", _harmless(one_line(line, 100)), rank=1, cut=is_old)
    if how.get("said"):
        text.quote("why", _harmless(how["said"]), rank=2, most=140, cut=is_old)
    text.quote("error", _harmless(fix.sample), rank=3, most=120, cut=is_old)
    return marked(str(text), ref=fix.ref)


def _below(paths: str, repo: str | None) -> str:
    """Paths below the repository. A package often has its name, so the first directory counts."""
    return ", ".join(path.partition(f"/{repo}/")[2] or path for path in paths.split(", "))


def _harmless(text: str) -> str:
    return _TAG.sub("‹", text)
