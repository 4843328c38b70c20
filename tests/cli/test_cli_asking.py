"""Questions that mean nothing are refused, and an empty answer says what there is none of."""

import json

import pytest

from session_memory.testing.claude import ClaudeHome

STATION = "claude:91d4f0a7-6b2e-4d15-8c93-e50b7a36f218"
BACKWARDS = ("--since", "2026-06-05", "--until", "2026-06-04")


@pytest.mark.parametrize(
    "command", ["sessions", "cost", "stats", "files", "commands", "secrets", "search x"]
)
def test_a_period_that_ends_before_it_begins_is_refused(demo, run, command: str) -> None:
    result = run(*command.split(), *BACKWARDS)
    assert result.exit_code == 2 and "--since is later than --until" in result.stderr
    adjacent = run(*command.split(), "--since", "2026-06-05", "--until", "2026-06-05")
    assert adjacent.exit_code == 0


def test_an_option_of_one_value_is_not_given_twice(demo, run) -> None:
    result = run("cost", "--by", "day", "--by", "model")
    assert result.exit_code == 2 and "--by takes one value but was given twice" in result.stderr
    assert run("show", "91d4", "--kind", "error", "--kind", "edit").exit_code == 0
    assert run("cost", "--json", "--json").exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        "--audit 91d4 --by model",
        "--audit 91d4 --repo tidewatch",
        "--audit 91d4 --session 91d4",
        "--audit 91d4 --prices",
        "--audit 91d4 --limit 3",
        "--audit 91d4 --since 7d",
        "--prices --limit 3",
        "--prices --by model",
    ],
)
def test_what_would_be_ignored_is_refused(demo, run, words: str) -> None:
    result = run("cost", *words.split())
    assert result.exit_code == 2 and "cannot be used with" in result.stderr
    assert run("cost", "--prices", "--model", "opus").exit_code == 0


def test_an_empty_answer_says_what_there_is_none_of(demo, run) -> None:
    assert (
        "No file with 'nope' in its path was changed"
        in run("diff", "91d4", "--file", "nope").stderr
    )
    printed = run("commands", "--text", "zzzz").stderr
    assert "No command with 'zzzz' in it was run in these sessions." in printed
    printed = run("commands", "7ac3", "--state", "open").stderr
    assert "No command is without a result in these sessions." in printed


@pytest.mark.only("sqlite")
def test_an_unknown_kind_is_answered_with_the_kinds(demo, run) -> None:
    printed = run("show", "91d4", "--kind", "foo").stderr
    assert "error: unknown kind 'foo'\nhint: Choose one of: assistant_msg, completion," in printed
    assert "Did you mean user_msg?" in run("show", "91d4", "--kind", "user_msgs").stderr


@pytest.mark.parametrize("command", ["sessions", "cost", "stats models"])
def test_models_are_asked_for_by_patterns_too(demo, run, command: str) -> None:
    def printed(model: str):
        answer = json.loads(run(*command.split(), "--model", model, "--json").stdout)
        answer.pop("wanted", None)
        return answer

    assert printed("opus*") == printed("opus") != printed("o[p]us")


def test_sessions_and_show_have_the_clock_of_a_zone(demo, run) -> None:
    def lines(*words: str) -> str:
        return str(run(*words, "--tz", "Asia/Tokyo").stdout)

    assert "2026-07-20 16:34" in lines("sessions", "--repo", "tidewatch")
    assert "2026-07-20 16:30 to 2026-07-20 16:34" in lines("show", "91d4")
    assert "2026-07-20 16:33" in lines("commands", "91d4")
    assert "2026-07-20 16:3" in lines("files", "91d4")


@pytest.mark.only("sqlite")
def test_a_transcript_on_stdout_is_no_json(demo, run) -> None:
    result = run("export", "--format", "markdown", "7ac3", "--json")
    assert result.exit_code == 2 and result.stdout == ""
    assert "-o FILE" in json.loads(result.stderr)["error"]["message"]


@pytest.mark.only("sqlite")
@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (
            '[prices.a]\ninput = 1\noutput = 1\n[prices."b*"]\ninput = "x"\noutput = 1\n',
            'prices."b*".input: expected a number, got a text',
        ),
        ("[budget]\nday = 'x'\n", "budget.day: expected a number, got a text"),
        ("[prices.a]\ninput = 1\n", 'prices."a": missing required field `output`'),
        ("[domains]\nb = 3\n", 'domains."b": expected a text, got a number'),
        ("stor = 'x'\n", "contains unknown field `stor`"),
    ],
)
def test_a_wrong_setting_is_named_in_words(run, tmp_path, text: str, printed: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    assert f"{path}: {printed}" in run("config", "--config", str(path)).stderr


def test_where_nothing_was_used_no_dash_stands_for_it(home, run) -> None:
    claude = ClaudeHome(home)
    log = claude.session("idle0000")
    log.prompt("hello")
    claude.write()
    assert run("sync", "-q").exit_code == 0
    shown = run("show", "idle0000").stdout
    assert "  tokens   the log reports none\n" in shown and "  cost " not in shown
    assert run("tree", "idle0000").stdout.endswith("\n1 session, no usage\n")
    assert run("cost", "--audit", "idle0000").stdout == "own: the log reports no usage\n"
    assert "0 errors, 0 retries, 0 test runs" in run("digest", "idle0000").stdout


def test_one_thing_is_not_several(home, run) -> None:
    claude = ClaudeHome(home)
    log = claude.session("once0000")
    log.prompt("hello")
    log.run("false", "no", exit_code=1)
    claude.write()
    assert run("sync", "-q").exit_code == 0
    assert ": 1 error, 0 retries" in run("digest", "once0000").stdout
