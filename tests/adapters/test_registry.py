"""Which agents there are, and what takes the place of one that cannot be loaded."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from session_memory import adapters
from session_memory.adapters import registry
from session_memory.adapters.claude import AGENT as claude
from session_memory.core.errors import AdapterFailed, UnknownFlavor
from session_memory.derive import agents
from session_memory.testing.agents import installed


def test_every_package_below_adapters_is_an_agent() -> None:
    places = Path(adapters.__file__).parent.glob("*/__init__.py")
    ours = sorted({place.parent.name for place in places} - registry.SHARED)
    assert {"claude", "codex", "grok", "live", "mycode", "power_loop", "skill"} <= set(ours)
    assert registry.flavors()[: len(ours)] == tuple(ours)
    for flavor in ours:
        assert registry.agent(flavor).flavor == flavor
        assert registry.agent(flavor).version > 0


# Adapters that no contract test runs over, with the reason.
WITHOUT_A_CONTRACT = {
    "kilo": "the readers of opencode and Roo Code read its logs, and the contract runs over those",
    "live": "its logs are rows of the store itself; tests/live compares them",
}


def adapters_with_a_contract() -> Iterator[str]:
    """The flavors whose ``AGENT`` is the ``adapter`` of a class in a module with the contract."""
    for path in Path(__file__).parent.glob("test_*.py"):
        text = path.read_text("utf-8")
        if "(AdapterContract)" not in text:
            continue
        used = set(re.findall(r"^    adapter = (\w+)$", text, re.MULTILINE))
        for flavor, name in re.findall(
            r"^from session_memory\.adapters\.(\w+) import AGENT(?: as (\w+))?$", text, re.MULTILINE
        ):
            if (name or "AGENT") in used:
                yield flavor


def test_every_adapter_of_this_project_keeps_the_contract() -> None:
    places = Path(adapters.__file__).parent.glob("*/__init__.py")
    ours = {place.parent.name for place in places} - registry.SHARED
    missing = sorted(ours - set(adapters_with_a_contract()) - WITHOUT_A_CONTRACT.keys())
    assert not missing, (
        f"no test runs the contract over {missing}: add tests/adapters/test_NAME.py with a subclass"
        " of AdapterContract (docs/adding-an-adapter.md, Prove it)"
    )


def test_a_flavor_that_nobody_reads_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(UnknownFlavor) as caught:
        registry.agent("cloude")
    assert "claude" in str(caught.value.hint)


def test_a_missing_agent_has_a_substitute_that_says_so() -> None:
    with installed(claude):
        missing = registry.agent_or_substitute("codex")
    assert (missing.flavor, missing.version) == ("codex", 0)
    assert missing.problem == "no adapter is installed for it"
    assert registry.agent_or_substitute("codex").problem == ""


def test_an_agent_that_cannot_be_loaded_is_named_and_costs_no_other() -> None:
    with installed(claude, broken={"toy": ImportError("no module named toys")}):
        assert registry.flavors() == ("claude", "toy")
        assert [one.flavor for one in registry.agents()] == ["claude"]
        reason = "the adapter of toy failed: ImportError: no module named toys"
        assert registry.broken_adapters() == {"toy": reason}
        assert registry.agent_or_substitute("toy").problem == reason
        with pytest.raises(AdapterFailed, match="ImportError"):
            registry.agent("toy")


@pytest.mark.parametrize(
    ("loaded", "reason"),
    [
        (None, "exports no AGENT"),
        (claude, "registered as toy and calls itself claude"),
    ],
)
def test_what_is_no_agent_is_broken(loaded: object, reason: str) -> None:
    with installed(), pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.loaders(), "toy", lambda: loaded)
        assert reason in registry.broken_adapters()["toy"]


def test_facts_about_agents_cost_no_import_of_what_reads_their_logs() -> None:
    script = (
        "import sys; from session_memory.derive import agents; "
        "agents.own_directories(); agents.statusline_flavor(); "
        "print([name for name in sys.modules if 'translate' in name or 'detectors' in name])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", (
        f"{done.stdout}{done.stderr}The __init__.py of an adapter must not import the modules that"
        ' read logs: refer to them with lazy("session_memory.adapters.NAME.source:read")'
        " (docs/adding-an-adapter.md, Announce it)."
    )


def test_other_rooms_learn_the_facts_without_a_name_of_an_agent() -> None:
    assert {".claude", ".codex", ".grok", ".mycode"} <= agents.own_directories()
    assert agents.instruction_files() == (
        "AGENTS.md",
        "CLAUDE.md",
        "GEMINI.md",
        "GROK.md",
        "QWEN.md",
    )
    assert agents.reads_instructions("AGENTS.md", "codex")
    assert not agents.reads_instructions("agents.md", "claude")
    assert agents.reads_instructions("AGENTS.md", "an_agent_nobody_has_heard_of")
    assert agents.reads_instructions("NOTES.md", "claude")
    assert agents.short_model("claude-opus-4-20260701") == "opus-4"
    assert agents.short_model("gpt-5") == "gpt-5"
    assert agents.statusline_flavor() == "claude"


def test_an_agent_is_a_value_that_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        claude.version = 3  # type: ignore[misc]
    assert msgspec.structs.replace(claude, version=3).version == 3
