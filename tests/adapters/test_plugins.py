"""Adapters of other packages: a package that announces something wrong is named, and costs nobody.

The packages are real directories on Python's path, as ``pip install`` leaves them.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from session_memory.adapters import registry
from session_memory.adapters.plugins import GROUP
from session_memory.collect.discover import roots
from session_memory.config import Config, SourceConfig
from session_memory.core.errors import ConfigError

MODULE = """
from session_memory.adapters.agent import Agent, no_roots, no_sources, recognizes_nothing

def agent(flavor):
    return Agent(
        flavor=flavor, version=1, roots=no_roots, discover=no_sources,
        recognizes=recognizes_nothing, read=lambda source, cursor: iter(()),
    )

AGENT = agent("parley")
OTHER = agent("parley2")
"""

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Call it with the name of a package and its entry points. Returns the entry-point file."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "parley_adapter", raising=False)

    def add(package: str, *points: str, metadata: str | None = None) -> Path:
        (site / "parley_adapter.py").write_text(MODULE)
        information = site / f"{package}-1.dist-info"
        information.mkdir()
        if metadata is None:
            metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n"
        (information / "METADATA").write_text(metadata)
        entry_points = information / "entry_points.txt"
        entry_points.write_text("\n".join([f"[{GROUP}]", *points, ""]))
        registry.forget_loaded()
        return entry_points

    yield add
    registry.forget_loaded()


def assert_others_work() -> None:
    assert {"claude", "codex", "grok"} <= {one.flavor for one in registry.agents()}


def test_a_plugin_is_found_beside_our_own(install: Install) -> None:
    install("parley", "parley = parley_adapter", "parley2 = parley_adapter:OTHER")
    assert registry.flavors()[-2:] == ("parley", "parley2")
    assert registry.agent("parley2").flavor == "parley2"
    assert registry.broken_adapters() == {}


@pytest.mark.parametrize("name", ["Par:ley", "../x", "a b", "PARLEY", "é", "a-b", "1a"])
def test_a_name_that_is_no_flavor_is_not_used(name: str, install: Install) -> None:
    install("parley", f"{name} = parley_adapter", "parley = parley_adapter")
    (reason,) = registry.broken_adapters().values()
    assert f"the package parley declares the adapter {name!r}, but a name has" in reason
    assert registry.flavors()[-1] == "parley"
    assert_others_work()


def test_a_plugin_cannot_replace_a_built_in_adapter(install: Install) -> None:
    install("parley", "claude = parley_adapter", "live = parley_adapter")
    reason = registry.broken_adapters()["parley"]
    assert "the adapter 'claude', which is built in; the built-in one is used; " in reason
    assert "the adapter 'live', which is built in" in reason
    assert registry.agent("claude").directories == (".claude",)
    assert_others_work()


def test_of_two_packages_with_one_flavor_the_first_by_name_is_used(install: Install) -> None:
    install("zarley", "parley = nothing_here")
    install("parley", "parley = parley_adapter")
    reason = "the package zarley declares the adapter 'parley', which parley has too"
    assert registry.broken_adapters() == {"zarley": f"{reason}; that one is used"}
    assert registry.agent("parley").flavor == "parley"


@pytest.mark.parametrize(
    "content",
    [
        b"[session_memory.adapters]\nparley\n= x\n[[[\n",
        b"[session_memory.adapters]\nparley = parley_adapter\n\xff\xfe\n",
    ],
)
def test_entry_points_that_cannot_be_parsed_cost_their_package(
    content: bytes, install: Install
) -> None:
    install("other", "parley = parley_adapter")
    install("broken").write_bytes(content)
    registry.forget_loaded()
    reason = registry.broken_adapters().get("broken", "")
    assert reason.startswith("the entry points of broken cannot be read: ")
    assert registry.agent("parley").flavor == "parley"
    assert_others_work()


def test_settings_for_a_plugin_that_cannot_announce_its_agent_stop_nobody(
    install: Install, tmp_path: Path
) -> None:
    config = Config(sources={"parley": SourceConfig(enabled=False)})
    with pytest.raises(ConfigError):
        roots(config, (tmp_path,))
    install("parley").write_bytes(b"[session_memory.adapters]\nparley\n")
    registry.forget_loaded()
    assert "claude" in {root.flavor for root in roots(config, (tmp_path,))}


def test_entry_points_that_cannot_be_opened_cost_their_package(install: Install) -> None:
    install("other", "parley = parley_adapter")
    file = install("broken")
    file.unlink()
    file.mkdir()
    registry.forget_loaded()
    assert registry.broken_adapters() == {"broken": f"{file} cannot be read: Is a directory"}
    assert registry.agent("parley").flavor == "parley"


def test_entry_points_without_permission_cost_their_package(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A test may run as root, who may read everything. So the refusal is invented.
    file = install("broken", "parley = parley_adapter")
    read_text = Path.read_text

    def refusing(path: Path, *arguments: str) -> str:
        if path == file:
            raise PermissionError(13, "Permission denied")
        return read_text(path, *arguments)

    monkeypatch.setattr(Path, "read_text", refusing)
    registry.forget_loaded()
    assert registry.broken_adapters() == {"broken": f"{file} cannot be read: Permission denied"}
    assert_others_work()


@pytest.mark.parametrize("metadata", ["", "Name: \x1b[31mred\n"])
def test_a_package_without_a_usable_name_is_found_and_named(
    metadata: str, install: Install
) -> None:
    install("parley", "parley = parley_adapter", "Wrong = parley_adapter", metadata=metadata)
    assert registry.agent("parley").flavor == "parley"
    (package,) = registry.broken_adapters()
    assert package.isprintable()


def test_a_plugin_that_ends_the_program_costs_its_own_agent(install: Install) -> None:
    file = install("parley", "parley = ends_the_program")
    (file.parents[1] / "ends_the_program.py").write_text("import sys; sys.exit(3)\n")
    reason = "the adapter of parley failed: SystemExit: 3"
    assert registry.broken_adapters() == {"parley": reason}
    assert_others_work()


def test_nothing_slow_is_imported_when_no_package_announces_an_adapter() -> None:
    script = (
        "import sys; from session_memory.adapters import registry; registry.agents(); "
        "print('importlib.metadata' in sys.modules, 'configparser' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"], done
