"""Tell ``session-memory doctor`` how many hooks failed lately, and why."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from session_memory.core.text import visible
from session_memory.hooks.place import state_directory
from session_memory.hooks.state import FAILURES, LARGEST_LOG
from session_memory.views.doctor import Check
from session_memory.views.figures import age, plural

DAYS = 7
# The beginning of a reason, and what helps.
_REMEDIES = {
    "there is no store": "Collect first: session-memory sync",
    "no store at": "Collect first: session-memory sync",
    "the store is empty": "Collect first: session-memory sync",
    "the store is locked": "Rarely, that is normal: another program was writing.",
    "the store has the schema of an older": "Update it: session-memory status",
    "the store has the schema of a newer": "Update session-memory, or the hooks' path to it.",
    "the store is damaged": "Check it: session-memory store verify",
    "the search index is not complete": "Complete it: session-memory store reindex",
    "standard input has no JSON": "Install the hooks again: session-memory install AGENT",
    "no answer within": "Rarely, that is normal: the machine was busy.",
    "unknown agent or event": "Install the hooks again: session-memory install AGENT",
}
_ANY = "Try it by hand: docs/hooks.md"


class HookFailure(msgspec.Struct, frozen=True):
    """A line of the log of failures."""

    at: int
    agent: str = ""
    event: str = ""
    reason: str = ""


def hook_checks(now: float | None = None) -> Iterator[Check]:
    """Yield one check about hooks; none if no hook ever ran on this machine."""
    directory = Path(state_directory())
    if not directory.is_dir():
        return
    now = time.time() if now is None else now
    if not os.access(directory, os.W_OK):
        text = f"{directory} cannot be written, so hooks answer nothing"
        yield Check("hooks", "warn", text, f"chmod u+w {directory}")
        return
    recent = [one for one in _failures(directory) if one.at > now - DAYS * 86_400]
    if not recent:
        yield Check("hooks", "ok", f"no failure within {DAYS} days")
        return
    last = sorted(recent, key=lambda one: one.at)[-1]
    when = age(last.at * 1000, int(now * 1000))
    what = visible(f"{last.agent} {last.event}".strip()) or "without arguments"
    text = f"{plural(len(recent), 'failure')} within {DAYS} days, the last {when} ({what})"
    remedies = (hint for start, hint in _REMEDIES.items() if last.reason.startswith(start))
    yield Check("hooks", "warn", f"{text}: {visible(last.reason)}", next(remedies, _ANY))


def _failures(directory: Path) -> Iterator[HookFailure]:
    for name in (f"{FAILURES}.1", FAILURES):
        try:
            with (directory / name).open("rb") as file:
                lines = file.read(2 * LARGEST_LOG).splitlines()
        except OSError:
            continue
        for line in lines:
            try:
                yield msgspec.json.decode(line, type=HookFailure)
            except msgspec.MsgspecError:
                # Two hooks may have written at once, or a disk was full.
                continue
