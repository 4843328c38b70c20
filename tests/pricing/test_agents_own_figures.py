"""What agents say their sessions cost and used, beside what we say, in scripted runs."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SHARED = Path(os.environ.get("SESSION_MEMORY_SHARED") or ROOT.parent / "shared")
PLACES = (ROOT / "tests" / "data", SHARED / "samples" / "agents")


def loaded() -> ModuleType:
    place = ROOT / "benchmarks"
    sys.path.insert(0, str(place))
    try:
        spec = importlib.util.spec_from_file_location("cost_agents", place / "cost_agents.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["cost_agents"] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(place))
    return module


AGENTS = loaded()
HOMES = [home for place in PLACES for home in AGENTS.homes(place)]


@pytest.mark.parametrize("home", HOMES, ids=lambda h: f"{h.parent.parent.name}-{h.parent.name}")
def test_our_figures_are_those_of_the_agent(home: Path) -> None:
    for compared in AGENTS.compare(home):
        assert compared.is_equal, compared


def test_claude_codex_and_grok_have_all_told_something() -> None:
    told = [each.reported for home in HOMES for each in AGENTS.compare(home)]
    assert {one.uid.partition(":")[0] for one in told} == {"claude", "codex", "grok"}
    dollars = [one.microdollars for one in told]
    assert sum(figure is not None for figure in dollars) >= 6
