"""What hooks remember between runs: small files that need no lock of the store.

- ``given``: an empty file for each text that a session got
- ``ended``: a file for each session that waits to be collected
- ``failures.jsonl``: the latest reasons why a hook had no answer, without text of a transcript
- ``collect.lock``: locked by the background process that collects sessions
"""

import os
import time
from contextlib import suppress

from session_memory.hooks.place import STATE, own_directory, state_directory

GIVEN, ENDED, FAILURES, LOCK = "given", "ended", "failures.jsonl", "collect.lock"
MOST_GIVEN = 4_000
MOST_ENDED = 200
KEPT_SECONDS = 30 * 24 * 3600
LARGEST_LOG = 64 * 1024
LONGEST_REASON = 200


def private_directory(name: str = "") -> str:
    """Return a directory for files of hooks; create it, readable for the user only."""
    # `makedirs` would create the directories above it with the usual permissions.
    path = ""
    for part in filter(None, (own_directory(), STATE, name)):
        path = os.path.join(path, part)
        if not os.path.isdir(path):
            with suppress(FileExistsError):
                os.mkdir(path, 0o700)
    return path


def take(*names: str) -> bool:
    """Remember that a text, named by ``names``, is given now; False if it was given before.

    If two hooks take the same text at the same moment, only one of them gets True."""
    from hashlib import blake2b

    given = "\0".join(names).encode("utf-8", "surrogatepass")
    directory = private_directory(GIVEN)
    name = blake2b(given, digest_size=12).hexdigest()
    try:
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        os.close(os.open(os.path.join(directory, name), flags, 0o600))
    except FileExistsError:
        return False
    if name.startswith("0"):
        _drop_old(directory)
    return True


def _drop_old(directory: str) -> None:
    """Delete old files, so that their number is bounded. Runs for one of sixteen new files."""
    with os.scandir(directory) as found:
        ages = sorted((one.stat(follow_symlinks=False).st_mtime, one.path) for one in found)
    oldest = time.time() - KEPT_SECONDS
    excess = len(ages) - MOST_GIVEN // 2 if len(ages) > MOST_GIVEN else 0
    for place, (moment, path) in enumerate(ages):
        if moment < oldest or place < excess:
            with suppress(FileNotFoundError):
                os.unlink(path)


class EndedSession:
    """A session that waits to be collected. ``is_last``: the session ended, not only a turn."""

    def __init__(self, agent: str, session: str, *, is_last: bool) -> None:
        self.agent, self.session, self.is_last = agent, session, is_last


def note_ended(agent: str, session: str, *, is_last: bool) -> None:
    from hashlib import blake2b

    directory = private_directory(ENDED)
    if len(os.listdir(directory)) >= MOST_ENDED:
        # Something keeps them from being collected. The next sync finds the logs.
        raise ValueError(f"{MOST_ENDED} sessions wait to be collected")
    text = f"{agent}\n{int(is_last)}\n{session}".encode("utf-8", "backslashreplace")
    name = blake2b(text, digest_size=12).hexdigest()
    path = os.path.join(directory, name)
    file = os.open(f"{path}.new", os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    try:
        os.write(file, text)
    finally:
        os.close(file)
    os.replace(f"{path}.new", path)


def take_ended() -> "list[EndedSession]":
    """Return the sessions that wait to be collected, and delete their files."""
    directory = os.path.join(state_directory(), ENDED)
    found = []
    with suppress(FileNotFoundError):
        for name in sorted(os.listdir(directory)):
            path = os.path.join(directory, name)
            with suppress(OSError, UnicodeDecodeError):
                with open(path, encoding="utf-8") as file:
                    agent, last, session = [*file.read(10_000).split("\n", 2), "", ""][:3]
                os.unlink(path)
                if session and not name.endswith(".new"):
                    found.append(EndedSession(agent, session, is_last=last == "1"))
    return found


def is_waiting() -> bool:
    """Whether a session waits to be collected."""
    try:
        return bool(os.listdir(os.path.join(state_directory(), ENDED)))
    except FileNotFoundError:
        return False


def take_lock() -> int | None:
    """Take the lock for collecting: an open file. None if another process holds it."""
    import fcntl

    path = os.path.join(private_directory(), LOCK)
    lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def note_failure(agent: str, event: str, reason: str) -> None:
    """Append to the log of failures. If even that fails, nobody can be told."""
    from json import dumps

    line = dumps(
        {
            "at": int(time.time()),
            "agent": agent[:40],
            "event": event[:40],
            "reason": reason[:LONGEST_REASON],
        }
    )
    with suppress(OSError):
        path = os.path.join(private_directory(), FAILURES)
        file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
        try:
            os.write(file, f"{line}\n".encode())
            is_large = os.fstat(file).st_size > LARGEST_LOG
        finally:
            os.close(file)
        if is_large:
            os.replace(path, f"{path}.1")
