"""What only seems to resolve an error is not named, and what does is found behind it."""

import pytest

from session_memory.derive.detecting import simple_commands
from session_memory.learn.digest import ErrorSnippet, Resolution
from session_memory.learn.digest.carried_commands import carried_commands
from session_memory.learn.digest.command_parts import Part, is_same_check, lead_of, parts_of
from session_memory.learn.digest.error_lines import error_lines
from session_memory.learn.digest.filtered_output import cuts_output, filters_out
from session_memory.learn.digest.harmless import command_only_looks
from session_memory.learn.digest.output_errors import errors_in_output
from session_memory.learn.digest.shell_files import (
    is_elsewhere,
    names_file,
    place_of,
    written_files,
)
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call

from .sessions import digest_of_log

pytestmark = pytest.mark.only("sqlite")
APP = "/home/mira/code/shop"
TSC = "src/cart.ts(3,5): error TS2345: Argument of type 'undefined' for 'basketName'."


@pytest.fixture
def log(claude: ClaudeHome) -> ClaudeLog:
    made = claude.session()
    made.prompt("do the work")
    return made


def errors_of(claude: ClaudeHome, log: ClaudeLog) -> dict[str, ErrorSnippet]:
    return {error.sample: error for error in digest_of_log(claude, log).error_snippets}


def only(claude: ClaudeHome, log: ClaudeLog) -> Resolution | None:
    """Return the resolution of the first error."""
    return next(iter(errors_of(claude, log).values())).resolution


def edit(log: ClaudeLog, name: str, old: str = "let x = 1", new: str = "let x = 2") -> None:
    log.answer(call("Edit", file_path=f"{APP}/{name}", old_string=old, new_string=new))
    log.result("updated")


# Commands that another command carries


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        ("ssh -p 22 mira@shop.example 'cd /srv && make deploy'", ["cd", "make"]),
        ("docker exec -u root db psql -l", ["psql"]),
        ("docker compose exec -T web sh -c 'npm test'", ["npm"]),
        ("kubectl exec -n shop web-0 -- ls /app", ["ls"]),
        ('powershell.exe -NoProfile -Command "git push"', ["git"]),
        ("ssh shop.example", ["ssh"]),
        ("make deploy", ["make"]),
    ],
)
def test_a_command_that_another_one_carries_counts(text: str, carried: list[str]) -> None:
    (command,) = simple_commands(text)
    assert [words[0] for words in carried_commands(command)] == carried


def test_two_commands_on_one_host_are_not_the_same_check(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("ssh shop.example 'systemctl reload web'", "Error: unit web is masked", exit_code=1)
    log.run("ssh shop.example 'rm /var/log/web/old.gz'", "")
    log.run("ssh shop.example 'tar czf b.tgz /srv/data'", "")
    assert only(claude, log) is None
    assert not is_same_check(
        parts_of("docker exec db psql -l")[0], parts_of("docker exec db ls")[0]
    )


@pytest.mark.parametrize(
    "command",
    [
        "ssh shop.example 'ps aux | grep worker'",
        "ssh shop.example journalctl -u web",
        "docker compose -f prod.yml ps",
        "systemctl status web",
        "Get-Content a.log | Select-Object -First 5",
    ],
)
def test_a_look_at_another_machine_is_a_look(command: str) -> None:
    assert command_only_looks(command)


def test_a_change_on_another_machine_is_no_look() -> None:
    assert not command_only_looks("ssh shop.example 'rm -r /srv/old'")


def test_a_command_with_only_options_has_no_lead() -> None:
    assert lead_of(Part(("env", "--version"))) == lead_of(Part(("--version",))) == ()


# Success that shows nothing


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("/w/shop/web", "/w/shop/api", True),
        ("/w/shop", "/w/shop/api", False),
        ("web", "api", True),
        ("/w/shop", "api", False),
        ("", "api", False),
        ("$ROOT/web", "/w/shop/api", False),
    ],
)
def test_directories_are_compared(one: str, other: str, apart: bool) -> None:
    assert is_elsewhere(one, other) is is_elsewhere(other, one) is apart


def test_the_place_of_a_text_is_the_directory_it_changes_to() -> None:
    assert place_of("cd web && make lint") == "web"
    assert place_of("make lint") == place_of("cd web; make; cd ../api; make") == ""


def test_the_same_check_of_another_part_resolves_nothing(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run(f"cd {APP}/web && npx tsc --noEmit", TSC, exit_code=2)
    edit(log, "api/cart.ts")
    log.run(f"cd {APP}/api && npx tsc --noEmit", "")
    assert only(claude, log) is None


@pytest.mark.parametrize(
    ("command", "hidden"),
    [
        ("npx tsc | grep -v TS2345", True),
        ("npx tsc | grep checkout.ts", True),
        ("npx tsc | grep src/cart.ts", False),
        ("npx tsc | grep error", False),
        ("npx tsc | grep -c '['", False),
        ("npx tsc | grep '[[:digit:]] x'", False),
        ("npx tsc; grep checkout.ts notes.txt", False),
        ("npx tsc", False),
    ],
)
def test_a_search_in_an_output_may_hide_the_error(command: str, hidden: bool) -> None:
    assert filters_out(command, TSC) is hidden


def test_a_success_behind_a_search_for_something_else_resolves_nothing(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("npx tsc --noEmit", TSC, exit_code=2)
    edit(log, "src/checkout.ts")
    log.run("npx tsc --noEmit | grep checkout.ts", "")
    assert only(claude, log) is None


def test_an_error_that_is_still_printed_is_not_resolved(claude: ClaudeHome, log: ClaudeLog) -> None:
    message = "The basket of this customer could not be opened for writing"
    log.run("./tally --all", f"Error: {message}", exit_code=1)
    edit(log, "src/tally.c")
    log.run("./tally --all | tail -3", f"note: 1 old\nError: {message}\n12 of 13 done")
    assert only(claude, log) is None


def test_a_cut_output_is_known() -> None:
    assert cuts_output("make lint 2>&1 | tail -5")
    assert not cuts_output("make lint") and not cuts_output("make lint | sort")


def test_a_longer_name_and_a_text_in_a_heredoc_do_not_name_a_file() -> None:
    assert names_file("cat conf/shop.toml", "shop.toml")
    assert not names_file("cat conf/shop.toml.bak", "shop.toml")
    assert not names_file("cat > notes.txt <<'EOF'\nsee shop.toml\nEOF", "shop.toml")


def test_a_text_that_only_mentions_a_missing_file_resolves_nothing(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("cat conf/shop.toml", "cat: conf/shop.toml: No such file or directory", exit_code=1)
    log.run("cat > notes.txt <<'EOF'\nshop.toml is missing\nEOF", "")
    log.run("grep -rn 'shop.toml' .", "")
    assert only(claude, log) is None


def test_another_subcommand_behind_the_first_is_another_call(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("docker compose up -d web", "Error: permission denied for /srv/shop", exit_code=1)
    log.run("docker compose build --pull api worker", "built")
    assert only(claude, log) is None


def test_checks_that_still_run_are_no_error(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.run("gh pr checks 12", "build\tpending\t0\thttps://x.example", exit_code=8)
    assert errors_of(claude, log) == {}


def test_a_tool_that_was_not_allowed_is_not_resolved_by_another_call(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("make deploy", "Tool use was denied: make is not on the list", exit_code=1)
    log.run("make clean docs", "ok")
    assert only(claude, log) is None


# Changes that cannot be the cause


def test_documents_and_tests_beside_the_change_are_left_out(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("The list is broken. Uncaught TypeError: basket is undefined")
    edit(log, "src/list.tsx", "basket.id", "basket?.id")
    edit(log, "docs/list.md")
    edit(log, "tests/list.test.tsx")
    log.answer("Done.")
    how = only(claude, log)
    assert how is not None
    assert (how.kind, how.text) == ("edit", f"{APP}/src/list.tsx")


def test_a_document_that_the_error_does_not_name_is_not_the_change(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("./tally --all", "tally: could not parse the ledger", exit_code=1)
    edit(log, "README.md")
    log.run("./tally --all", "12 done")
    assert only(claude, log) is None


def test_the_command_that_the_program_advises_resolves_it(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run(
        "git commit -m 'add carts'",
        "error: the client is older than the schema\nRun pnpm client:make and stage the changes",
        exit_code=1,
    )
    edit(log, "src/other.ts")
    log.run("pnpm client:make && git add -A", "made")
    log.run("git commit -m 'add carts'", "[main 1a2b3c4] add carts")
    how = only(claude, log)
    assert how is not None
    assert (how.kind, how.text) == ("command", "pnpm client:make && git add -A")


def test_an_edit_of_the_file_in_the_error_beats_the_other_words_of_the_call(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run(
        "git add data/",
        "error: The following paths are ignored by one of your .gitignore files: data",
        exit_code=1,
    )
    edit(log, ".gitignore", "data/", "data/raw/")
    log.run("git add data/ .gitignore", "")
    how = only(claude, log)
    assert how is not None
    assert (how.kind, how.text) == ("edit", f"{APP}/.gitignore")


def test_a_script_that_stops_at_another_error_ends_the_first(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("python tally.py", "KeyError: 'basket'", exit_code=1)
    edit(log, "tally.py", "row['basket']", "row.get('basket')")
    log.run("python tally.py", "ZeroDivisionError: division by zero", exit_code=1)
    found = errors_of(claude, log)
    how = found["KeyError: 'basket'"].resolution
    assert how is not None and how.text == f"{APP}/tally.py"
    assert found["ZeroDivisionError: division by zero"].resolution is None


def test_the_file_of_an_exception_is_the_last_one_of_the_project() -> None:
    (error,) = error_lines(
        "Traceback (most recent call last):\n"
        '  File "/w/shop/run.py", line 3, in <module>\n'
        '  File "/w/shop/tally.py", line 9, in add\n'
        '  File "/usr/lib/python3.13/json/decoder.py", line 1, in decode\n'
        "ValueError: no basket"
    )
    assert error.path == "/w/shop/tally.py"


def test_again_needs_that_nothing_else_was_done(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.run("./tally --all", "tally: could not parse the ledger", exit_code=1)
    log.run("./tally --all", "12 done")
    how = only(claude, log)
    assert how is not None and how.kind == "again"


def test_of_several_commands_none_of_which_fits_none_is_named(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("./tally --all", "tally: could not parse the ledger", exit_code=1)
    log.run("mkdir -p out", "")
    log.run("rm -rf cache", "")
    log.run("./tally --all", "12 done")
    assert only(claude, log) is None


def test_another_inline_script_is_not_the_call_in_other_words(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run(
        "sqlite3 shop.db 'select basket from orders'", "Error: no such column: basket", exit_code=1
    )
    log.run("sqlite3 shop.db 'select count(rowid) from customers'", "12")
    assert only(claude, log) is None


def test_a_script_in_the_command_is_not_another_try_of_a_script_in_a_file(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("python3 fill_shop.py", "Error: the connection timed out", exit_code=1)
    log.run("python3 -c 'import shop; print(shop.name)'", "basket")
    assert only(claude, log) is None


def test_a_missing_file_came_back_with_a_command(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.answer(call("Edit", file_path=f"{APP}/a.ts", old_string="x", new_string="y"))
    log.result("File does not exist.", is_error=True)
    log.run("git checkout main -- a.ts", "")
    edit(log, "a.ts")
    how = only(claude, log)
    assert how is not None
    assert (how.kind, how.text) == ("command", "git checkout main -- a.ts")


def test_what_a_redirection_writes_may_be_what_the_error_names(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    assert written_files("ssh shop.example 'echo a > /etc/shop.conf'") == {"shop.conf"}
    assert written_files("make 2> /dev/null") == written_files("make") == frozenset()
    log.run("./tally", "tally: could not parse ledger.cfg", exit_code=1)
    log.run("printf 'a=1' > ledger.cfg", "")
    log.run("./tally", "12 done")
    how = only(claude, log)
    assert how is not None and how.text == "printf 'a=1' > ledger.cfg"


# What is no error or no report


@pytest.mark.parametrize(
    "words",
    [
        "That line in the log is not an error, go on.",
        "Note: If the file does not exist, make it.",
        "Don't leave out the cases that fail.",
        "Remember: when a test fails, stop.",
    ],
)
def test_a_rule_and_a_denial_are_no_reports(claude: ClaudeHome, words: str) -> None:
    log = claude.session()
    log.prompt(words)
    edit(log, "src/a.ts")
    log.answer("Done.")
    assert not errors_of(claude, log)


def test_a_failed_test_of_playwright_is_named() -> None:
    line = "1) [chromium] › tests/cart.spec.ts:12:3 › Cart › adds a basket ─────"
    (error,) = error_lines(line)
    assert (error.tool, error.path) == ("playwright", "tests/cart.spec.ts")
    assert error.text.endswith("Cart › adds a basket")
    (error, *_) = error_lines(f"{line}\n\n    Error: expect(received).toBe(expected)\n")
    assert error.text == "Cart › adds a basket: Error: expect(received).toBe(expected)"


def test_banners_and_bare_numbers_are_no_errors() -> None:
    shown = errors_in_output("Ubuntu 24.04.1 LTS\nLast login: Mon\n", failed=True)
    assert [error.text for error in shown if "Ubuntu" in error.text] == []
    assert errors_in_output("12 34\n", failed=True) == []
    shown = errors_in_output("x Expected a brace\nCaused by:\n    Syntax Error\n", failed=True)
    assert [error.text for error in shown if "Syntax" in error.text] == []
    assert error_lines("The curves ECIES, ECDSA and others are kept") == []


def test_a_pattern_of_a_log_is_not_run() -> None:
    """As a regular expression, this one would take longer than the universe has existed."""
    assert not filters_out("tsc | grep -E '(a+)+$'", f"{'a' * 60}!")
    assert filters_out("tsc | grep cart", "src/order.ts(3,1): TS2322: Type 'string' is wrong")
    assert filters_out("tsc | grep -v 'TS2322\\|TS2345'", "TS2345: Argument is wrong")
    assert not filters_out("tsc | grep -i ERROR", "error TS2345: Argument is wrong")


@pytest.mark.parametrize("text", ["ssh " * 5000, "ssh h " * 5000, 'ssh h "' * 5000])
def test_calls_in_calls_without_end_are_read(text: str) -> None:
    assert len(parts_of(text)) <= 40
    assert not command_only_looks(text)
