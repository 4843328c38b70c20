"""The event ``failure``: a command failed, and the same error was resolved before."""

import os
import re
import time

from session_memory.hooks.hook_input import HookInput
from session_memory.hooks.place import store_place
from session_memory.hooks.state import take

TYPE_CHECKING = False  # As in `agents`.
if TYPE_CHECKING:
    from session_memory.hooks.known_fix import KnownFix

MOST_TOKENS = 120
# Programs whose exit status 1 may be the answer "no".
_MAY_ANSWER_NO = re.compile(r"\b(?:[ef]?grep|rg|ag|diff|cmp|test|which|type|command|pgrep)\b|\[")


def answer(hook: HookInput) -> str | None:
    """The text for the model, or None. It is given to a session once."""
    failed = hook.has_failed
    if failed is False or hook.was_interrupted or not hook.command or not hook.output:
        return None
    if failed and _answers_no(hook):
        return None
    fix = _known_fix(hook, failed=bool(failed))
    session = hook.session or f"{hook.cwd} {time.strftime('%Y-%m-%d')}"
    if fix is None or not take(hook.agent.name, session, fix.fingerprint):
        return None
    from session_memory.hooks.injection import fix_text

    return fix_text(fix, time.time())


def _known_fix(hook: HookInput, *, failed: bool) -> "KnownFix | None":
    from session_memory.hooks.known_fix import known_fix, marks_of
    from session_memory.store.quick_reading import QuickReader
    from session_memory.store.stored_fixes import StoredFixes

    marks = marks_of(hook.output, failed=failed)
    if not marks:
        return None
    reader = QuickReader(store_place())
    try:
        return known_fix(StoredFixes(reader), marks, hook.cwd or os.getcwd(), hook.session)
    finally:
        reader.close()


def _answers_no(hook: HookInput) -> bool:
    """Whether the exit status is an answer: ``grep`` found nothing, ``diff`` found something."""
    if hook.exit_status != 1 or not _MAY_ANSWER_NO.search(hook.command):
        return False
    from session_memory.learn.digest.steps import says_no

    return says_no(hook.command)
