"""Install releases of agents from PyPI, each in a virtual environment of its own."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from session_memory.conformance.driver import Driver
from session_memory.conformance.installed import Installed

_NEWEST_PYTHON = 15


class PyPi:
    """Installs agents below `scratch`. What is installed there already is used again."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._home = scratch / "pypi-home"

    def installed(self, driver: Driver, version: str = "") -> Installed | None:
        """Return the agent if it is installed already, else None."""
        return _found(driver, self._place(driver, version))

    def remark(self, driver: Driver, version: str = "") -> str:
        """Return why a release could not be installed."""
        return _note(self._place(driver, version)).get("remark", "")

    def install(self, driver: Driver, version: str = "") -> Installed:
        """Install this release; without `version` the newest one."""
        place = self._place(driver, version)
        self._home.mkdir(parents=True, exist_ok=True)
        python = _python(driver.least_python)
        if python is None:
            wanted = ".".join(map(str, driver.least_python))
            return self._failed(place, f"{driver.package} needs Python {wanted} or newer")
        if not (place / "bin" / "pip").exists():
            shutil.rmtree(place, ignore_errors=True)
            self._run([python, "-m", "venv", str(place)])
        spec = f"{driver.package}=={version}" if version else driver.package
        # If pip fails, as without a network, the release that is installed already is used.
        done = self._run([str(place / "bin" / "pip"), "install", "--quiet", "--upgrade", spec])
        found = _found(driver, place)
        if found is None:
            errors = re.findall(r"ERROR: (.+)", done.stderr)
            return self._failed(place, f"{spec} does not install: {(errors or ['?'])[0]}")
        return found

    def _failed(self, place: Path, remark: str) -> Installed:
        place.mkdir(parents=True, exist_ok=True)
        (place / "installed.json").write_text(json.dumps({"remark": remark}))
        return Installed(None, "", remark)

    def _place(self, driver: Driver, version: str) -> Path:
        return self._scratch / "pypi" / (f"{driver.name}@{version}" if version else driver.name)

    def _run(self, command: list[str]) -> "subprocess.CompletedProcess[str]":
        # The machine's own variables may say how the index is reached.
        environment = {**os.environ, "HOME": str(self._home)}
        return subprocess.run(command, env=environment, text=True, capture_output=True, timeout=900)


def _python(least: tuple[int, int]) -> str | None:
    """Return a Python that is new enough: ours, or one in the path; None if there is none."""
    if sys.version_info >= least:
        return sys.executable
    for minor in range(_NEWEST_PYTHON, least[1] - 1, -1):
        found = shutil.which(f"python{least[0]}.{minor}")
        # The file may be a stand-in for a Python that is not installed.
        if found and not subprocess.run([found, "-c", ""], capture_output=True).returncode:
            return found
    return None


def _note(place: Path) -> dict[str, str]:
    file = place / "installed.json"
    note: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    return note


def _found(driver: Driver, place: Path) -> Installed | None:
    program = place / "bin" / driver.program
    name = driver.package.replace("-", "_")
    about = next(place.glob(f"lib/python3*/site-packages/{name}-*.dist-info"), None)
    if about is None or not program.exists():
        return None
    return Installed(program, about.name.removesuffix(".dist-info").rpartition("-")[2])
