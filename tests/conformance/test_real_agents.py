"""Real agents, driven through one scenario and read to the token.

They are installed from npm, in pinned versions, into a directory that stays for the next run. The
installation takes 19 seconds of processor time once; the test itself takes two for each agent.
`session-memory conformance` does the same for all agents, scenarios and the newest releases.
"""

import fcntl
import json
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from session_memory.conformance.drivers import DRIVERS
from session_memory.conformance.kit import Order, carried_out
from session_memory.conformance.npm import Npm, NpmFailed
from session_memory.conformance.result import EQUAL

pytestmark = [pytest.mark.only("sqlite"), pytest.mark.no_store, pytest.mark.slow]

# Those that install and answer in the shortest time.
VERSIONS = {"pi": "0.87.1", "grok": "1.0.41"}
NEEDED = 2 << 30
# A test that takes four minutes counts as hanging.
PATIENCE_S = 80
SCRATCH = "SESSION_MEMORY_CONFORMANCE_SCRATCH"
# A registry that cannot be reached must not hold the tests up.
IMPATIENT = {"npm_config_fetch_retries": "0", "npm_config_fetch_timeout": "20000"}


def shared_scratch() -> Path:
    """A directory of this user that stays for the next run, of any checkout."""
    if named := os.environ.get(SCRATCH):
        return Path(named)
    # That of TMPDIR is removed after `make test`.
    stays = Path("/var/tmp")
    above = stays if os.access(stays, os.W_OK) else Path(tempfile.gettempdir())
    place = above / f"session-memory-agents-{os.getuid()}"
    place.mkdir(mode=0o700, exist_ok=True)
    about = place.lstat()
    if about.st_uid != os.getuid() or not stat.S_ISDIR(about.st_mode) or about.st_mode & 0o077:
        pytest.skip(f"{place} is not a directory of this user alone")
    return place


@pytest.fixture
def scratch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with agents, which no other run uses meanwhile."""
    if shutil.which("npm") is None:
        pytest.skip("there is no npm, which installs the agents")
    for name, value in IMPATIENT.items():
        monkeypatch.setenv(name, value)
    place = shared_scratch()
    with (place / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        install(place)
        yield place


def install(place: Path) -> None:
    """Install what is not there, all agents at once; skip the test if that is not possible."""
    drivers = [driver() for driver in DRIVERS if driver.name in VERSIONS]
    is_there = all((place / "npm" / f"{name}@{one}").exists() for name, one in VERSIONS.items())
    if not is_there and shutil.disk_usage(place).free < NEEDED:
        pytest.skip(f"less than {NEEDED >> 30} GB are free for agents")
    try:
        npm = Npm(place, patience_s=PATIENCE_S)
        with ThreadPoolExecutor() as together:
            found = list(together.map(lambda one: npm.install(one, VERSIONS[one.name]), drivers))
    except NpmFailed as error:
        pytest.skip(f"npm cannot install what agents need: {error}")
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm cannot install the agents in {PATIENCE_S} seconds")
    for driver, one in zip(drivers, found, strict=True):
        if one.program is None:
            pytest.skip(f"{driver.name} cannot be installed: {one.remark}")
    # What was downloaded is installed now.
    shutil.rmtree(place / "npm-home" / ".npm", ignore_errors=True)


def test_real_agents_are_read_to_the_token(scratch: Path, tmp_path: Path) -> None:
    order = Order(str(scratch), tuple(VERSIONS), ("basic",), VERSIONS, str(tmp_path / "recorded"))
    results = list(carried_out(order))
    assert {one.agent: (one.version, one.text) for one in results} == {
        agent: (version, EQUAL) for agent, version in VERSIONS.items()
    }
    truths = sorted((tmp_path / "recorded").rglob("EXPECTED.json"))
    agents = [json.loads(path.read_text())["agent"] for path in truths]
    assert agents == sorted(VERSIONS)


def test_without_a_registry_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("npm") is None:
        pytest.skip("there is no npm")
    for name, value in {**IMPATIENT, "npm_config_registry": "http://127.0.0.1:9/"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(Npm, "_node", lambda npm: tmp_path)
    (driver,) = [driver() for driver in DRIVERS if driver.name == "grok"]
    installed = Npm(tmp_path).install(driver, VERSIONS["grok"])
    assert installed.program is None and "does not install" in installed.remark
