"""Install releases of agents from npm, each in a directory of its own.

npm and the install scripts get a home of their own, because some write programs into the home.
"""

import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from session_memory.conformance.driver import Driver
from session_memory.conformance.installed import Installed
from session_memory.conformance.isolation import words_without_network
from session_memory.core.errors import SessionMemoryError

NODE = "22"
_LEAST_NODE = (22, 19)
# How many releases are tried, the newest first, until one can be installed.
_TRIES = 10
_MACHINES = {"x86_64": "x64", "aarch64": "arm64"}


class NpmFailed(SessionMemoryError):
    """npm is missing, or cannot install what every agent needs."""

    hint = "Install Node.js 22 or newer with npm, and check that the npm registry can be reached."


class Npm:
    """Installs agents below `scratch`. What is installed there already is used again."""

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
        """Return the agent if it is installed already, else None."""
        return _found(driver, self._place(driver, version))

    def remark(self, driver: Driver, version: str = "") -> str:
        """Return which releases could not be installed, or only without packages, and why."""
        return _note(self._place(driver, version)).get("remark", "")

    def install(self, driver: Driver, version: str = "") -> Installed:
        """Install this release; without `version` the newest one that can be installed."""
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
            if _lacks_a_package(failure) and self._unpack(driver, place, tried):
                remarks.append(
                    f"{driver.package} {tried} runs without the packages it depends on: {failure}"
                )
                break
            remarks.append(f"{driver.package} {tried} does not install: {failure}")
        note = {"asked": newest, "remark": "; ".join(remarks)}
        place.mkdir(parents=True, exist_ok=True)
        (place / "installed.json").write_text(json.dumps(note))
        return _found(driver, place) or Installed(None, "", note["remark"])

    def _place(self, driver: Driver, version: str) -> Path:
        return self._scratch / "npm" / (f"{driver.name}@{version}" if version else driver.name)

    def _newest(self, package: str) -> str:
        """Return the newest release; an empty text if the registry does not answer."""
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

    def _unpack(self, driver: Driver, place: Path, version: str) -> bool:
        """Unpack a release without the packages that it depends on. Return whether it starts.

        Some agents are published as a bundle that has all it needs, but still name packages which
        the registry does not have.
        """
        target = place / "node_modules" / driver.package
        target.mkdir(parents=True, exist_ok=True)
        packed = self._run(["npm", "pack", "--silent", f"{driver.package}@{version}"], place)
        archive, starts = place / packed.stdout.strip(), False
        if archive.is_file():
            unpack = ["tar", "-xzf", str(archive), "--strip-components=1", "-C", str(target)]
            self._run(unpack, place)
            archive.unlink()
        if program := _program_of(target, driver.program):
            link = place / "node_modules" / ".bin" / driver.program
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(program)
            program.chmod(0o755)
            words, without_network = words_without_network([str(link), "--version"])
            starts = not self._run(words, place, without_network).returncode
        if not starts:
            shutil.rmtree(place / "node_modules", ignore_errors=True)
        return starts

    def _run(
        self, command: list[str], cwd: Path, variables: Mapping[str, str] = os.environ
    ) -> "subprocess.CompletedProcess[str]":
        # The machine's own variables may say how the registry is reached.
        environment = {**variables, "HOME": str(self._home), "PATH": self._path}
        return subprocess.run(
            command,
            cwd=cwd,
            env=environment,
            text=True,
            capture_output=True,
            timeout=self._patience_s,
        )

    def _node(self) -> Path:
        """Return the directory of a Node.js that is new enough for all agents.

        If this machine has none, it is installed below `scratch`.
        """
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
    """Return the most useful line of npm's errors, without the names of local directories."""
    lines = re.findall(r"^(?:npm error )+(?:notarget )?(.+)", errors, re.MULTILINE)
    missing = [line for line in lines if line.startswith("No matching version")]
    other = [line for line in lines if not line.startswith(("code ", "path "))]
    return next(iter(missing or other), errors[-200:])


def _lacks_a_package(failure: str) -> bool:
    return failure.startswith("No matching version")


def _program_of(package: Path, name: str) -> Path | None:
    """Return the program of this name in an unpacked package, if it has one."""
    about = package / "package.json"
    named = json.loads(about.read_text()).get("bin", {}) if about.exists() else {}
    program = package / (named if isinstance(named, str) else named.get(name, ""))
    return program if program.is_file() else None


def _version_of(node: Path) -> tuple[int, ...]:
    printed = subprocess.run([node, "--version"], text=True, capture_output=True).stdout
    return tuple(map(int, re.findall(r"\d+", printed)))


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
