"""Which issue or pull request texts name. SWITCHING 0.45. A number alone names none."""

import pytest

from session_memory.adapters.detectors.tasks import (
    task_at,
    task_in_branch,
    task_in_commit,
    task_in_plan,
    task_in_prompt,
)

BRANCHES = {
    "issue-12": "#12",
    "feat/issue_12_cart": "#12",
    "mira/gh-7-login": "#7",
    "pr/45": "#45",
    "fix/bug-31": "#31",
    "fix/#31-login": "#31",
    "123-slow-login-form": "#123",
    "mira/123-slow-login-form": "#123",
    "SHOP-12": "SHOP-12",
    "feature/SHOP-12-cart-total": "SHOP-12",
    "main": None,
    "HEAD": None,
    "fix/2-columns": None,
    "fix/404-page-not-found": None,
    "32-bit-windows-build": None,
    "2026-spring-cleaning-again": None,
    "release/2026-01-05": None,
    "alex/v0.3.4-changelog-and-release-docs": None,
    "fix/UTF-8-names": None,
    "SHA-256-sums": None,
    "fix/fetchurl-osc8-hyperlink": None,
    "codex/add-support-guidance": None,
    "prefix12": None,
    "improve12-issue": None,
}
PROMPTS = {
    "Fix issue #12 please": "#12",
    "look at issue 12": "#12",
    "review PR #45.": "#45",
    "merge pull request 45, then stop": "#45",
    "fixes #7": "#7",
    "Run the tests. Then stop.\nClose #7": "#7",
    "do https://github.com/mira/shop/issues/12": "mira/shop#12",
    "Fix issue #12, https://github.com/mira/shop/issues/12": "mira/shop#12",
    "see https://gitlab.com/a/b/c/-/merge_requests/9": "a/b/c!9",
    "https://jira.example.com/browse/SHOP-12": "SHOP-12",
    "https://linear.app/mira/issue/SHOP-12/cart-total": "SHOP-12",
    "port mira/shop#12 to the app": "mira/shop#12",
    # Real prompts that name nothing.
    "[Image #1] Text should be aligned in the middle": None,
    "Technical Inventory and Optimization #6: Empty Result": None,
    "[Remediation] Phase 1: Planning error fixes (5 issues)": None,
    "queued: 35 issues (21 errors, 14 suggestions)": None,
    "Issues: 21 errors": None,
    "in the Remediation number #3 of the report": None,
    # Invented ones.
    "Even after fix #1, 5 of 8 files are missing": None,
    "fix issue 3 of the review": None,
    "issue 20 tokens to each user": None,
    "work on issue 12 of 30": None,
    "look at issues #12, and at issue #13": None,
    "issue #1 and issue #2": None,
    "make it issue #ff0000": None,
    "bug 12": None,
    "PR 1.5 is out": None,
    "https://example.com/pull/12": None,
    "encode it as UTF-8, GPT-4 style": None,
    "": None,
}
COMMITS = {
    'git commit -m "fix: total (#12)"': "#12",
    'git commit -m "Fixes #12"': "#12",
    "git add . && git commit -m 'closes: mira/shop#12'": "mira/shop#12",
    'git commit -m "SHOP-12: total"': "SHOP-12",
    "git commit -m \"$(cat <<'EOF'\nfix total\n\nRefs #12\nEOF\n)\"": "#12",
    "git commit -m \"$(cat <<'EOF'\nSHOP-12 fix total\nEOF\n)\"": "SHOP-12",
    'git commit -m "Release version 0.3.0"': None,
    'git commit -m "use GPT-5 and shrink-0, flex-1"': None,
    'git commit -m "UTF-8: names"': None,
    'git commit -m "fix #1 and fix #2"': None,
    'git commit -m "colour #123"': None,
    "git log -- fixes #12": None,
}


@pytest.mark.parametrize(("name", "task"), BRANCHES.items())
def test_a_branch_names_a_task(name: str, task: str | None) -> None:
    assert task_in_branch(name) == task


@pytest.mark.parametrize(("text", "task"), PROMPTS.items())
def test_a_prompt_names_a_task(text: str, task: str | None) -> None:
    assert task_in_prompt(text) == task


@pytest.mark.parametrize(("command", "task"), COMMITS.items())
def test_a_commit_names_a_task(command: str, task: str | None) -> None:
    assert task_in_commit(command) == task


def test_only_the_heading_of_a_plan_names_a_task() -> None:
    assert task_in_plan("Implement the following plan:\n\n# PR #1290 review\n\nfix #3") == "#1290"
    assert task_in_plan("# Reconnect storm\n\nPR #1359 is the cause") is None
    assert task_in_plan("no heading, PR #1359") is None


def test_an_address_names_a_task() -> None:
    assert task_at("https://github.com/mira/shop/pull/1232") == "mira/shop#1232"
    assert task_at("https://github.com/mira/shop") is None


@pytest.mark.parametrize("text", ["a/" * 50_000, "issue " * 50_000, "x" * 200_000, "[A-" * 50_000])
def test_a_long_text_takes_no_time(text: str) -> None:
    assert task_in_prompt(text) is task_in_commit(f"git commit {text}") is None
    assert task_in_branch(text) is None
