"""The wheel holds everything that the installed program needs."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent
PACKAGE = CHECKOUT / "src" / "session_memory"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that ``make dist`` builds, without a network: hatchling is installed."""
    directory = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir"]
    done = subprocess.run([*command, directory, CHECKOUT], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = directory.glob("session_memory-*.whl")
    return built


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    expected = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    names = set(zipfile.ZipFile(wheel).namelist())
    assert expected - names == set()
    # What would be missed last, because it is no module or begins with a dot.
    for name in ("render/style.css", "pricing/prices.json", "py.typed"):
        assert f"session_memory/{name}" in names
    assert any(name.startswith("session_memory/demo/home/.claude/") for name in names)


def test_the_demo_runs_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "installed"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    install += ["--no-compile"]
    subprocess.run([*install, "--target", target, wheel], check=True, capture_output=True)
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(target)}
    command = [sys.executable, "-v", "-m", "session_memory", "demo"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "seed-library" in done.stdout
    # With -v Python says where a module is from.
    assert f"{target}/session_memory/cli/__init__.py" in done.stderr
    assert str(PACKAGE) not in done.stderr
