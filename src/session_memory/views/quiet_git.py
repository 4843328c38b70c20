"""Ask git about a repository. It only reads, starts no other program, and ends in time."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

# A repository may name programs in its configuration. None of them is started here.
_QUIET = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false"),
    *("-c", "log.showSignature=false", "--no-optional-locks", "--no-pager"),
)


def quiet_git(root: Path, words: Sequence[str], *, seconds: float, most: int) -> str | None:
    """What git prints; None if it fails, takes too long or prints more than ``most`` bytes."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    own = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", *_QUIET, "--literal-pathspecs", *words],
            cwd=root,
            env=kept | own,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode or len(done.stdout) > most:
        return None
    return done.stdout.decode("utf-8", "replace")
