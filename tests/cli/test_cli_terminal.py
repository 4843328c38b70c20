"""What reaches a terminal: nothing from a log that is not plain text, colours only where wanted."""

import json
import os
import pty
import re
import unicodedata

import click
import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.cli.kit.output import Column, table
from session_memory.cli.lines.json_outline import outline
from session_memory.render.json_text import to_json
from session_memory.render.text import cut, cut_middle, safe, safe_lines, width
from session_memory.views.figures import count, duration, local, size

pytestmark = pytest.mark.every(3)  # Its cases give a server the same statements.

ANSI = re.compile(r"\x1b\[")
HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07 [bold red]x[/] \u202egnp.exe\u2066 \x9b31m\r\b\x00 \U000e0041\ud800"
)
JOINERS = "\u200c\u200d"
# The database makes no difference to a terminal.
SQLITE = pytest.mark.only("sqlite")


def is_plain(text: str) -> bool:
    return not any(
        unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp") and one not in JOINERS
        for one in text
        # These few format characters have a shape of their own.
        if not 0x600 <= ord(one) <= 0x8E2 and not 0x110BD <= ord(one) <= 0x13455
    )


@SQLITE
@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_safe_text_is_plain_and_on_one_line(text: str) -> None:
    assert is_plain(safe(text))
    assert all(is_plain(line) for line in safe_lines(text))


@SQLITE
@settings(deadline=None)
@given(st.text(alphabet=st.characters(categories=("L", "N", "P", "S", "Zs"))))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert safe(text) == text


@SQLITE
@settings(deadline=None)
@given(st.text(), st.integers(min_value=1, max_value=30))
def test_a_cut_text_fits(text: str, columns: int) -> None:
    assert width(cut(safe(text), columns)) <= columns
    assert width(cut_middle(safe(text), columns)) <= columns


@SQLITE
def test_of_a_path_the_end_is_kept() -> None:
    path = "frontend/src/components/RemediationHistoryCard.tsx"
    assert cut_middle(path, 30) == "fr…/RemediationHistoryCard.tsx"
    assert cut_middle(path, 20) == "fronte…storyCard.tsx"
    assert cut_middle(path, len(path)) == path


@SQLITE
def test_columns_that_matter_less_go_before_a_title_is_cut_short() -> None:
    columns = (
        Column("id", flexible=True, middle=True, least=8),
        Column("turns", right=True, spare=2),
        Column("cost", right=True, spare=1),
        Column("title", flexible=True, least=20),
    )
    rows = [("0123456789abcdef", "12", "$1.25", "a title of more than twenty columns")]
    lines = {limit: list(table(columns, rows, limit))[-1] for limit in (50, 40, 36, 28, 24)}
    assert lines == {
        50: "0123…789abcdef     12  $1.25  a title of more tha…",
        40: "012…9abcdef  $1.25  a title of more tha…",
        36: "0123…789abcdef  a title of more tha…",
        28: "01…bcdef  a title of more t…",
        24: "01…bcdef  a title of mo…",
    }


@SQLITE
@settings(deadline=None, max_examples=times(40))
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=8))
def test_an_outline_is_plain(value) -> None:
    assert all(is_plain(line) for line in outline({"key": value, "\x1b": value}))


@SQLITE
def test_an_outline_of_something_very_deep_ends() -> None:
    value: list = []
    for _ in range(5000):
        value = [value]
    assert len(list(outline(value))) < 100


@SQLITE
@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_json_is_ascii_and_reads_back(text: str) -> None:
    written = to_json({"text": text})
    assert written.isascii() and written.isprintable()
    assert json.loads(written) == {"text": text}


@SQLITE
def test_columns_line_up_whatever_is_in_them() -> None:
    rows = [("日本語", "1"), ("e\u0301", "22"), ("\x1b[31m", "333")]
    lines = list(table((Column("name"), Column("n", right=True)), rows))
    assert len({width(click.unstyle(line)) for line in lines}) == 1


@SQLITE
def test_a_narrow_terminal_shortens_the_flexible_columns_alone() -> None:
    columns = (Column("uid"), Column("title", flexible=True))
    *_, row = table(columns, [("0123456789" * 2, "a very long title indeed")], limit=36)
    assert row == "01234567890123456789  a very long t…"
    both = (Column("uid", flexible=True), Column("title", flexible=True))
    *_, row = table(both, [("short", "a very long title indeed")], limit=20)
    assert row == "short  a very long …"


@pytest.fixture
def hostile(home, run):
    """A store with a session whose every text is hostile, below a hostile path."""
    project = home / ".claude" / "projects" / "-\x1b[31mp"
    project.mkdir(parents=True)
    lines = [
        {"type": "custom-title", "customTitle": HOSTILE, "sessionId": "evil"},
        {
            "type": "user",
            "uuid": "u1",
            "sessionId": "evil",
            "cwd": f"/home/{HOSTILE}",
            "gitBranch": HOSTILE,
            "version": HOSTILE,
            "timestamp": "2026-07-01T10:00:00.000Z",
            "message": {"role": "user", "content": HOSTILE},
        },
        {
            "type": "assistant",
            "uuid": "u2",
            "parentUuid": "u1",
            "sessionId": "evil",
            "message": {
                "id": "m1",
                "model": HOSTILE,
                "content": [
                    {"type": "tool_use", "id": "t1", "name": HOSTILE, "input": {"x": HOSTILE}}
                ],
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
        },
        {"type": HOSTILE, "sessionId": "evil", "uuid": "u3"},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (project / "evil.jsonl").write_text(text + '{"broken": "\x1b[31m' + "\n")
    assert run("sync").exit_code == 3
    return home


@pytest.mark.parametrize(
    "words",
    [
        ("sync",),
        ("sessions",),
        ("show", "evil"),
        ("show", "evil", "--full"),
        ("sources",),
        ("sources", "--accounting"),
        ("problems",),
        ("show", "evil\x1b[31m"),
        ("sessions", "--\x1b[31m"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_hostile_logs_are_shown_escaped(words, as_json, hostile, run) -> None:
    result = run(*words, *(["--json"] if as_json else []))
    assert result.output
    for line in result.output.splitlines():
        assert is_plain(line), line
    if words in (("sessions",), ("show", "evil")) and not as_json:
        assert "\\x1b[2J" in result.stdout and "[bold red]x[/]" in result.stdout
        assert "\\u202e" in result.stdout


@pytest.mark.only("sqlite")
def test_a_shell_is_offered_no_hostile_text(hostile, start) -> None:
    words = {"COMP_WORDS": "session-memory show ev", "COMP_CWORD": "2"}
    process = start(env={**words, "_SESSION_MEMORY_COMPLETE": "zsh_complete"}, stdout=-1, stderr=-1)
    out, err = process.communicate(timeout=60)
    kind, name, title = out.decode().splitlines()
    assert (kind, name) == ("plain", "evil")
    assert is_plain(title) and err == b""


def on_a_terminal(start, *words: str, **env: str) -> str:
    """What a command prints when its output is a terminal of 100 columns."""
    leader, follower = pty.openpty()
    process = start(
        *words, stdout=follower, stderr=follower, env={"COLUMNS": "100", "TERM": "xterm", **env}
    )
    os.close(follower)
    printed = b""
    # The end of a terminal is an error on Linux and an empty read elsewhere.
    try:
        while piece := os.read(leader, 65536):
            printed += piece
    except OSError:
        pass
    os.close(leader)
    process.wait(timeout=60)
    return printed.decode()


@SQLITE
def test_a_terminal_gets_colours_and_a_file_does_not(demo, start, run) -> None:
    assert ANSI.search(on_a_terminal(start, "show", "91d4f0a7"))
    assert not ANSI.search(run("show", "91d4f0a7").stdout)


@SQLITE
@pytest.mark.parametrize("words", [("show", "91d4f0a7"), ("sessions",), ("show", "zzzz")])
def test_no_color_is_honoured(words, demo, start) -> None:
    assert not ANSI.search(on_a_terminal(start, *words, NO_COLOR="1"))
    assert not ANSI.search(on_a_terminal(start, *words, "--no-color"))


@SQLITE
@pytest.mark.parametrize("columns", [60, 80, 100])
@pytest.mark.parametrize(
    "words",
    [
        *(
            "sessions",
            "sessions --all",
            "files",
            "commands",
            "tree 7ac3",
            "timeline 7ac3",
            "cost --prices -q",
        ),
        *("cost --by session", "cost", "budget -q", "search packets"),
    ],
)
def test_tables_fit_a_narrow_terminal(demo, start, words: str, columns: int) -> None:
    printed = on_a_terminal(start, *words.split(), NO_COLOR="1", COLUMNS=str(columns), PAGER="")
    lines = printed.splitlines()
    assert len(lines) > 2 and max(map(width, lines)) <= columns
    # Whole names, or two subagents of one session look alike.
    if words in ("sessions --all", "tree 7ac3", "cost --by session", "commands"):
        assert "7ac31f58:a5d20c71  " in printed


@SQLITE
def test_what_can_be_spared_goes_before_a_line_is_too_long() -> None:
    columns = (Column("a"), Column("b", spare=1), Column("c", spare=2), Column("d", flexible=True))
    row = ["x" * 10, "y" * 10, "z" * 10, "words " * 9]
    titles = (next(table(columns, [row], limit)) for limit in (60, 40, 25))
    wide, middle, narrow = (click.unstyle(line).split() for line in titles)
    assert (wide, middle, narrow) == (["a", "b", "c", "d"], ["a", "b", "d"], ["a", "d"])


@SQLITE
@pytest.mark.parametrize("columns", [60, 80, 100])
def test_what_was_learned_fits_a_narrow_terminal(demo, start, run, columns: int) -> None:
    assert run("analyze", "-q").exit_code == 0
    for words in (
        "how nightly import",
        "fix AssertionError",
        "retro --since 2025-01-01",
        "digest 7ac31f58",
    ):
        printed = on_a_terminal(start, *words.split(), "-q", NO_COLOR="1", COLUMNS=str(columns))
        lines = printed.splitlines()
        assert len(lines) > 2 and max(map(width, lines)) <= columns, words


@SQLITE
def test_a_terminal_gets_a_retrospective_without_markdown(demo, start, run) -> None:
    words = ("retro", "--since", "2025-01-01")
    assert run("analyze").exit_code == 0
    printed = on_a_terminal(start, *words, NO_COLOR="1")
    assert "\r\nWhat was done\r\n" in printed
    assert "## " not in printed
    assert run(*words).stdout.startswith("# Retrospective")


@SQLITE
def test_lines_fit_the_terminal(demo, start) -> None:
    for columns in (80, 100, 120, 200):
        printed = on_a_terminal(start, "sessions", "--no-color", COLUMNS=str(columns))
        assert all(width(line) <= columns for line in printed.splitlines())
    events = on_a_terminal(start, "show", "91d4f0a7", "--no-color").split("\r\n\r\n", 1)[1]
    assert all(width(line) <= 100 for line in events.splitlines())


@SQLITE
def test_a_wide_terminal_shows_more(demo, start) -> None:
    assert "outcome" in on_a_terminal(start, "sessions", COLUMNS="200")
    assert "outcome" not in on_a_terminal(start, "sessions", COLUMNS="100")
    assert "model" in on_a_terminal(start, "sessions", COLUMNS="140")
    assert "model" not in on_a_terminal(start, "sessions", COLUMNS="80")


@SQLITE
def test_json_is_indented_on_a_terminal_alone(demo, start, run) -> None:
    assert on_a_terminal(start, "version", "--json").startswith("{\r\n  ")
    assert run("version", "--json").stdout.count("\n") == 1


@SQLITE
def test_figures_read_well() -> None:
    assert [count(n) for n in (0, 950, 999, 1000, 1234, 9990, 34_000, 999_700, 5_600_000)] == [
        "-", "950", "999", "1.0k", "1.2k", "10k", "34k", "1.0M", "5.6M",
    ]  # fmt: skip
    assert [size(n) for n in (0, 812, 1200, 3_400_000)] == ["0 B", "812 B", "1.2 kB", "3.4 MB"]
    assert [duration(s) for s in (0.04, 2, 78, 180, 7500)] == [
        "0.04 s", "2.0 s", "78 s", "3 min", "2 h 5 min",
    ]  # fmt: skip
    assert local(None) == "-"
    assert local("0001-01-01T00:00:00.000Z")
