"""The event ``failure``: a command failed. Say what resolved the same error before, if known."""

import os
import re
import time

from session_memory.hooks.hook_input import HookInput
from session_memory.hooks.state import take

TYPE_CHECKING = False  # As in `agents`.
if TYPE_CHECKING:
    from session_memory.hooks.known_fix import KnownFix

MOST_TOKENS = 120
# Programs whose exit status 1 may be the answer "no".
_MAY_ANSWER_NO = re.compile(r"\b(?:[ef]?grep|rg|ag|diff|cmp|test|which|type|command|pgrep)\b|\[")


def answer(hook: HookInput, store: str) -> str | None:
    """Return the text for the model, or None. A session gets the fix of an error only once."""
    failed = hook.has_failed
    if failed is False or hook.was_interrupted or not hook.command or not hook.output:
        return None
    if failed is None and not _seems_failed(hook):
        return None
    fix = _known_fix(hook, store)
    # Looking at the command takes longer to load than looking for the error.
    if fix is None or (_answers_no(hook) if failed else _only_looks(hook)):
        return None
    if not take(hook.agent.name, hook.session_key, fix.fingerprint):
        return None
    from session_memory.hooks.injection import fix_text

    return fix_text(fix, time.time())


def _seems_failed(hook: HookInput) -> bool:
    """Whether the output alone shows a failure."""
    from session_memory.learn.digest.output_errors import seems_failed

    return seems_failed(hook.output)


def _only_looks(hook: HookInput) -> bool:
    """Whether the command may have printed a file with an old error in it."""
    from session_memory.learn.digest.harmless import command_only_looks

    return command_only_looks(hook.command)


def _known_fix(hook: HookInput, store: str) -> "KnownFix | None":
    from session_memory.hooks.known_fix import known_fix, marks_of, masked_marks_of
    from session_memory.store.quick_reading import QuickReader
    from session_memory.store.stored_fixes import StoredFixes

    marks = marks_of(hook.output)
    if not marks:
        return None
    reader = QuickReader(store)
    try:
        stored, cwd = StoredFixes(reader), hook.cwd or os.getcwd()
        asked = (cwd, hook.session, hook.command)
        found = known_fix(stored, marks, *asked)
        return found or known_fix(stored, masked_marks_of(hook.output), *asked)
    finally:
        reader.close()


def _answers_no(hook: HookInput) -> bool:
    """Whether the exit status is an answer: ``grep`` found nothing, ``diff`` found something."""
    if hook.exit_status != 1 or not _MAY_ANSWER_NO.search(hook.command):
        return False
    from session_memory.learn.digest.steps import says_no

    return says_no(hook.command)
