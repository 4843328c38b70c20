"""Very long results, and what they are called."""

import pytest

from session_memory.learn.detect.oversized_output import DETECTOR
from session_memory.testing.claude import ClaudeHome, call

from .sessions import digest_of_log

# A digest is the same on both databases.
pytestmark = pytest.mark.only("sqlite")


def test_a_large_output_of_a_server_is_named_after_its_tool(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("look at the flow")
    log.answer(call("mcp__flows__get_flow", id="Ab12"))
    log.result("x" * 30_000)
    log.answer("It has two steps.")
    (found,) = DETECTOR.find(digest_of_log(claude, log))
    assert found.detail == "30,000 characters from get_flow Ab12"
