"""Hints about extras name a command that works for the way the program was installed."""

import sys
from pathlib import Path

import pytest

from session_memory.core.errors import MissingExtra, NewerSchema
from session_memory.core.installation import Installation, this_installation

WHEEL = "file:///tmp/dist/session_memory-0.1-py3-none-any.whl"


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment that is not on the PATH."""
    place = tmp_path / "env"
    (place / "bin").mkdir(parents=True)
    for name in ("python", "pip"):
        (place / "bin" / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    return place


def python(prefix: Path) -> Path:
    return prefix / "bin" / "python"


def test_pip_of_an_environment_on_the_path_is_called_pip(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(prefix / "bin"))
    command = Installation(prefix, python(prefix)).install_command("lake")
    assert command == "pip install 'session-memory[lake]'"


def test_any_other_environment_is_named_by_its_python(prefix: Path) -> None:
    command = Installation(prefix, python(prefix)).install_command("lake")
    assert command == f"{python(prefix)} -m pip install 'session-memory[lake]'"


def test_a_checkout_is_installed_from_its_directory(prefix: Path) -> None:
    checkout = Installation(
        prefix, python(prefix), directory=Path("/src/my memory"), is_editable=True
    )
    command = checkout.install_command("postgres")
    assert command == f"{python(prefix)} -m pip install --editable '/src/my memory[postgres]'"
    assert checkout.upgrade_command() == "git -C '/src/my memory' pull"


def test_an_environment_without_pip_is_one_of_uv(prefix: Path) -> None:
    command = Installation(prefix, python(prefix), has_pip=False).install_command("lake")
    assert command == f"uv pip install --python {python(prefix)} 'session-memory[lake]'"


def test_a_tool_of_uv_is_installed_by_uv(prefix: Path) -> None:
    (prefix / "uv-receipt.toml").touch()
    tool = Installation(prefix, python(prefix), has_pip=False)
    assert tool.install_command("lake") == "uv tool install 'session-memory[lake]'"
    assert tool.upgrade_command() == "uv tool upgrade session-memory"
    wheel = Installation(prefix, python(prefix), url=WHEEL)
    assert wheel.install_command("lake") == f"uv tool install 'session-memory[lake] @ {WHEEL}'"


def test_a_tool_of_pipx_is_installed_by_pipx(prefix: Path) -> None:
    (prefix / "pipx_metadata.json").touch()
    tool = Installation(prefix, python(prefix))
    assert tool.install_command("lake") == "pipx install --force 'session-memory[lake]'"
    assert tool.upgrade_command() == "pipx upgrade session-memory"
    checkout = Installation(prefix, python(prefix), directory=Path("/src/memory"))
    assert checkout.install_command("lake") == "pipx install --force '/src/memory[lake]'"
    upgrade = "git -C /src/memory pull && pipx install --force /src/memory"
    assert checkout.upgrade_command() == upgrade


def test_the_installation_that_runs_now_is_recognised() -> None:
    found = this_installation()
    assert (found.prefix, found.python) == (Path(sys.prefix), Path(sys.executable))
    assert "lake" in found.install_command("lake")


def test_errors_carry_the_hint() -> None:
    found = this_installation()
    assert MissingExtra("lake").hint == f"Install it with: {found.install_command('lake')}"
    newer = NewerSchema("memory.db", found=9, known=8)
    assert newer.hint == f"Upgrade with: {found.upgrade_command()}"
