"""The event ``end``: a session or a turn of it ended, and a background process collects it.

The agent does not wait: the hook notes the session, starts the process and returns. One process at
a time collects all noted sessions, and ends. If it is killed, the next one collects the rest.
"""

import gc
import os
import time

from session_memory.hooks.hook_input import HookInput
from session_memory.hooks.state import note_ended, take_lock

# After so many seconds the system ends the background process. The next sync collects the rest.
LONGEST_SECONDS = 120
SHORTEST_ID = 8
# The agent ends now, and perhaps other agents with it. So the background process waits before it
# imports anything.
PAUSE_SECONDS = 0.5


def end(hook: HookInput) -> None:
    """Note the session and start a process that collects it, if it can have a log here."""
    session = hook.session or os.path.basename(hook.transcript).partition(".")[0]
    if len(session) < SHORTEST_ID or "/" in session or not hasattr(os, "fork"):
        return
    event = (hook.native_event or "end").lower()
    note_ended(hook.agent.name, session, is_last="end" in event or "shutdown" in event)
    # The process that collects looks for new notes before it ends, so a second one is not needed.
    lock = take_lock()
    if lock is None:
        return
    if os.fork():
        os.close(lock)
        return
    try:
        _detach(lock)
        time.sleep(PAUSE_SECONDS)
        from session_memory.hooks.collecting import collect_ended

        collect_ended(lock)
    finally:
        os._exit(0)


def _detach(lock: int) -> None:
    """Leave the agent's pipes and terminal, lower the priority, and end after `LONGEST_SECONDS`."""
    # The agent waits until its pipes are closed, so that comes before the lower priority.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    os.closerange(3, lock)
    os.closerange(lock + 1, 256)
    gc.enable()
    os.setsid()
    import signal

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(LONGEST_SECONDS)
    os.nice(10)
    if hasattr(os, "SCHED_BATCH"):
        # The agent and its next commands come first.
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
