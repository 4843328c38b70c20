"""The agents' releases from npm, each in a directory of its own.

npm and the install scripts get a home of their own: some write programs into it.
"""

import json
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from session_memory.conformance.driver import Driver
from session_memory.conformance.installed import Installed
from session_memory.core.errors import SessionMemoryError

NODE = "22"
_LEAST_NODE = (22, 19)
# So many older releases are tried if the newest cannot be installed.
_TRIES = 6
_MACHINES = {"x86_64": "x64", "aarch64": "arm64"}


class NpmFailed(SessionMemoryError):
    """npm is missing, or cannot install what every agent needs."""

    hint = "Install Node.js 22 or newer with npm, and check that the npm registry can be reached."


class Npm:
    """Installs below `scratch`, and uses again what is there."""

    def __init__(self, scratch: Path, *, patience_s: float = 900) -> None:
        if shutil.which("npm") is None:
            raise NpmFailed("there is no npm")
        self._scratch = scratch
        self._patience_s = patience_s
        self._home = scratch / "npm-home"
        self._home.mkdir(parents=True, exist_ok=True)
        self._path = os.environ["PATH"]
        self.node = self._node()
        self._path = f"{self.node}{os.pathsep}{self._path}"

    def installed(self, driver: Driver, version: str = "") -> Installed | None:
        """What is there already."""
        return _found(driver, self._place(driver, version))

    def remark(self, driver: Driver, version: str = "") -> str:
        """Why releases could not be installed."""
        return _note(self._place(driver, version)).get("remark", "")

    def install(self, driver: Driver, version: str = "") -> Installed:
        """This release, or else the newest one that can be installed."""
        place = self._place(driver, version)
        found, newest = _found(driver, place), version or self._newest(driver.package)
        if found is not None and newest in ("", _asked(place)):
            return found
        shutil.rmtree(place, ignore_errors=True)
        remarks = []
        for tried in [version] if version else self._candidates(driver.package, newest):
            failure = self._add(place, f"{driver.package}@{tried}")
            if failure is None:
                break
            remarks.append(f"{driver.package} {tried} does not install: {failure}")
        note = {"asked": newest, "remark": "; ".join(remarks)}
        place.mkdir(parents=True, exist_ok=True)
        (place / "installed.json").write_text(json.dumps(note))
        return _found(driver, place) or Installed(None, "", note["remark"])

    def _place(self, driver: Driver, version: str) -> Path:
        return self._scratch / "npm" / (f"{driver.name}@{version}" if version else driver.name)

    def _newest(self, package: str) -> str:
        """The newest release; nothing if the registry does not answer."""
        done = self._run(["npm", "view", package, "version"], self._scratch)
        return done.stdout.strip() if done.returncode == 0 else ""

    def _candidates(self, package: str, newest: str) -> list[str]:
        done = self._run(["npm", "view", package, "versions", "--json"], self._scratch)
        listed = json.loads(done.stdout or "[]")
        versions = [str(one) for one in listed] if isinstance(listed, list) else []
        at = versions.index(newest) + 1 if newest in versions else len(versions)
        return list(reversed(versions[:at]))[:_TRIES] or ["latest"]

    def _add(self, place: Path, spec: str) -> str | None:
        place.mkdir(parents=True, exist_ok=True)
        (place / "package.json").write_text('{"private": true}\n')
        done = self._run(["npm", "install", "--no-audit", "--no-fund", spec], place)
        if done.returncode == 0:
            return None
        shutil.rmtree(place / "node_modules", ignore_errors=True)
        return why_failed(done.stderr)

    def _run(self, command: list[str], cwd: Path) -> "subprocess.CompletedProcess[str]":
        # The machine's own variables may say how the registry is reached.
        environment = {**os.environ, "HOME": str(self._home), "PATH": self._path}
        return subprocess.run(
            command,
            cwd=cwd,
            env=environment,
            text=True,
            capture_output=True,
            timeout=self._patience_s,
        )

    def _node(self) -> Path:
        """The directory of a Node.js that is new enough for all agents."""
        own = shutil.which("node")
        if own and _version_of(Path(own)) >= _LEAST_NODE:
            return Path(own).parent
        package = f"node-linux-{_MACHINES.get(platform.machine(), platform.machine())}"
        place = self._scratch / "npm" / "node"
        directory = place / "node_modules" / package / "bin"
        if not directory.exists() and (failure := self._add(place, f"{package}@{NODE}")):
            raise NpmFailed(f"Node.js {NODE} cannot be installed: {failure}")
        return directory


def why_failed(errors: str) -> str:
    """The line of npm's errors that says most. It names no directory of this machine."""
    lines = re.findall(r"^(?:npm error )+(?:notarget )?(.+)", errors, re.MULTILINE)
    missing = [line for line in lines if line.startswith("No matching version")]
    told = [line for line in lines if not line.startswith(("code ", "path "))]
    return next(iter(missing or told), errors[-200:])


def _version_of(node: Path) -> tuple[int, ...]:
    told = subprocess.run([node, "--version"], text=True, capture_output=True).stdout
    return tuple(map(int, re.findall(r"\d+", told)))


def _note(place: Path) -> dict[str, str]:
    file = place / "installed.json"
    note: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    return note


def _asked(place: Path) -> str:
    return _note(place).get("asked", "")


def _found(driver: Driver, place: Path) -> Installed | None:
    program = place / "node_modules" / ".bin" / driver.program
    if not program.exists():
        return None
    about = json.loads((place / "node_modules" / driver.package / "package.json").read_text())
    return Installed(program, about["version"], _note(place).get("remark", ""))
