"""Check for ``doctor`` whether the agents that were connected with the memory still start it."""

import os
from collections.abc import Iterator

from session_memory.core.errors import SessionMemoryError
from session_memory.install.planning import Installer
from session_memory.install.program import program_words
from session_memory.install.status import PROJECT, InstallStatus, recorded_statuses
from session_memory.views.doctor import Check


def install_checks() -> Iterator[Check]:
    """Yield a warning for each connected agent whose settings need a new installation.

    If all are in order, yield one check that names them. Nothing is yielded if none is connected.
    """
    try:
        found = recorded_statuses(Installer(os.environ), program_words())
    except SessionMemoryError as error:
        yield Check("agents", "warn", str(error), error.hint)
        return
    wrong = [(one, reason) for one in found if (reason := _reason(one))]
    for one, reason in wrong:
        option = " --project" if one.level == PROJECT else ""
        where = f" in {one.root}" if one.root else ""
        hint = f"session-memory install {one.agent}{option}"
        yield Check("agents", "warn", f"{one.agent}{where}: {reason}", hint)
    if found and not wrong:
        names = ", ".join(dict.fromkeys(one.agent for one in found))
        yield Check("agents", "ok", f"connected: {names}")


def _reason(one: InstallStatus) -> str | None:
    if one.problem:
        return one.problem
    if not one.installed:
        return "its settings no longer contain the entries for session-memory"
    if one.program_exists is False:
        return f"{one.program} does not exist any more"
    return f"out of date: {', '.join(one.outdated)}" if one.outdated else None
