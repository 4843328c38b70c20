"""Run a hook: read what the agent says, print what it accepts, and never disturb it.

The exit status is 0 whatever happens, and nothing is printed unless there is something to say.
"""

import gc
import os
from contextlib import suppress

TYPE_CHECKING = False  # As in `agents`.
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LARGEST_INPUT = 8 << 20
# Answers take a tenth of a second, and after a compaction some seconds.
LONGEST_SECONDS = 4.0
OPTIONS = {"--store": "SESSION_MEMORY_STORE", "--config": "SESSION_MEMORY_CONFIG"}


def run(words: "list[str]") -> int:
    # What is loaded stays until the process ends, so a search for garbage finds none.
    gc.disable()
    agent, event = [*(words := _placed(words)), "", ""][:2]
    output = _private_output()
    unlimit = None
    try:
        unlimit = _limit_time(agent, event)
        data = _answer(agent, event)
        while data:
            data = data[os.write(output, data) :]
    except BaseException as error:
        # An agent shows a failing hook to its user, or stops. `doctor` tells what happened.
        note(agent, event, error)
    if unlimit is not None:
        unlimit()
    gc.enable()
    return 0


def _placed(words: "list[str]") -> "list[str]":
    """Return the words without ``--store`` and ``--config``, whose values go to the environment."""
    rest, left = [], iter(words)
    for word in left:
        name, _, value = word.partition("=")
        if name in OPTIONS:
            os.environ[OPTIONS[name]] = value or next(left, "")
        else:
            rest.append(word)
    return rest


def _answer(agent: str, event: str) -> bytes:
    from session_memory.hooks.agents import AGENTS, is_run_by_another
    from session_memory.hooks.events import EVENTS, answer
    from session_memory.hooks.hook_input import HookInput
    from session_memory.hooks.place import store_place

    if agent not in AGENTS or event not in EVENTS:
        raise ValueError("unknown agent or event")
    values = _read()
    if is_run_by_another(AGENTS[agent], os.environ):
        return b""
    if values is None:
        raise ValueError("standard input has no JSON object")
    hook = HookInput(AGENTS[agent], values)
    text = answer(hook, event, store_place())
    if not text:
        return b""
    from json import dumps

    return dumps(hook.agent.answer(event, hook.native_event, text)).encode()


def _read() -> "dict[str, Any] | None":
    if os.isatty(0):
        return None
    data = bytearray()
    while len(data) <= LARGEST_INPUT:
        piece = os.read(0, 1 << 16)
        if not piece:
            break
        data += piece
    from json import loads

    values = loads(data.decode("utf-8", "replace")) if len(data) <= LARGEST_INPUT else None
    return values if isinstance(values, dict) else None


def _limit_time(agent: str, event: str) -> "Callable[[], None]":
    """End the process if it takes too long: the agent waits for it.

    The function that is returned switches this off.
    """

    def end(*_: object) -> None:
        note(agent, event, ValueError(f"no answer within {LONGEST_SECONDS:g} seconds"))
        os._exit(0)

    # A signal handler would not run while libpq or SQLite waits. The event `end` waits for neither,
    # and it forks, which a process with threads should not do.
    return _limit_by_signal(end) if event == "end" else _limit_by_thread(end)


def _limit_by_thread(end: "Callable[[], None]") -> "Callable[[], None]":
    from _thread import allocate_lock, start_new_thread

    answered = allocate_lock()
    answered.acquire()

    def watch() -> None:
        if not answered.acquire(timeout=LONGEST_SECONDS):
            end()

    try:
        start_new_thread(watch, ())
    except RuntimeError:  # The system allows no more threads.
        return _limit_by_signal(end)
    return answered.release


def _limit_by_signal(end: "Callable[..., None]") -> "Callable[[], None]":
    import signal

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_SECONDS)

    def unlimit() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    return unlimit


def _private_output() -> int:
    """Return a copy of standard output. The standard output and error themselves go nowhere."""
    try:
        output = os.dup(1)
    except OSError:
        return -1
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    return output


def note(agent: str, event: str, error: BaseException) -> None:
    """Note why a hook had no answer. Of an error that this program did not raise itself, only the
    type is noted, because its text may quote a log."""
    with suppress(Exception):
        from session_memory.hooks.state import note_failure
        from session_memory.store.quick_reading import CannotRead

        is_ours = isinstance(error, CannotRead) or type(error) is ValueError
        note_failure(agent, event, str(error) if is_ours else type(error).__name__)
