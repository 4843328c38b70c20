"""Ask git about a repository. Git starts no other program, and is stopped if it takes too long."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

# A repository may name programs in its configuration. None of them is started here.
_QUIET = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false"),
    *("-c", "log.showSignature=false", "--no-optional-locks", "--no-pager"),
)


class StartedGit:
    """A git command that runs in the background. Call ``output`` once for what it prints."""

    def __init__(self, root: Path, words: Sequence[str]) -> None:
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        own = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(
                ["git", *_QUIET, "--literal-pathspecs", *words],
                cwd=root,
                env=kept | own,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            return  # There is no git, or no such directory.

    def output(self, *, seconds: float, most: int) -> str | None:
        """Wait for git and return what it prints.

        None if it fails, takes longer than ``seconds`` or prints more than ``most`` bytes.
        """
        if self._process is None:
            return None
        try:
            printed, _ = self._process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            return None
        if self._process.returncode or len(printed) > most:
            return None
        return printed.decode("utf-8", "replace")


def quiet_git(root: Path, words: Sequence[str], *, seconds: float, most: int) -> str | None:
    """Run git and return what it prints.

    None if it fails, takes longer than ``seconds`` or prints more than ``most`` bytes.
    """
    return StartedGit(root, words).output(seconds=seconds, most=most)
