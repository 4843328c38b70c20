"""Which calls are edits, which run a shell, and which repeat an earlier one."""

from typing import Any

import pytest
from effort import times
from hypothesis import example, given, settings
from hypothesis import strategies as st
from quickness import within_cpu_seconds

from session_memory.adapters.detectors import call_key, is_edit_tool, shell_text

SAME = [
    ("pytest  -q\n", "pytest -q"),
    ("pytest -q 2>&1", "pytest -q"),
    ("pytest -q 2>&1 | tail -20", "pytest -q"),
    ("pytest -q | tail -n 5", "pytest -q | tail -n 50"),
    ("pytest -q | head -n5", "pytest -q"),
    ("pytest -q|tail", "pytest -q"),
    ("pytest -q |& tail -c +100", "pytest -q"),
    ("pytest -q 2>&1 | head -50 | tail -5", "pytest -q"),
    ("cd app && make test 2>&1 | tail -3", "cd app && make test"),
    ("npm test | Select-Object -Last 20", "npm test"),
]

DIFFERENT = [
    ("pytest -q", "pytest -x"),
    ("pytest a.py", "pytest b.py"),
    ("pytest -q | grep FAILED", "pytest -q"),
    ("pytest -q | tail -5 | grep x", "pytest -q"),
    ("pytest -q || tail -5 log", "pytest -q"),
    ("pytest -q | tail -5; ls", "pytest -q"),
    ("tail -5 log", "tail -6 log"),
    ("Pytest", "pytest"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_command_keeps_its_key_when_only_its_dress_changes(one: str, other: str) -> None:
    assert call_key("Bash", {"command": one}) == call_key("Bash", {"command": other})


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_another_command_has_another_key(one: str, other: str) -> None:
    assert call_key("Bash", {"command": one}) != call_key("Bash", {"command": other})


@pytest.mark.parametrize(
    "extra",
    [
        {"description": "Run the tests"},
        {"timeout": 120_000},
        {"timeout_ms": 5},
        {"offset": 10, "limit": 20},
        {"start_line": 1, "end_line": 9},
        {"view_range": [1, 9]},
        {"yield_time_ms": 1000, "max_output_tokens": 2000},
        {"justification": "again", "with_escalated_permissions": True},
    ],
)
def test_what_does_not_change_the_request_does_not_change_the_key(extra: dict[str, Any]) -> None:
    arguments = {"command": "ls", "path": "a.py"}
    assert call_key("t", arguments | extra) == call_key("t", arguments)
    assert call_key("t", [arguments | extra]) == call_key("t", [arguments])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (None, ""),
        ("1", 1),
        (1, 1.5),
        ([], {}),
        (["a", ["b"]], ["a", "b"]),
        (["a", "b"], ["b", "a"]),
        ({"a": "b"}, {"b": "a"}),
        ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
        ({"a": {"b": 1}}, {"a": {}, "b": 1}),
        ("a" * 20_000 + "x" + "a" * 20_000, "a" * 20_000 + "y" + "a" * 20_000),
    ],
)
def test_arguments_that_differ_have_different_keys(one: object, other: object) -> None:
    assert call_key("t", one) != call_key("t", other)


def test_the_tool_is_part_of_the_key() -> None:
    assert call_key("Read", {"file_path": "a"}) != call_key("Write", {"file_path": "a"})


def test_the_order_of_the_arguments_does_not_matter() -> None:
    assert call_key("t", {"a": 1, "b": [2]}) == call_key("t", {"b": [2], "a": 1})


def test_a_shell_list_is_normalised_like_a_text() -> None:
    one = {"command": ["bash", "-lc", "pytest  -q | tail -3"]}
    other = {"command": ["bash", "-lc", "pytest -q"], "timeout_ms": 1}
    assert call_key("shell", one) == call_key("shell", other)


def test_a_key_never_changes() -> None:
    """Keys are compared over runs and machines; this one was written down in 2026."""
    arguments = {"command": "pytest -q", "env": {"A": ["1", 2, 3.5, True, None]}}
    assert call_key("Bash", arguments) == 539_892_945_516_746_987


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(max_examples=times(40), deadline=None)
@given(st.text(), JSON)
@example("\ud800", {"\udfff": "\ud800"})
@example("t", 10**5_000)
@example("t", {1: "a", "b": 2})
def test_every_call_has_a_key_that_fits_a_database(tool: str, arguments: object) -> None:
    key = call_key(tool, arguments)
    assert 0 <= key < 2**62
    assert key == call_key(tool, arguments)


@pytest.mark.parametrize("kind", ["list", "dict"])
def test_deep_nesting_is_no_danger(kind: str) -> None:
    nested: Any = "x"
    for _ in range(50_000):
        nested = [nested] if kind == "list" else {"a": nested}
    assert call_key("t", nested) != call_key("t", [nested])


@given(st.text(alphabet="| tailhed-n2>&15 \n", min_size=1, max_size=12))
@settings(max_examples=times(10), deadline=None)
def test_a_megabyte_of_arguments_is_quick(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    with within_cpu_seconds(1):
        assert call_key("t", text) != call_key("t", [text, *text[:60_000]])


EDIT_TOOLS = """
    Edit MultiEdit Write NotebookEdit apply_patch FileChange search_replace write hashline_edit
    write_file replace edit multiedit create str_replace_editor editor write_to_file
    replace_in_file apply_diff Create ApplyPatch text_editor developer__text_editor StrReplaceFile
    StrReplace
"""


@pytest.mark.parametrize("tool", EDIT_TOOLS.split())
def test_the_edit_tools_of_every_agent_are_known(tool: str) -> None:
    assert is_edit_tool(tool)


@pytest.mark.parametrize(
    "tool",
    ["", "Read", "Bash", "TodoWrite", "NotebookRead", "read_file", "Editor2", "view", "grep"],
)
def test_other_tools_do_not_edit(tool: str) -> None:
    assert not is_edit_tool(tool)


@pytest.mark.parametrize("tool", ["text_editor", "str_replace_editor"])
def test_an_editor_that_only_looks_does_not_edit(tool: str) -> None:
    assert not is_edit_tool(tool, {"command": "view", "path": "a.py"})
    assert is_edit_tool(tool, {"command": "str_replace", "path": "a.py"})


SHELL_CALLS: list[tuple[str, object, str]] = [
    ("Bash", {"command": "ls", "description": "List"}, "ls"),
    ("PowerShell", {"command": "npm test"}, "npm test"),
    ("bash", {"command": "ls"}, "ls"),
    ("exec_command", {"cmd": "pytest -q", "workdir": "/a"}, "pytest -q"),
    ("shell_command", {"command": "ls", "workdir": "/a"}, "ls"),
    ("shell", {"command": ["bash", "-lc", "cd a && ls"]}, "cd a && ls"),
    ("shell", {"command": ["/bin/zsh", "-lc", "ls"]}, "ls"),
    ("shell", {"command": ["pytest", "-k", "a b"]}, "pytest -k 'a b'"),
    ("shell", {"command": ["apply_patch", "*** Begin Patch"]}, "apply_patch '*** Begin Patch'"),
    ("local_shell", {"action": {"command": ["bash", "-c", "ls"]}}, "ls"),
    ("run_terminal_command", {"command": "ls"}, "ls"),
    ("run_shell_command", {"command": "ls", "is_background": False}, "ls"),
    ("run_commands", {"commands": ["cd a", "npm test"]}, "cd a\nnpm test"),
    ("exec", 'await tools.exec_command({"cmd": "ls \\"a\\"", "workdir": "/a"})', 'ls "a"'),
    ("exec", {"input": "tools.exec_command({workdir: '/a', cmd: 'ls'})"}, "ls"),
    ("exec", "tools.exec_command({cmd: `a`}); tools.exec_command({cmd: `b`})", "a\nb"),
]


@pytest.mark.parametrize(("tool", "arguments", "text"), SHELL_CALLS)
def test_the_shell_text_of_a_call_is_found(tool: str, arguments: object, text: str) -> None:
    assert shell_text(tool, arguments) == text


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Read", {"command": "ls"}),
        ("str_replace_editor", {"command": "view"}),
        ("Bash", None),
        ("Bash", {}),
        ("Bash", "ls"),
        ("Bash", {"command": None}),
        ("Bash", {"command": {"text": "ls"}}),
        ("shell", {"command": []}),
        ("run_commands", {"commands": []}),
        ("exec", "console.log({cmd: 'ls'})"),
        ("write_stdin", {"chars": "ls\n"}),
    ],
)
def test_a_call_without_shell_text_gives_none(tool: str, arguments: object) -> None:
    assert shell_text(tool, arguments) is None


@settings(max_examples=times(40), deadline=None)
@given(st.sampled_from(["Bash", "exec", "shell", "run_commands"]), JSON, JSON)
def test_no_arguments_are_too_strange_for_a_shell(tool: str, value: object, other: object) -> None:
    for key in ("command", "cmd", "commands", "action", "input"):
        text = shell_text(tool, {key: value, "x": other})
        assert text is None or isinstance(text, str)
