"""Workers of pytest-xdist that are forks: the tests are collected once, and run as ever."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
import sys
from forked_workers import ForkedWorkers

def pytest_xdist_setupnodes(config, specs):
    config.workers = ForkedWorkers(config.invocation_params.args, sys.path)
    for spec in specs:
        spec.python = config.workers.interpreter

def pytest_unconfigure(config):
    if hasattr(config, "workers"):
        config.workers.close()
"""
# Without other plugins it takes half the time.
ALONE = {"PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
TESTS = """
import os
import pytest

with open("imported", "a") as file:
    file.write("once\\n")

@pytest.mark.parametrize("number", range(6))
def test_it(number, tmp_path, worker_id, capfd):
    if number == 2:
        os._exit(3)
    assert f"popen-{worker_id}" in str(tmp_path)
    os.write(1, b"heard")
    assert capfd.readouterr().out == "heard"
"""


def run(place: Path, workers: int) -> "subprocess.CompletedProcess[str]":
    (place / "conftest.py").write_text(CONFTEST)
    (place / "test_some.py").write_text(TESTS)
    options = f"-q -p xdist -p no:cacheprovider -n {workers} --rootdir"
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options.split(), str(place)],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent), **ALONE},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forks on Linux only")
def test_the_tests_are_collected_once_and_a_worker_that_crashed_is_replaced(tmp_path: Path) -> None:
    done = run(tmp_path, 2)
    assert "1 failed, 5 passed" in done.stdout, done.stdout + done.stderr
    assert "crashed while running" in done.stdout
    assert (tmp_path / "imported").read_text() == "once\n"


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forks on Linux only")
def test_tests_that_cannot_be_collected_are_reported_by_ordinary_workers(tmp_path: Path) -> None:
    (tmp_path / "test_torn.py").write_text("def test_(")
    done = run(tmp_path, 1)
    assert "ERROR test_torn.py" in done.stdout, done.stdout + done.stderr
    assert "5 passed" in done.stdout
