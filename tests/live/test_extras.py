"""An integration whose library is missing says which extra brings it."""

import subprocess
import sys

import pytest

from session_memory.core.installation import install_hint


@pytest.mark.parametrize(
    ("module", "library", "extra"),
    [
        ("claude_agent_sdk", "claude_agent_sdk", "claude-agent-sdk"),
        ("openai_agents", "agents", "openai-agents"),
    ],
)
def test_an_integration_without_its_library_names_the_extra(
    module: str, library: str, extra: str
) -> None:
    code = (
        f"import sys; sys.modules[{library!r}] = None\n"
        f"try: import session_memory.integrations.{module}\n"
        "except ImportError as error: print(error.kind, error.hint, sep='|')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == f"missing_extra|{install_hint(extra)}"
    assert f"[{extra}]" in done.stdout
