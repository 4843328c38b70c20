"""Edits of JSON and TOML change what they should, and are undone to the byte."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from effort import IS_REPEATABLE, times
from random_files import as_typed, as_written, some_json, some_settings, some_toml

from session_memory.install import json_edit, toml_edit
from session_memory.install.jsonc import BadJson, parse
from session_memory.install.parts import Hook, Member, Table, remove_all

COMMENT = re.compile(r"// c |/\* c \*/|two c|\"c\": 1")
MEMBER = Member(("mcpServers", "session-memory"), {"command": "/x", "args": ["mcp"]})
HOOK = Hook(
    ("hooks", "PostToolUse"),
    {
        "matcher": "Bash",
        "hooks": [{"type": "command", "command": "/session-memory hook x failure"}],
    },
    "hook x failure",
)
TABLE = Table(("mcp_servers", "session-memory"), {"command": "/x", "args": ["mcp"]})


COUNT = 120


def randoms() -> Iterator[Random]:
    """Random numbers to make files of: the same in every run, unless EFFORT is set."""
    for seed in range(times(COUNT)):
        yield Random(seed if IS_REPEATABLE else None)


def test_a_text_with_comments_is_read_as_what_it_says() -> None:
    for random in randoms():
        value = some_settings(random)
        assert parse(as_typed(random, value)).value == value
        assert parse(as_written(random, value)).value == value


def test_what_is_put_into_json_is_removed_to_the_byte() -> None:
    # An edit may change the white space in an empty object. `test_random_files` looks at that.
    for text in (some_json(random, hollow=False) for random in randoms()):
        changed, created = text, []
        for part in (MEMBER, HOOK):
            changed, added = part.put(changed)
            created += added
        wanted = deepcopy(parse(text).value)
        wanted.setdefault("mcpServers", {})["session-memory"] = MEMBER.value
        wanted.setdefault("hooks", {}).setdefault("PostToolUse", []).append(HOOK.value)
        assert parse(changed).value == wanted, text
        assert MEMBER.put(changed)[0] == HOOK.put(changed)[0] == changed
        for order in ((MEMBER, HOOK), (HOOK, MEMBER)):
            assert remove_all("json", changed, order, created, Path("x")) == text


def test_members_that_were_added_in_between_stay() -> None:
    for random in randoms():
        text, value = some_json(random), some_settings(random)
        changed, created = MEMBER.put(text)
        before = json_edit.put_member(text, ("new",), value)[0]
        later = json_edit.put_member(changed, ("new",), value)[0]
        again = remove_all("json", later, (MEMBER,), created, Path("x"))
        assert parse(again).value == parse(before).value
        assert COMMENT.findall(again) == COMMENT.findall(before)


def test_what_is_put_into_toml_is_removed_to_the_byte() -> None:
    for text in map(some_toml, randoms()):
        changed = TABLE.put(text)[0]
        wanted = toml_edit.values(text)
        wanted.setdefault("mcp_servers", {})["session-memory"] = TABLE.value
        assert toml_edit.values(changed) == wanted, text
        assert TABLE.put(changed)[0] == changed
        assert TABLE.remove(changed) == text


@pytest.mark.parametrize("more", ["[later]\nx = 1\n", "# end\n", "[mcp_servers.z]\na = 1"])
def test_tables_that_were_added_in_between_stay(more: str) -> None:
    for text in islice(map(some_toml, randoms()), times(COUNT // 3)):
        changed = TABLE.put(text)[0]
        changed += ("" if changed.endswith("\n") else "\n") + more
        again = TABLE.remove(changed)
        wanted = toml_edit.values(text + "\n" + more)
        assert toml_edit.values(again) == wanted, text
        assert again.startswith(text.rstrip())
        assert again.endswith(more)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1 2]", '{"a" 1}', '{"a": }', "{a: 1}", '{"a": 1} x', '"\\q"', "'a'", "[" * 300],
)
def test_text_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(BadJson):
        parse(text)


def test_a_user_keeps_what_was_added_to_our_entry() -> None:
    text = '{"mcpServers": {"session-memory": {"command": "/old", "env": {"A": "1"}}}}'
    changed = parse(MEMBER.put(text)[0]).value["mcpServers"]["session-memory"]
    assert changed == {"command": "/x", "env": {"A": "1"}, "args": ["mcp"]}
    table = '[mcp_servers.session-memory]\ncommand = "/old" # mine\nenabled = false\n'
    assert TABLE.put(table)[0] == (
        '[mcp_servers.session-memory]\nargs = ["mcp"]\ncommand = "/x" # mine\nenabled = false\n'
    )


def test_hooks_of_others_in_our_group_stay() -> None:
    ours, other = HOOK.value["hooks"][0], {"type": "command", "command": "lint"}
    group = {"matcher": "Bash", "hooks": [other, ours, other]}
    text = json.dumps({"hooks": {"PostToolUse": [group]}}, indent=2)
    assert HOOK.put(text)[0] == text
    left = parse(HOOK.remove(text)).value["hooks"]["PostToolUse"]
    assert left == [{"matcher": "Bash", "hooks": [other, other]}]


def test_tables_inside_ours_go_with_it() -> None:
    text = "a = 1\n\n[b]\nc = 2\n"
    grown = TABLE.put(text)[0] + '\n[mcp_servers.session-memory.env]\nX = "1"\n\n[z]\n'
    assert TABLE.remove(grown) == "a = 1\n\n[b]\nc = 2\n\n[z]\n"
