"""Answers of our own server and program are kept and found, but nothing is learned from them."""

from pathlib import Path

import pytest

from session_memory.core.injected import QUOTED
from session_memory.learn.analyze import analyze
from session_memory.learn.digest import Digest
from session_memory.learn.digests import digest_of
from session_memory.learn.recall import recall
from session_memory.store import Store
from session_memory.store.index import OUTPUT, text_class_in
from session_memory.store.word_query import QueryWord, WordQuery
from session_memory.testing.claude import ClaudeHome, call
from session_memory.testing.codex import CodexHome
from session_memory.testing.collecting import check_index, collected
from session_memory.testing.grok import GrokHome

ANSWER = f"""{QUOTED}
same error, resolved before (1 found):
error | src/kumquat.ts(4,1): error TS2322: ZanzibarError is not assignable
resolved by this command | pnpm run zanzibar
src/kumquat.ts(4,1): error TS2322: ZanzibarError is not assignable"""

pytestmark = pytest.mark.only("sqlite")


def learned(store: Store, uid: str) -> Digest:
    check_index(store)
    analyze(store)
    digest = digest_of(store, uid)
    assert digest is not None
    assert [
        text_class_in(doc) for doc in store.index.find(WordQuery(((QueryWord("zanzibar"),),)))
    ] == [OUTPUT]
    assert recall(store, "zanzibar kumquat", limit=3) == []
    return digest


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("mcp__session-memory__fix", {"error": "TypeError"}),
        ("mcp__plugin_session-memory_session-memory__fix", {"error": "TypeError"}),
        ("session-memory_fix", {"error": "TypeError"}),
        ("fix", {"error": "TypeError"}),
        ("Bash", {"command": "session-memory fix TypeError 2>&1 | head -20"}),
    ],
)
@pytest.mark.parametrize("is_error", [False, True])
def test_claude(tmp_path: Path, tool: str, arguments: dict[str, str], is_error: bool) -> None:
    home = ClaudeHome(tmp_path)
    log = home.session()
    log.prompt("make it pass")
    log.answer("I ask.", call(tool, **arguments))
    log.result(ANSWER, is_error=is_error)
    log.answer("Done.")
    digest = learned(collected(home.write()), log.uid)
    assert digest.error_snippets == ()
    assert digest.tools[tool].calls == 1


def test_codex_and_grok(tmp_path: Path) -> None:
    codex, grok = CodexHome(tmp_path / "codex"), GrokHome(tmp_path / "grok")
    log = codex.session("alpha")
    log.turn("make it pass")
    log.call("mcp__session_memory__fix", error="TypeError")
    log.result(ANSWER)
    log.complete()
    assert learned(collected(codex.write()), log.uid).error_snippets == ()
    other = grok.session()
    other.prompt("make it pass")
    other.call("use_tool", tool_name="session-memory__fix", tool_input={"error": "x"})
    output = {"type": "MCP", "tool_name": "fix", "output": {"OkayOutput": ANSWER}}
    other.result("", raw=output)
    other.say("Done.")
    assert learned(collected(grok.write()), f"grok:{other.session}").error_snippets == ()


def test_an_answer_of_ours_beside_a_failing_command_hides_no_error(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path)
    log = home.session()
    log.prompt("make it pass")
    log.answer(call("Bash", command="session-memory fix TypeError; pytest -q"))
    log.result("Exit code 1\nE   ValueError: bad kumquat", is_error=True)
    log.answer(call("Bash", command="session-memory fix TypeError"))
    log.result("Exit code 1\nTypeError: the program is broken", is_error=True)
    store = collected(home.write())
    analyze(store)
    digest = digest_of(store, log.uid)
    assert digest is not None and len(digest.error_snippets) == 2
