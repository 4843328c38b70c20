"""What the tests let another process do. Run as a program: ``crash_child.py TASK ARGUMENT…``.

A task speaks in lines of JSON. An error we raise on purpose is the last of them, with exit status
1; anything else is a traceback.
"""

import json
import os
import random
import resource
import signal
import sys
import traceback
from typing import Any

from live.disk import Control
from live.story import Storyteller, perform
from session_memory.core.errors import SessionMemoryError
from session_memory.live.store import SessionStore


def say(expected: Any) -> None:
    os.write(1, json.dumps(expected).encode() + b"\n")


# ---------------------------------------------------------------- to be killed


def nursery(place: str) -> None:
    """Start a worker for every line (``PIPE TAG``) at once, with everything imported."""
    if place.startswith("postgresql:"):
        __import__("session_memory.store.postgres")
    for line in sys.stdin:
        pipe, tag = line.split()
        pid = os.fork()
        if not pid:
            try:
                _work(place, pipe, tag)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        say(pid)
        sys.stdin.readline()
        say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _work(place: str, pipe: str, tag: str) -> None:
    """Announce a step, do it, acknowledge it, for ever."""
    out = os.open(pipe, os.O_WRONLY)
    teller = Storyteller(tag, random.Random(tag))
    with SessionStore.open(place) as store:
        while True:
            step = teller.next_step()
            os.write(out, json.dumps({"begin": step}).encode() + b"\n")
            seqs = perform(store, step)
            assert seqs == teller.took(step), step
            os.write(out, json.dumps({"done": seqs}).encode() + b"\n")


# ---------------------------------------------------------------- beside the tests


def hold(place: str) -> None:
    """Keep every other writer out, for as long as each line says ``hold`` until one says ``go``."""
    with SessionStore.open(place) as store:
        say("ready")
        for _ in sys.stdin:
            with store._db.transaction():
                # On a server it is the rows that live writers wait for.
                store._db.execute("update live_sessions set revision = revision")
                say("held")
                sys.stdin.readline()
            say("free")


def append(place: str, session: str, count: str) -> None:
    """So many appends, and the seq of each."""
    with SessionStore.open(place) as store:
        for _ in range(int(count)):
            say({"seq": store.append_message(session, role="user", content="x" * 500)})


def append_limited(place: str, session: str, largest_file: str) -> None:
    """Appends until no file may grow any more."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(largest_file), int(largest_file)))
    append(place, session, "100000")


def look(place: str, session: str) -> None:
    """The seqs of a session."""
    with SessionStore.open(place) as store:
        say([message.seq for message in store.load_active_messages(session)])


def append_on_a_disk(place: str, durability: str, count: str) -> None:
    """So many appends, each marked in the disk's record as soon as it was acknowledged.

    ``crowded`` is ``full`` while other writers wait.
    """
    disk, is_crowded = Control(), durability == "crowded"
    with SessionStore.open(place, durability="full" if is_crowded else durability) as store:
        store.create_session(session_id="s")
        for number in range(1, int(count) + 1):
            if is_crowded:
                store._db.crowd()
            store.append_message("s", role="user", content=f"message {number} " + "x" * 900)
            disk.mark(number)


def tell_on_a_disk(place: str, durability: str, count: str) -> None:
    """So many steps of a story, said and marked one by one."""
    disk, teller = Control(), Storyteller("told", random.Random(7))
    with SessionStore.open(place, durability=durability) as store:
        for number in range(1, int(count) + 1):
            step = teller.next_step()
            assert perform(store, step) == teller.took(step)
            disk.mark(number)
            say(step)


TASKS = (nursery, hold, append, append_limited, look, append_on_a_disk, tell_on_a_disk)


def main() -> int:
    task = {task.__name__: task for task in TASKS}[sys.argv[1]]
    try:
        task(*sys.argv[2:])
    except SessionMemoryError as error:
        say({"kind": error.kind, "message": str(error), "hint": error.hint})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
