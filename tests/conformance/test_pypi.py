"""Agents from PyPI, without asking it."""

from pathlib import Path

import pytest

from session_memory.conformance.drivers.vibe import Vibe
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.playing import gather
from session_memory.conformance.pypi import PyPi

pytestmark = [pytest.mark.only("sqlite"), pytest.mark.no_store]


class OfTheFuture(Vibe):
    least_python = (3, 99)


def test_a_release_that_is_there_is_found_with_its_version(tmp_path: Path) -> None:
    pypi, driver = PyPi(tmp_path), Vibe()
    assert pypi.installed(driver) is None
    place = tmp_path / "pypi" / "vibe"
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "vibe").touch()
    (place / "lib" / "python3.12" / "site-packages" / "mistral_vibe-3.0.2.dist-info").mkdir(
        parents=True
    )
    found = pypi.installed(driver)
    assert found is not None
    assert (found.program, found.version) == (place / "bin" / "vibe", "3.0.2")


def test_an_agent_for_a_newer_python_says_so(tmp_path: Path) -> None:
    pypi, driver = PyPi(tmp_path), OfTheFuture()
    assert pypi.install(driver).program is None
    assert pypi.remark(driver) == "mistral-vibe needs Python 3.99 or newer"


def test_logs_that_an_agent_deletes_are_gathered_after_every_run(tmp_path: Path) -> None:
    place, seen, driver = AgentPlace.made(tmp_path / "place", ""), tmp_path / "seen", Vibe()
    logs = place.home / ".vibe" / "logs" / "session"
    logs.mkdir(parents=True)
    for name in ("1.jsonl", "2.jsonl"):
        for earlier in logs.iterdir():
            earlier.unlink()
        (logs / name).write_text(name)
        gather(driver, place, seen)
    kept = sorted(path.name for path in (seen / ".vibe" / "logs" / "session").iterdir())
    assert kept == ["1.jsonl", "2.jsonl"]
