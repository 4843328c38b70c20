"""The table, the page, and the command."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from session_memory.cli import main
from session_memory.conformance.drivers import DRIVERS
from session_memory.conformance.isolation import words_without_network
from session_memory.conformance.npm import why_failed
from session_memory.conformance.report import details, keep, page, rows, summary
from session_memory.conformance.result import CANNOT, DIFFERS, EQUAL, MISSING, Result
from session_memory.conformance.scenarios import NAMES

pytestmark = [pytest.mark.only("sqlite"), pytest.mark.no_store]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"
KNOWN = "interrupt: it writes nothing more"
RESULTS = [
    Result("claude", "2.1", "basic", EQUAL, date="2026-11-16"),
    Result("pi", "0.87", "basic", DIFFERS, ["tokens: 1 instead of 2 <b>|"], date="2026-11-16"),
    Result("pi", "0.87", "interrupt", EQUAL, known=[KNOWN], date="2026-11-16"),
    Result("pi", "0.87", "denied", CANNOT, ["pi asks for no permission"], date="2026-11-16"),
]


def test_the_table_has_a_row_for_each_agent() -> None:
    assert list(rows(RESULTS)) == [
        ("agent", "version", "basic", "interrupt", "denied"),
        ("claude", "2.1", "equal", "–", "–"),
        ("pi", "0.87", "differs", "equal", "cannot"),
    ]
    assert list(details(RESULTS)) == [
        "pi basic: tokens: 1 instead of 2 <b>|",
        f"pi, known: {KNOWN} (interrupt)",
    ]
    assert summary(RESULTS)["counts"][EQUAL] == 2


def test_a_release_that_could_not_be_installed_is_forgotten_when_one_is(tmp_path: Path) -> None:
    missing = Result("vibe", "", "", MISSING, ["it needs Python 3.12 or newer"])
    assert keep(tmp_path, [missing]) == [missing]
    played = Result("vibe", "3.0", "basic", EQUAL, date="2026-11-16")
    assert keep(tmp_path, [played]) == [played]


def test_the_page_tells_what_differs_and_why() -> None:
    text = page(RESULTS)
    assert "| pi | 0.87 | 2026-11-16 | 1 | 1 | 1 |" in text
    assert "| | Claude Code | pi |" in text
    assert "| `basic` | equal | **differs** |" in text
    assert "| `interrupt` | – | equal (1) |" in text
    assert "- pi, `basic`: tokens: 1 instead of 2 &lt;b>\\|" in text
    assert f"1. pi: {KNOWN}" in text and "asks for no permission" in text


def test_scenarios_that_an_agent_cannot_do_for_one_reason_are_one_line() -> None:
    reason = "it forgets sessions"
    cannot = [Result("pi", "0.87", name, CANNOT, [reason]) for name in ("resume", "models")]
    assert "\n- pi, `resume`, `models`: it forgets sessions\n" in page(cannot)
    cannot += [replace(one, agent="claude") for one in cannot]
    assert "\n- pi, Claude Code, `resume`, `models`: it forgets sessions\n" in page(cannot)


def test_results_of_several_runs_are_kept_together(tmp_path: Path) -> None:
    keep(tmp_path, RESULTS)
    again = Result("pi", "0.88", "basic", EQUAL, date="2026-11-23")
    kept = keep(tmp_path, [again])
    assert len(kept) == len(RESULTS) and again in kept
    assert [one.agent for one in kept] == ["claude", "pi", "pi", "pi"]


def test_the_page_in_the_docs_has_every_agent_and_scenario() -> None:
    text = PAGE.read_text()
    assert all(f"| `{name}` | " in text for name in NAMES)
    assert all(f"{driver.title} " in text for driver in DRIVERS)


def test_what_is_not_known_is_refused() -> None:
    for words, text in (
        (["nobody"], "unknown agent nobody"),
        (["--scenario", "nothing"], "unknown scenario nothing"),
        (["--version", "pi"], "AGENT=VERSION"),
        (["--version", "nobody=1"], "unknown agent nobody"),
    ):
        done = CliRunner().invoke(main, ["conformance", *words])
        assert done.exit_code == 2 and text in done.output


def test_without_npm_the_hint_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    words = ["conformance", "pi", "--scratch", str(tmp_path / "scratch"), "--json"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code != 0 and "no npm" in done.output


def test_the_reason_why_a_release_does_not_install_names_no_directory() -> None:
    missing = "No matching version found for @kilo/linux@7.8.1."
    failed = (
        f"npm error code 1\nnpm error path /home/mira/x\nnpm error npm error notarget {missing}\n"
    )
    assert why_failed(failed) == missing
    assert why_failed("npm error code 1\nnpm error path /x\nnpm error it broke\n") == "it broke"


def test_the_network_is_left_out_where_the_machine_allows_it() -> None:
    words, environment = words_without_network(["true"])
    assert words[-1] == "true" and "PATH" in environment


def test_a_version_of_an_agent_that_does_not_run_is_refused(tmp_path: Path) -> None:
    words = ["conformance", "pi", "--version", "claude=1", "--scratch", str(tmp_path)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert "--version names claude, but this runs pi" in result.stderr
