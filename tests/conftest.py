"""What all tests share: a home that is nobody's, recorded samples, and builders of logs.

Samples live in ``tests/data``. More of them may lie beside the checkout, in ``shared/samples``, or
where ``SESSION_MEMORY_SHARED`` says; tests that take one run on those too.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from session_memory.testing.claude import ClaudeHome

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data"
SHARED = Path(os.environ.get("SESSION_MEMORY_SHARED") or ROOT.parent / "shared")
FOREIGN = (
    "CLAUDE_CONFIG_DIR",
    "SESSION_MEMORY_CONFIG",
    "SESSION_MEMORY_STORE",
    "XDG_CONFIG_HOME",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "sample" in metafunc.fixturenames:
        recorded = sorted((DATA / "claude").iterdir())
        recorded += sorted(p.parent for p in SHARED.glob("samples/agents/claude-*/*/EXPECTED.json"))
        ids = [f"{'data' if DATA in path.parents else 'shared'}-{path.name}" for path in recorded]
        metafunc.parametrize("sample", recorded, ids=ids)
    if "public_logs" in metafunc.fixturenames:
        published = sorted(p for p in SHARED.glob("samples/public/claude/*") if p.is_dir())
        # Each collection by itself, and all of them in one store.
        roots = [*published, *{path.parent for path in published}]
        metafunc.parametrize("public_logs", roots, ids=[path.name for path in roots])


@pytest.fixture(scope="session", autouse=True)
def nobodys_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No log and no setting of this machine decides a result."""
    with pytest.MonkeyPatch.context() as patch:
        for name in FOREIGN:
            patch.delenv(name, raising=False)
        patch.setenv("HOME", str(tmp_path_factory.mktemp("nobodys-home")))
        yield


@pytest.fixture
def claude(tmp_path: Path) -> ClaudeHome:
    """An empty home of Claude Code to write logs into."""
    return ClaudeHome(tmp_path / "home")
