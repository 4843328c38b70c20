"""Agents from npm, without asking it."""

import json
import subprocess
import tarfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import pytest

from session_memory.conformance.drivers.pi import Pi
from session_memory.conformance.npm import Npm

pytestmark = [pytest.mark.only("sqlite"), pytest.mark.no_store]

MISSING = "No matching version found for other@2.0.0."
# Of each release: its program, and why npm cannot install it.
RELEASES = {"1.0.0": ("exit 0", ""), "2.0.0": ("exit 0", MISSING), "2.1.0": ("exit 1", MISSING)}
NAME = Pi.package


class Registry(Npm):
    """Three releases of an agent, of which npm installs only the first."""

    releases: tuple[str, ...] = ("1.0.0", "2.0.0", "2.1.0")

    def _node(self) -> Path:
        return Path("/usr/bin")

    def _run(
        self, command: list[str], cwd: Path, variables: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        out, version = "", command[-1].rpartition("@")[2]
        match command:
            case ["npm", "view", _, "version"]:
                out = self.releases[-1]
            case ["npm", "view", _, "versions", _]:
                out = json.dumps(self.releases)
            case ["npm", "install", *_]:
                if failure := RELEASES[version][1]:
                    return subprocess.CompletedProcess(command, 1, "", f"npm error {failure}\n")
                self._unpacked(cwd, version)
            case ["npm", "pack", *_]:
                out = self._packed(cwd, version)
            case _:
                return subprocess.run(command, cwd=cwd, text=True, capture_output=True)
        return subprocess.CompletedProcess(command, 0, out, "")

    def _files(self, version: str) -> dict[str, str]:
        about = {"name": NAME, "version": version, "bin": {"pi": "dist/pi.sh"}}
        return {
            "package.json": json.dumps(about),
            "dist/pi.sh": f"#!/bin/sh\n{RELEASES[version][0]}\n",
        }

    def _packed(self, place: Path, version: str) -> str:
        with tarfile.open(place / "pi.tgz", "w:gz") as archive:
            for name, text in self._files(version).items():
                entry = tarfile.TarInfo(f"package/{name}")
                entry.size = len(text)
                archive.addfile(entry, BytesIO(text.encode()))
        return "pi.tgz\n"

    def _unpacked(self, place: Path, version: str) -> None:
        package = place / "node_modules" / NAME
        for name, text in self._files(version).items():
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            (package / name).write_text(text)
        (place / "node_modules" / ".bin").mkdir()
        (place / "node_modules" / ".bin" / "pi").symlink_to(package / "dist" / "pi.sh")


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/npm" if name == "npm" else None)
    return Registry(tmp_path)


def test_a_release_that_starts_without_its_missing_packages_is_used(npm: Registry) -> None:
    found = npm.install(Pi())
    assert found.program is not None and found.version == "2.0.0"
    assert found.remark == (
        f"{NAME} 2.1.0 does not install: {MISSING}; "
        f"{NAME} 2.0.0 runs without the packages it depends on: {MISSING}"
    )
    assert npm.installed(Pi()) == found


def test_what_does_not_start_leaves_nothing_behind(npm: Registry, tmp_path: Path) -> None:
    npm.releases = ("2.1.0",)
    assert npm.install(Pi()).program is None
    assert not list((tmp_path / "npm" / "pi").glob("**/pi*"))


def test_a_release_that_installs_has_no_remark(npm: Registry) -> None:
    npm.releases = ("1.0.0",)
    found = npm.install(Pi())
    assert (found.version, found.remark) == ("1.0.0", "")
