"""Find out which version of an agent is installed, and whether handing over to it was tested."""

import re
import shutil
import subprocess

from session_memory.core.errors import CannotHandOver
from session_memory.derive.agents import about

_NUMBERS = re.compile(r"\d+(?:\.\d+)+")
_SECONDS = 20
_OTHERWISE = "Hand it over all the same: --any-version. Or print it as a text: --as text"


class InstalledVersion:
    """Asks an agent's program for its version, in the background."""

    def __init__(self, flavor: str) -> None:
        self._flavor = flavor
        self.program = about(flavor).resume_command[0]
        found = shutil.which(self.program)
        self._process = None
        if found is not None:
            self._process = subprocess.Popen(
                [found, "--version"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                errors="replace",
            )

    def refuse_untested(self) -> None:
        """Raise an error if the agent is not installed, or if its version is unknown or newer than
        the newest tested one.

        Patch releases do not count: they write the same format."""
        target = about(self._flavor).handoff
        tested = "" if target is None else target.tested
        version = self._read()
        if version is None:
            raise CannotHandOver(
                f"the version of {self._flavor} is not known: {self.program} --version says none",
                _OTHERWISE,
            )
        if _numbers(version)[:2] > _numbers(tested)[:2]:
            raise CannotHandOver(
                f"{self._flavor} {version} is newer than the newest tested version, {tested}",
                _OTHERWISE,
            )

    def _read(self) -> str | None:
        if self._process is None:
            raise CannotHandOver(
                f"{self.program} is not installed here",
                f"Install it, or add it to the PATH. {_OTHERWISE}",
            )
        try:
            printed, _ = self._process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            return None
        found = _NUMBERS.search(printed)
        return found[0] if found else None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
