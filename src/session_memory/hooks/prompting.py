"""The event ``prompt``: name an earlier session that did what a prompt asks for, if one surely did.

This hook is off by default. The model reads each answer, so in doubt there is none.
"""

import re
from typing import TYPE_CHECKING, cast

from session_memory.hooks.hook_input import HookInput
from session_memory.hooks.injection import session_text
from session_memory.hooks.repository import stored_repository
from session_memory.hooks.state import take
from session_memory.learn.digest.values import Digest
from session_memory.learn.recall import RecalledSession, recall
from session_memory.store.quick_reading import QuickReader
from session_memory.store.stored_fixes import StoredFixes

if TYPE_CHECKING:
    from session_memory.store.store import Store

LONGEST_PROMPT = 4_000
LEAST_WORDS = 4
# For 36 of 135 first prompts of real sessions, an earlier session fits this well. 30 of these 36
# had edited the same files. Of all earlier sessions of a repository, one in five had.
LEAST_FIT = 0.45
LEAST_MATCHES = 4
_WORD = re.compile(r"[^\W\d_]{2,}")


def answer(hook: HookInput, store: str, now: float) -> str | None:
    """Return the text for the model, or None. A session sees each earlier session only once."""
    prompt = hook.prompt[:LONGEST_PROMPT].strip()
    if prompt.startswith(("/", "<", "!")) or len(set(_WORD.findall(prompt))) < LEAST_WORDS:
        return None
    reader = QuickReader(store)
    try:
        repo = stored_repository(reader, hook.cwd)
        return None if repo is None else _answer(hook, reader, prompt, repo, now)
    finally:
        reader.close()


class _AskedStore:
    """The part of a store that `recall` uses. A whole `Store` takes longer to load than to ask."""

    def __init__(self, reader: QuickReader) -> None:
        self.db = reader


def _answer(hook: HookInput, reader: QuickReader, prompt: str, repo: str, now: float) -> str | None:
    found = recall(cast("Store", _AskedStore(reader)), prompt, limit=3, repo=repo)
    best = next((one for one in found if not _is_of(one, hook)), None)
    if best is None or best.digest is None or not _fits(best, best.digest):
        return None
    if not take(hook.agent.name, hook.session_key, "prompt", best.uid):
        return None
    return session_text(best.digest, StoredFixes(reader).short_name(best.uid), now)


def _fits(best: RecalledSession, digest: Digest) -> bool:
    is_done = digest.outcome.outcome in ("success", "continued")
    return best.fit >= LEAST_FIT and len(best.matches) >= LEAST_MATCHES and is_done


def _is_of(one: RecalledSession, hook: HookInput) -> bool:
    native = one.uid.partition(":")[2]
    return bool(hook.session) and native.startswith(hook.session)
