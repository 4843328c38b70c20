"""Texts as a person sees them, without the tags that agents wrap them in."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.adapters.claude.readable import readable as claude
from session_memory.adapters.codex.readable import readable as codex

REMINDER = "<system-reminder>\nbe careful\n</system-reminder>"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (
            "<command-name>/plan</command-name>\n <command-message>plan</command-message>\n"
            " <command-args>the import</command-args>",
            "/plan the import",
        ),
        ("<command-message>clear</command-message><command-name>/clear</command-name>", "/clear"),
        ("<local-command-caveat>Caveat: do not answer.</local-command-caveat>", ""),
        ("<local-command-stdout></local-command-stdout>", ""),
        (
            "<local-command-stdout>Set model to \x1b[1mOpus\x1b[22m</local-command-stdout>",
            "Set model to Opus",
        ),
        ("<bash-input>ls -l</bash-input>", "! ls -l"),
        ("<bash-stdout>a\nb</bash-stdout><bash-stderr></bash-stderr>", "a\nb"),
        ("<tool_use_error>no such file</tool_use_error>", "no such file"),
        (
            "<task-notification>\n<task-id>b5</task-id>\n<summary>Docs completed</summary>\n"
            "</task-notification>\nRead the output file",
            "Docs completed",
        ),
        (
            'User has answered your questions: "Which "one"?"="Red", "And size?"="Small".'
            " You can now continue with the user's answers in mind.",
            'Which "one"? → Red\nAnd size? → Small',
        ),
        (f"one\n{REMINDER}\n", "one"),
        (f"one\n{REMINDER}\ntwo{REMINDER}", "one\ntwo"),
        (REMINDER, ""),
        ("All done.\n<usage>total_tokens: 97\ntool_uses: 2</usage>\n", "All done."),
        ("<system-reminder>never ends", "<system-reminder>never ends"),
        ("say <command-name> in a sentence", "say <command-name> in a sentence"),
        ("<command-message>broken", "<command-message>broken"),
    ],
)
def test_claude_code(text: str, seen: str) -> None:
    assert claude(text) == seen


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('{"answers":{"where":{"answers":["Panel","Tree"]}}}', "where → Panel, Tree"),
        ('{"answers":{"where":"Panel"}}', "where → Panel"),
        ('{"answers": broken', '{"answers": broken'),
        (
            '<subagent_notification>\n{"status":{"completed":"No such file."}}\n'
            "</subagent_notification>",
            "completed: No such file.",
        ),
        ("<codex_delegation><input>Do it.</input></codex_delegation>", "Do it."),
        ("<codex_delegation>nothing", "<codex_delegation>nothing"),
        ("plain", "plain"),
        (
            "# Context from my IDE setup:\n- a.py\n\n## My request for Codex:\nfix it",
            "fix it",
        ),
        ("# Context from my IDE setup:\n- a.py", "# Context from my IDE setup:\n- a.py"),
        (
            "Message Type: NEW_TASK\nTask name: /root/review\nSender: /root\nPayload:\nLook at it.",
            "Look at it.",
        ),
        ("Message Type: NEW_TASK Task name: /root/review Sender: /root Pa…", "review"),
    ],
)
def test_codex(text: str, seen: str) -> None:
    assert codex(text) == seen


TAGS = st.sampled_from(
    (
        *("<system-reminder>", "</system-reminder>", "<command-name>", "<bash-input>", "\n", "x"),
        *("<task-notification>", "<summary>", "User has answered your questions: ", '"="'),
        *('{"answers":', "<subagent_notification>", "{}", "}", "<codex_delegation>", "<input>"),
    )
)


@settings(deadline=None)
@given(st.lists(TAGS, max_size=30).map("".join))
def test_any_mixture_of_tags_gives_some_text(text: str) -> None:
    assert isinstance(claude(text), str)
    assert isinstance(codex(text), str)


def test_many_openings_take_no_longer_than_their_length() -> None:
    for opening in ("<system-reminder>", "<bash-input>", "<task-notification><summary>"):
        assert claude(opening * 50_000)
    assert codex("<codex_delegation>" + "<input>" * 50_000)
