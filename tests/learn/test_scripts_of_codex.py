"""A script of Codex is a command only if it runs one."""

from pathlib import Path

import pytest

from session_memory.adapters.detectors.calls import is_script_without_shell
from session_memory.testing.codex import CodexHome

from .sessions import analyzed, digest


@pytest.mark.parametrize(
    ("summary", "without"),
    [
        ('const r = await tools.update_plan({explanation:"next"})', True),
        ("const found = await tools.web__run({search_query:[", True),
        ("const r = await tools.exec_command({cmd: build})", False),
        ('const r = await tools.write_stdin({"session_id":7})', False),
        ("await tools.update_plan({}); await tools.exec_command({cmd})", False),
        ("cat tools.txt", False),
        ("git push origin main", False),
    ],
)
def test_a_script_that_calls_other_tools_only_is_no_shell(summary: str, without: bool) -> None:
    assert is_script_without_shell(summary) is without


def test_the_commands_of_a_digest_are_those_that_were_run(tmp_path: Path) -> None:
    home = CodexHome(tmp_path)
    log = home.session("alpha")
    log.turn("make the tests pass")
    for script in (
        'const r = await tools.update_plan({"explanation":"first the tests"})',
        'const r = await tools.exec_command({"cmd":"make test"})',
        'const r = await tools.write_stdin({"session_id":7,"chars":""})',
    ):
        log.custom("exec", script)
        log.result("Script completed\nWall time 0.1 seconds\nOutput:\n\nok")
    log.complete()
    with analyzed(home.write()) as store:
        assert [one.text for one in digest(store, log.uid).commands] == ["make test"]
