"""Write the texts that hooks give to a model: marked as ours, quoted as data, and short."""

import re

from session_memory.core.injected import marked
from session_memory.core.text import below_repo, one_line
from session_memory.learn.digest.digest_version import DIGEST_VERSION
from session_memory.render.answer_text import CHARACTERS_PER_TOKEN, AnswerText

TYPE_CHECKING = False  # As in `agents`.
if TYPE_CHECKING:
    from session_memory.hooks.known_fix import KnownFix
    from session_memory.learn.digest.values import Digest

MOST_TOKENS, MOST_TOKENS_AFTER_COMPACTION = 120, 300
MOST_LINES = 3
SHORTEST_REASON = 20
# Tags that could end our mark around the text, or what an agent puts around the text of a hook.
# They are made harmless in quotations.
_TAG = re.compile(
    r"<(?=/|(?:session-memory|system|hook|user|assistant|untrusted)\b)", re.IGNORECASE
)
_NAME = re.compile(r"[^\w./@+-]+")
_HOW = {
    "edit": "edited",
    "command": "ran",
    "instead": "ran instead",
}


def fix_text(fix: "KnownFix", now: float) -> str:
    """Return the text that says what resolved an error before."""
    text = _empty_answer(MOST_TOKENS, fix.ref)
    where = "in another repository" if fix.is_elsewhere else "here"
    text.say(f"This error was resolved {where} {_age(fix.ended, now)}; check that it fits.")
    # A digest of the current version was masked by the current rules, so its texts are not masked
    # again.
    how, is_old = fix.how, fix.version != DIGEST_VERSION
    kind = how["kind"]
    words = _below(how["text"], fix.repo) if kind == "edit" else below_repo(how["text"], fix.repo)
    text.quote(_HOW[kind], _harmless(words), rank=0, most=120, cut=is_old)
    changed = [line for line in how.get("lines", ()) if line[:1] in "+-" and line[1:].strip()]
    for line in changed[:MOST_LINES]:
        text.quote("", _harmless(one_line(line, 100)), rank=1, cut=is_old)
    if len(how.get("said", "")) >= SHORTEST_REASON:
        text.quote("why", _harmless(how["said"]), rank=2, most=140, cut=is_old)
    text.quote("error", _harmless(fix.sample), rank=3, most=120, cut=is_old)
    return marked(str(text), ref=fix.ref)


def session_text(digest: "Digest", ref: str, now: float) -> str:
    """Return the text about a session that did something like what a prompt asks for."""
    from session_memory.core.time import parse_time

    text = _empty_answer(MOST_TOKENS, ref)
    ended = digest.ended_at or digest.started_at
    when = _age(parse_time(ended), now) if ended else "earlier"
    text.say(f"A session here did something similar {when}; the tool show has more.")
    if digest.title:
        text.quote("title", _harmless(digest.title), rank=0, most=100)
    files = [_below(file.path, digest.repo) for file in digest.files if file.edits]
    if files:
        text.quote("edited", _harmless(", ".join(files[:3])), rank=1, most=140)
    if digest.last_answer is not None:
        text.quote("answered", _harmless(digest.last_answer.text), rank=2, most=160)
    return marked(str(text), ref=ref)


def repository_text(repo: str) -> str:
    """Return a line that names the tools of the memory.

    It is the same for all sessions of a repository, so that caches of prompts stay valid.
    """
    text = AnswerText(MOST_TOKENS)
    text.say(
        "Earlier sessions of all agents in this repository can be asked. Call the session-memory"
        " tools fix before you debug an error and recall before you plan or redo something."
    )
    return marked(str(text), repo=_NAME.sub("_", repo)[:60])


def compaction_text(digest: "Digest", ref: str) -> str:
    """Return what a compaction may lose of a session: the last decisions, plan and prompts, edited
    files and open errors."""
    text = _empty_answer(MOST_TOKENS_AFTER_COMPACTION, ref)
    text.say("Before the compaction, this session had:")
    for label, statements, most in (
        ("decided", digest.decisions, 4),
        ("plan", digest.plans, 1),
        ("asked", digest.prompts, 3),
    ):
        for number, one in enumerate(statements[-most:]):
            text.quote(label, _harmless(one.text), rank=1 + number, most=200)
    edited = [file for file in digest.files if file.edits][:8]
    if edited:
        names = ", ".join(_below(file.path, digest.repo) for file in edited)
        text.quote("edited", _harmless(names), rank=0, most=300)
    for error in [one for one in digest.error_snippets if one.resolution is None][:2]:
        text.quote("open error", _harmless(error.sample), rank=4, most=120)
    return marked(str(text), ref=ref)


def _empty_answer(tokens: int, ref: str) -> AnswerText:
    """Return an empty answer. With the mark around it, it has at most this many tokens."""
    return AnswerText(tokens - len(marked("", ref=ref)) // CHARACTERS_PER_TOKEN - 1)


def _age(moment: int, now: float) -> str:
    days = max(int((now - moment / 1000) // 86_400), 0)
    return f"{days} days ago" if days > 1 else "yesterday" if days else "today"


def _below(paths: str, repo: str | None) -> str:
    """Shorten paths to what is below the first directory that is named like the repository."""
    return ", ".join(path.partition(f"/{repo}/")[2] or path for path in paths.split(", "))


def _harmless(text: str) -> str:
    return _TAG.sub("‹", text)
