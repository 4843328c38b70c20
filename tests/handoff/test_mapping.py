"""Calls of every agent as operations, and operations as calls of every agent's own tools."""

from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.edits import changes_asked
from session_memory.adapters.operations import operations_of
from session_memory.core.handing import FileContent, FileEdit, FileRead, Operation, RunCommand
from session_memory.derive.agents import about
from session_memory.handoff import targets
from session_memory.handoff.conversation import StoredAnswer, StoredCall, StoredPrompt
from session_memory.handoff.mapping import Mapping

EVERY: tuple[Operation, ...] = (
    RunCommand("ls -la | wc -l"),
    FileContent("/x/a.txt", "one\ntwo\n"),
    FileEdit("/x/a.txt", "one\n", "three\n"),
    FileRead("/x/a.txt"),
    FileRead("/x/a.txt", 3, 4),
)


def understood(tool: str, arguments: Any) -> list[Operation]:
    changes = changes_asked(arguments) if tool not in ("bash", "Bash") else []
    return operations_of(tool, arguments, changes)


@pytest.mark.parametrize("to", targets())
@pytest.mark.parametrize("operation", EVERY, ids=lambda one: type(one).__name__)
def test_each_target_says_the_same_in_its_own_words(to: str, operation: Operation) -> None:
    target = about(to).handoff
    assert target is not None
    made = understood(*target.tool(operation))
    if isinstance(operation, FileRead) and to == "codex":
        assert isinstance(made[0], RunCommand)
        assert "/x/a.txt" in made[0].command
    elif isinstance(operation, FileRead) and to == "qwen" and operation.first:
        assert made == [FileRead("/x/a.txt", 2, 4)]  # It counts lines from 0.
    else:
        assert made == [operation]


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("Grep", {"pattern": "a b", "path": "src", "-i": True}, "rg -n -i -e 'a b' src"),
        ("grep", {"pattern": "-x", "include": "*.py"}, "rg -n -g '*.py' -e -x"),
        ("Glob", {"pattern": "**/*.py"}, "rg --files -g '**/*.py'"),
        ("list_directory", {"dir_path": "/x"}, "ls -la /x"),
        ("exec_command", {"cmd": "make"}, "make"),
    ],
)
def test_searches_become_commands(tool: str, arguments: Any, expected: str) -> None:
    assert operations_of(tool, arguments, []) == [RunCommand(expected)]


def test_a_patch_of_several_files_becomes_several_operations() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: new.txt\n+a\n*** Update File: old.txt\n@@\n-x\n+y\n z\n"
        "*** Delete File: gone.txt\n*** End Patch"
    )
    assert operations_of("apply_patch", patch, changes_asked(patch)) == [
        FileContent("new.txt", "a\n"),
        FileEdit("old.txt", "x\nz\n", "y\nz\n"),
        RunCommand("rm gone.txt"),
    ]


def stored(tool: str, arguments: Any) -> StoredAnswer:
    changes = tuple(changes_asked(arguments))
    call = StoredCall(
        call_id="1",
        tool=tool,
        arguments=arguments,
        text="",
        changes=changes,
        result="done",
        failed=False,
    )
    return StoredAnswer(calls=[call])


def mapped(step: StoredAnswer, to: str = "claude") -> Mapping:
    target = about(to).handoff
    assert target is not None
    return Mapping(target.tool, lambda *parts: "f" * 32, "/home/mira/demo", False)


def test_a_call_without_a_tool_is_a_comment_that_nothing_can_leave() -> None:
    step = stored("WebFetch", {"url": "x'\nrm -rf /\n#", "then": "; reboot"})
    mapping = mapped(step)
    (answer,) = mapping.steps([step])
    command = answer.calls[0].arguments["command"]  # type: ignore[union-attr, index]
    assert command.startswith("# WebFetch {")
    assert "\n" not in command
    assert mapping.without_tool == {"WebFetch": 1}


def test_relative_paths_are_placed_in_the_directory() -> None:
    step = stored("Write", {"file_path": "a/../b.txt", "content": "x"})
    (answer,) = mapped(step).steps([step])
    given = answer.calls[0].arguments  # type: ignore[union-attr]
    assert given == {"file_path": "/home/mira/demo/b.txt", "content": "x"}


def test_prompts_stay_as_they_are(tmp_path: Path) -> None:
    (step,) = mapped(stored("x", {})).steps([StoredPrompt("please\nmend it")])
    assert step.text == "please\nmend it"
