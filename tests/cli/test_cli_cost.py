"""cost, budget and statusline: what a person, a script and a status bar get to see."""

import json
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from session_memory.config import default_store, load_config
from session_memory.core.time import now
from session_memory.pricing import session_amounts, shown, tree_amounts
from session_memory.pricing.rates import UsageKind
from session_memory.store import open_store
from session_memory.testing.claude import ClaudeHome, Clock, call, usage
from session_memory.testing.stores import write_empty_store

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

BUCKETS = [
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cache_write_1h_tokens",
    "reasoning_tokens",
    "web_searches",
]
ALPHA, BETA = "claude:alpha", "claude:beta"


@pytest.fixture
def spent(home: Path, run) -> Path:
    """Two sessions, one with a subagent, of known cost; one model nobody knows."""
    write_empty_store(home / ".session-memory" / "memory.db")
    claude = ClaudeHome(home)
    log = claude.session("alpha")
    log.prompt("delegate")
    log.answer(call("Task", prompt="look"), id="msg_1", used=usage(1000, input=0))
    agent = claude.subagent(log, "a1")
    agent.prompt("look")
    agent.answer("looked", id="msg_2", used=usage(2000, input=0, searches=1))
    other = claude.session("beta")
    other.prompt("\x1b[31mred\x07")
    other.answer("hm", id="msg_3", model="mystery\x1b[2J-1", used=usage(7, input=5))
    claude.write()
    assert run("sync", "--quiet").exit_code == 0
    return home


def answer(run, *words: str, status: int = 0) -> Any:
    result = run(*words, "--json")
    assert result.exit_code == status, result.stderr
    return json.loads(result.stdout)


# ---------------------------------------------------------------- cost


@BOTH
def test_the_json_has_the_shape_of_the_contract(run, spent) -> None:
    report = answer(run, "cost", "--tz", "UTC")
    assert list(report) == ["totals", "by", "rows", "unpriced", "prices"]
    assert list(report["totals"])[:7] == BUCKETS
    assert report["totals"]["microdollars"] == 25_000 + 50_000 + 10_000
    assert report["unpriced"] == [{"model": "mystery\x1b[2J-1", "tokens": 12}]
    assert list(report["prices"])[:2] == ["version", "digest"]
    for by in ("day", "week", "month", "block", "model", "repo", "flavor", "session"):
        grouped = answer(run, "cost", "--by", by, "--tz", "UTC")
        assert grouped["totals"] == report["totals"]
        for figure in (*BUCKETS, "microdollars", "unpriced_tokens"):
            assert sum(row[figure] for row in grouped["rows"]) == report["totals"][figure]


def test_sessions_show_what_they_and_their_subagents_cost(run, spent) -> None:
    rows = {row["key"]: row for row in answer(run, "cost", "--by", "session")["rows"]}
    assert rows[ALPHA]["microdollars"] == 25_000
    assert rows[ALPHA]["with_subagents"] == {"microdollars": 85_000, "unpriced_tokens": 0}
    assert rows[BETA]["with_subagents"] == {"microdollars": 0, "unpriced_tokens": 12}
    only = answer(run, "cost", "--session", "alpha", "--by", "session")
    assert {row["key"] for row in only["rows"]} == {ALPHA, f"{ALPHA}:a1"}
    assert only["totals"]["microdollars"] == 85_000


@BOTH
def test_filters_leave_the_rest_out(run, spent) -> None:
    assert answer(run, "cost", "--model", "OPUS")["unpriced"] == []
    assert answer(run, "cost", "--model", "mystery")["totals"]["microdollars"] == 0
    assert answer(run, "cost", "--flavor", "co*")["rows"] == []
    assert answer(run, "cost", "--flavor", "cla*")["totals"]["microdollars"] == 85_000
    assert answer(run, "cost", "--since", "1d")["rows"] == []
    assert answer(run, "cost", "--repo", "no-such")["rows"] == []


def test_the_text_has_bars_totals_and_what_has_no_price(run, spent) -> None:
    result = run("cost", "--by", "session")
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout and "\x07" not in result.stdout
    lines = result.stdout.splitlines()
    assert lines[0].split() == [
        *("session", "title", "in", "out", "cache", "read", "cache", "write", "cost"),
        *("with", "subagents"),
    ]
    assert lines[1].startswith("alpha  ") and "$0.0850" in lines[1] and "█" in lines[1]
    assert any(line.startswith("total") and "$0.0850 + unpriced" in line for line in lines)
    assert lines[-1] == r"unpriced: mystery\x1b[2J-1, 12 tokens"
    assert "Prices: genai-prices" in result.stderr


@BOTH
def test_every_grouping_can_be_read(run, demo) -> None:
    for by in ("day", "week", "month", "block", "model", "repo", "flavor", "session"):
        result = run("cost", "--by", by)
        assert result.exit_code == 0, result.stderr
        assert "total" in result.stdout


@BOTH
def test_limit_takes_the_newest_days_and_the_dearest_others(run, demo) -> None:
    days = answer(run, "cost")["rows"]
    assert answer(run, "cost", "--limit", "2")["rows"] == days[-2:]
    models = answer(run, "cost", "--by", "model")["rows"]
    assert answer(run, "cost", "--by", "model", "--limit", "1")["rows"] == models[:1]
    assert "1 of" in run("cost", "--limit", "1").stderr


def test_nothing_collected_has_cost_nothing(run, home) -> None:
    assert run("sync").exit_code == 0
    result = run("cost")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "No usage in this selection" in result.stderr
    assert answer(run, "cost")["totals"]["microdollars"] == 0
    assert run("cost", "--prices").exit_code == 0


@BOTH
def test_an_audit_names_message_tokens_row_and_rule_and_adds_up(run, spent) -> None:
    printed = answer(run, "cost", "--audit", "alpha")
    (record,) = printed["records"]
    shown_event = next(
        event
        for event in answer(run, "show", "alpha")["events"]
        if event["event_uid"] == record["event_uid"]
    )
    assert shown_event["kind"] == "tool_call"
    assert record["parts"] == [
        {"bucket": "output", "count": 1000, "price": 25_000_000, "picodollars": 25_000_000_000}
    ]
    assert record["rule"] == "anthropic/claude-opus-4-8, by its name"
    assert record["microdollars"] == printed["totals"]["microdollars"] == 25_000
    assert printed["subagents"] == {f"{ALPHA}:a1": {"microdollars": 60_000, "unpriced_tokens": 0}}
    assert printed["with_subagents"]["microdollars"] == 85_000
    text = run("cost", "--audit", "alpha").stdout
    assert "1,000 output         x $25.000000 a million = $0.025" in text
    assert "with subagents: $0.0850 ($0.085000)" in text


def test_an_audit_of_an_unpriced_session_says_so(run, spent) -> None:
    (record,) = answer(run, "cost", "--audit", "beta")["records"]
    assert (record["unpriced"], record["price"], record["rule"]) == (True, None, "no price")
    text = run("cost", "--audit", "beta").stdout
    assert "unpriced" in text and "\x1b" not in text


def test_the_agents_own_figures_stand_beside_ours(run, home) -> None:
    write_empty_store(home / ".session-memory" / "memory.db")
    claude = ClaudeHome(home)
    log = claude.session("alpha")
    log.prompt("go")
    log.answer("done", id="msg_1", model="claude-opus-4-5", used=usage(1000, input=0))
    figures = {"claude-opus-4-5": 0.02, "mock\x1b[2J": 0.5, "free": 0}
    log.note("cost-state", modelUsage={name: {"costUSD": cost} for name, cost in figures.items()})
    claude.write()
    assert run("sync", "--quiet").exit_code == 0
    printed = answer(run, "cost", "--audit")
    assert list(printed) == ["rows", "differences", "notes", "prices"]
    opus = next(row for row in printed["rows"] if row["model"] == "claude-opus-4-5")
    assert (opus["reported"], opus["ours"], opus["difference"]) == (20_000, 25_000, 5_000)
    assert [row["difference"] for row in printed["differences"]] == [-500_000, 5_000]
    assert len(answer(run, "cost", "--audit", "--limit", "1")["differences"]) == 1
    text = run("cost", "--audit").stdout
    assert "+$0.0050 (+25.0%)" in text and "\x1b" not in text
    assert run("cost", "--audit", "--by", "day").exit_code == 2
    assert run("cost", "--audit", "alpha", "--flavor", "claude").exit_code == 2


def test_without_figures_of_agents_the_audit_says_so(run, spent) -> None:
    result = run("cost", "--audit")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "No agent in this selection logs what it cost." in result.stderr


def test_price_rows_can_be_looked_up(run, spent) -> None:
    rows = answer(run, "cost", "--prices")["rows"]
    assert [(row["model"], row["unpriced"]) for row in rows] == [
        ("claude-opus-4-8", False),
        ("mystery\x1b[2J-1", True),
    ]
    assert (rows[0]["input"], rows[0]["provider"]) == (5_000_000, "anthropic")
    assert "$6.25" in run("cost", "--prices").stdout


def test_prices_are_in_the_same_order_in_every_run(run, spent, monkeypatch) -> None:
    kinds = [UsageKind("claude", "claude-opus-4-8", speed) for speed in ("standard", None, "slow")]

    def listed(order: list[UsageKind]) -> list[str | None]:
        # The hash of a text differs from run to run, and with it the order of a set.
        monkeypatch.setattr("session_memory.views.cost_prices.kinds_in_use", lambda *_: order)
        return [row["speed"] for row in answer(run, "cost", "--prices")["rows"]]

    assert listed(kinds) == listed(kinds[::-1])


def test_a_price_is_listed_once_and_a_search_by_the_thousand(run, home) -> None:
    claude = ClaudeHome(home)
    log = claude.session("alpha")
    log.prompt("hello")
    for number, speed in enumerate((None, "standard")):
        used = {**usage(10, input=5), **({"speed": speed} if speed else {})}
        log.answer("hello", id=f"msg_{number}", used=used)
    claude.write()
    assert run("sync", "--quiet").exit_code == 0
    shown = run("cost", "--prices")
    lines = shown.stdout.splitlines()
    assert len(lines) == len(set(lines)) == 2
    assert lines[0].endswith("1k searches") and lines[1].endswith("$10")
    assert "a million tokens or a thousand searches" in shown.stderr


@BOTH
def test_prices_of_ones_own_are_used_everywhere(run, spent) -> None:
    config = spent / ".session-memory" / "config.toml"
    config.write_text('[prices."mystery*"]\ninput = 1\noutput = 10\n')
    assert answer(run, "cost")["unpriced"] == []
    rows = {row["key"]: row for row in answer(run, "cost", "--by", "session")["rows"]}
    assert rows[BETA]["microdollars"] == 5 + 70
    assert "$0.000075" in run("sessions").stdout
    assert answer(run, "cost", "--audit", "beta")["records"][0]["provider"] == "config.toml"


@pytest.mark.parametrize(
    "text",
    [
        "[prices.x]\ninput = 1\n",
        "[prices.x]\ninput = -1\noutput = 1\n",
        "[prices.x]\ninput = nan\noutput = 1\n",
        "[prices.x]\ninput = 1\noutput = 1\ncahe_read = 1\n",
        "[budget]\nmonth = 0\n",
    ],
)
def test_a_wrong_price_or_limit_is_refused(run, spent, text: str) -> None:
    (spent / ".session-memory" / "config.toml").write_text(text)
    result = run("cost", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stderr)["error"]["kind"] == "config_error"


def test_the_same_figure_stands_everywhere(run, spent) -> None:
    with open_store(default_store()) as store:
        own, whole = session_amounts(store), tree_amounts(store)
    rows = {row["key"]: row for row in answer(run, "cost", "--by", "session")["rows"]}
    for uid, amount in own.items():
        assert rows[uid]["microdollars"] == amount.microdollars
        assert rows[uid]["unpriced_tokens"] == amount.unpriced_tokens
        assert rows[uid]["with_subagents"]["microdollars"] == whole[uid].microdollars
        assert shown(amount) in run("sessions", "--all", "--limit", "0").stdout
    by_cost = answer(run, "sessions", "--sort", "cost")["sessions"]
    amounts = [own[session["session_uid"]].microdollars for session in by_cost]
    assert amounts == sorted(amounts, reverse=True) and amounts[0] == 60_000


@BOTH
def test_the_cost_of_a_subagent_leaves_its_parent_out(run, demo) -> None:
    printed = answer(run, "cost", "--session", "7ac3:a5", "--by", "session")
    assert [row["relation"] for row in printed["rows"]] == ["subagent"]


# ---------------------------------------------------------------- budget


def test_a_limit_is_set_kept_and_shown(run, spent) -> None:
    assert "No limit is set" in run("budget").stderr
    result = run("budget", "set", "--month", "200", "--day", "12.5")
    assert result.exit_code == 0, result.stderr
    assert "$200.00" in result.stdout
    path = spent / ".session-memory" / "config.toml"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_config(path).budget.month == 200
    printed = answer(run, "budget")
    assert [period["limit_microdollars"] for period in printed["periods"]] == [
        12_500_000,
        200_000_000,
    ]
    run("budget", "set", "--day", "0")
    assert load_config(path).budget.day is None


def test_setting_a_limit_leaves_the_rest_of_the_file_alone(run, spent) -> None:
    path = spent / ".session-memory" / "config.toml"
    text = '# mine\nhost = "laptop"\n\n[budget] # money\n# soon\nmonth = 5\n\n[domains]\na = "b"\n'
    path.write_text(text)
    assert run("budget", "set", "--month", "7").exit_code == 0
    assert path.read_text() == text.replace("# soon\nmonth = 5", "month = 7\n# soon")
    config = load_config(path)
    assert (config.host, config.domains, config.budget.month) == ("laptop", {"a": "b"}, 7)


@pytest.mark.parametrize("text", ["budget = {month = 5}\n", "budget.month = 5\n", "not toml"])
def test_a_file_that_cannot_be_changed_safely_is_not(run, spent, text: str) -> None:
    path = spent / ".session-memory" / "config.toml"
    path.write_text(text)
    assert run("budget", "set", "--month", "7").exit_code == 1
    assert path.read_text() == text


def test_a_link_is_not_written_through(run, spent, tmp_path: Path) -> None:
    path, real = spent / ".session-memory" / "config.toml", tmp_path / "dotfiles.toml"
    real.write_text("")
    path.symlink_to(real)
    result = run("budget", "set", "--month", "7")
    assert result.exit_code == 1 and "is a link" in result.stderr
    assert real.read_text() == ""


@pytest.mark.parametrize(
    "words", [["set"], ["--month", "5"], ["set", "--month", "-1"], ["set", "--month", "1e12"]]
)
def test_wrong_usage_of_budget_is_said(run, spent, words: list[str]) -> None:
    assert run("budget", *words).exit_code == 2


@pytest.mark.parametrize("amount", ["nan", "inf", "many", "0.0000001"])
def test_a_limit_that_is_none_is_not_kept(run, spent, amount: str) -> None:
    result = run("budget", "set", "--month", amount)
    assert result.exit_code == 2
    assert ("not a number of dollars" in result.stderr) == (amount != "0.0000001")
    assert not (spent / ".session-memory" / "config.toml").exists()


def test_a_dollar_sign_before_a_limit_may_stay(run, spent) -> None:
    assert run("budget", "set", "--month", "$200").exit_code == 0
    assert load_config(spent / ".session-memory" / "config.toml").budget.month == 200


@pytest.fixture
def spent_today(home: Path, run) -> Path:
    """A dollar, a moment ago."""
    claude = ClaudeHome(home)
    claude.clock = Clock(now())
    log = claude.session("alpha")
    log.prompt("hello")
    log.answer("hello", id="msg_1", used=usage(40_000, input=0))
    claude.write()
    assert run("sync", "--quiet").exit_code == 0
    return home


@pytest.mark.parametrize(
    ("limit", "state", "status", "word"),
    [("2", "ok", 0, ""), ("1.25", "near", 0, "near the budget"), ("0.5", "over", 3, "over budget")],
)
def test_a_limit_that_is_near_or_passed_is_said_everywhere(
    run, spent_today, limit: str, state: str, status: int, word: str
) -> None:
    # Wherever it is noon: the day must not end while the test runs.
    noon = ("--tz", f"Etc/GMT{datetime.now(UTC).hour - 12:+d}")
    shown = run("budget", "set", "--day", limit, *noon)
    assert shown.exit_code == status
    printed = answer(run, "budget", *noon, status=status)
    assert (printed["state"], printed["periods"][0]["spent_microdollars"]) == (state, 1_000_000)
    cost = run("cost", *noon)
    assert cost.exit_code == 0
    line = run("statusline", *noon, input='{"session_id": "alpha"}').stdout
    mark = {"ok": "| day", "near": "| ! day", "over": "| !! day"}[state]
    assert mark in line and "session $1.00 | today $1.00 | block $1.00, " in line
    assert (word in shown.stderr and word in cost.stderr) if word else "budget" not in cost.stderr


@BOTH
def test_a_limit_of_next_to_nothing_is_passed_and_breaks_nothing(run, spent_today) -> None:
    path = spent_today / ".session-memory" / "config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("[budget]\nmonth = 1e-7\n")
    assert run("budget").exit_code == 3
    cost = run("cost")
    assert cost.exit_code == 0 and "over budget: $1.00 of $0.00 spent" in cost.stderr


# ---------------------------------------------------------------- statusline


@BOTH
def test_the_line_knows_the_session(run, spent) -> None:
    said = json.dumps({"session_id": "alpha", "model": {"display_name": "Opus\x1b[31m"}})
    result = run("statusline", input=said)
    assert result.exit_code == 0
    assert result.stdout == "Opus\\x1b[31m | session $0.0850 | today -\n"
    printed = json.loads(run("statusline", "--json", input=said).stdout)
    assert printed["session"] == {"microdollars": 85_000, "unpriced_tokens": 0}


@pytest.mark.parametrize("said", ["", "{}", "nonsense", '{"session_id": "../../etc/passwd"}'])
def test_the_line_never_fails_the_bar(run, spent, said: str) -> None:
    result = run("statusline", input=said)
    assert (result.exit_code, result.stdout) == (0, "today -\n")


def test_without_a_store_the_line_says_so_and_succeeds(run, home, tmp_path: Path) -> None:
    missing = str(tmp_path / "none" / "memory.db")
    result = run("statusline", "--store", missing, input="{}")
    assert (result.exit_code, result.stdout) == (0, "session-memory: nothing collected yet\n")
    (home / ".session-memory").mkdir()
    (home / ".session-memory" / "config.toml").write_text("nonsense")
    broken = run("statusline", input="{}")
    assert broken.exit_code == 0
    assert broken.stdout.startswith("session-memory: ") and broken.stdout.count("\n") == 1
