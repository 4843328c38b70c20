"""What a call changed, read from the arguments of every agent's editing tools."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.adapters.claude.changes import changes_noted
from session_memory.adapters.edits import changes_asked
from session_memory.adapters.grok import changes as grok
from session_memory.core.patches import applied, compared, counted, patched_files

PATCH = """\
*** Begin Patch
*** Update File: src/a.py
*** Move to: src/b.py
@@ def f():
 def f():
-    return 1
+    return 2
*** Add File: new.txt
+one
+two
*** Delete File: old.txt
*** End Patch
"""
TEXTS = st.lists(st.sampled_from(["a", "b", "", " x", "-", "+", "@@"]), max_size=12).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)


@pytest.mark.parametrize(
    ("arguments", "action", "lines"),
    [
        (
            {"file_path": "a", "old_string": "x\ny", "new_string": "x\nz"},
            "edit",
            (" x", "-y", "+z"),
        ),
        ({"file_path": "a", "content": "x\n"}, "write", ("+x",)),
        ({"path": "a", "old_str": "x", "new_str": ""}, "edit", ("-x",)),
        (
            {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}] * 2},
            "edit",
            ("-x", "+y", "@@", "-x", "+y"),
        ),
        ({"notebook_path": "a", "new_source": "x", "edit_mode": "insert"}, "edit", ("+x",)),
    ],
    ids=["Edit", "Write", "str_replace", "MultiEdit", "NotebookEdit"],
)
def test_an_edit_is_read_whatever_its_arguments_are_called(arguments, action, lines) -> None:
    (change,) = changes_asked(arguments)
    assert (change.path, change.action, change.lines) == ("a", action, lines)
    assert (change.added, change.removed) == counted(lines)


@pytest.mark.parametrize(
    "arguments",
    [
        PATCH,
        {"input": PATCH},
        {"command": ["apply_patch", PATCH]},
        {"cmd": f"apply_patch <<'EOF'\n{PATCH}EOF"},
        {"code": "await tools.apply_patch(" + repr(PATCH).replace("'", '"') + ")"},
    ],
    ids=["text", "input", "words", "here-document", "script"],
)
def test_a_patch_is_found_wherever_codex_puts_it(arguments) -> None:
    update, new, gone = changes_asked(arguments)
    assert (update.path, update.moved_to, update.action) == ("src/a.py", "src/b.py", "edit")
    assert update.lines == ("@@ def f():", " def f():", "-    return 1", "+    return 2")
    assert (new.path, new.action, new.content) == ("new.txt", "create", "one\ntwo\n")
    assert (gone.path, gone.action) == ("old.txt", "delete")


@pytest.mark.parametrize(
    "arguments", [None, 7, [], {}, {"command": 3}, {"edits": [1, None]}, "text"]
)
def test_what_is_no_edit_gives_no_change(arguments) -> None:
    assert changes_asked(arguments) == []


def test_the_record_of_a_result_tells_lines_and_what_was_there_before() -> None:
    hunk = {"oldStart": 4, "oldLines": 1, "newStart": 4, "newLines": 1, "lines": ["-x", "+y"]}
    noted = {"filePath": "a", "originalFile": "whole\n", "structuredPatch": [hunk, "odd"]}
    (change,) = changes_noted({"toolUseResult": noted})
    assert change.lines == ("@@ -4,1 +4,1 @@", "-x", "+y")
    assert change.is_numbered and change.before == "whole\n"
    (new,) = changes_noted(
        {
            "toolUseResult": {
                "type": "create",
                "filePath": "b",
                "content": "z\n",
                "originalFile": None,
            }
        }
    )
    assert (new.action, new.before, new.lines) == ("create", "", ("@@ -0,0 +1 @@", "+z"))
    diff = {"type": "diff", "path": "c", "oldText": "1\n", "newText": "2\n"}
    (change,) = grok.changes_noted({"params": {"update": {"content": [diff, None]}}})
    assert (change.path, change.lines) == ("c", ("-1", "+2"))
    assert grok.changes_noted(None) == []
    assert changes_noted({"toolUseResult": "denied"}) == changes_noted(None) == []


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_what_was_compared_can_be_applied(old: str, new: str) -> None:
    assert applied(old, compared(old, new, numbered=True)) is not None
    added, removed = counted(compared(old, new))
    assert len(new.splitlines()) - len(old.splitlines()) == added - removed


def test_a_patch_that_does_not_fit_is_not_applied() -> None:
    assert applied("a\nb\n", [" a", "-c"]) is None
    assert applied("a\nb", [" a", "-b", "+c"]) == "a\nc"


def test_two_huge_texts_stand_below_each_other_instead_of_being_compared() -> None:
    old, new = "x\n" * 3000, "y\n" * 3000
    lines = compared(old, new)
    assert lines[0] == "-x" and counted(lines) == (3000, 3000)


@settings(deadline=None)
@given(st.text(alphabet="*+-@ \nBeginPatchUdFl:", max_size=200))
def test_any_text_can_be_looked_through_for_patches(text: str) -> None:
    patched_files(f"*** Begin Patch\n*** Update File: x\n{text}")
