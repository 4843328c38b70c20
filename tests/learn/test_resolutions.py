"""What resolved an error: the change that is causally closest to it."""

from pathlib import Path

import pytest

from session_memory.learn.digest import ErrorSnippet, Resolution
from session_memory.learn.digest.command_parts import is_same_check, lead_of, parts_of
from session_memory.learn.digest.harmless import command_only_looks
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call
from session_memory.testing.codex import CodexHome, ran

from .sessions import analyzed, digest, digest_of_log

pytestmark = pytest.mark.only("sqlite")
APP = "/home/mira/code/app"
TSC = "src/a.ts(3,5): error TS2345: Argument of type 'undefined' for 'userName'."
LINT = "at src/a.ts:6:2 lint/style/useConst ━━━\n\n  × This let declares only assigned names.\n"
FORMAT = "src/b.ts format ━━━━━━\n\n  × Formatter would have printed the following content:\n"


@pytest.fixture
def log(claude: ClaudeHome) -> ClaudeLog:
    made = claude.session()
    made.prompt("do the work")
    return made


def errors_of(claude: ClaudeHome, log: ClaudeLog) -> dict[str, ErrorSnippet]:
    return {error.sample: error for error in digest_of_log(claude, log).error_snippets}


def only(claude: ClaudeHome, log: ClaudeLog) -> Resolution:
    (error,) = errors_of(claude, log).values()
    assert error.resolution is not None
    return error.resolution


def edit(log: ClaudeLog, name: str, old: str = "let x = 1", new: str = "let x = 2") -> None:
    log.answer(call("Edit", file_path=f"{APP}/{name}", old_string=old, new_string=new))
    log.result("updated")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("bun run lint", "cd web && bun run lint 2>&1 | tail -20"),
        ("pytest -q", "timeout 60 pytest -q > out.txt"),
        ("git commit -m 'one thing'", "rtk git commit -m 'another thing'"),
        ("python -m x", "uv run python3 -m x"),
        ("node --run check", "env PATH=/opt/bin fnm exec --using=24 node --run check"),
    ],
)
def test_the_same_check_is_recognized_whatever_is_around_it(one: str, other: str) -> None:
    assert is_same_check(parts_of(one)[0], parts_of(other)[0])


def test_checks_that_differ_are_not_the_same() -> None:
    assert not is_same_check(parts_of("bun run lint")[0], parts_of("bun run lint:fix")[0])
    long = "python run.py --with-a-very-long-option-name --and-another-one=yes --number "
    assert not is_same_check(parts_of(long + "1")[0], parts_of(long + "2")[0])


def test_an_edit_of_the_named_file_resolves_it_and_not_a_later_edit(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("bun run typecheck", TSC, exit_code=2)
    log.answer("The user name may be missing. I give it a default.")
    edit(log, "src/a.ts", "f(user.name)", "f(user.name ?? '')")
    edit(log, "README.md")
    log.run("cd /home/mira/code/app && bun run typecheck 2>&1 | tail", "")
    how = only(claude, log)
    assert (how.kind, how.text, how.certainty) == ("edit", f"{APP}/src/a.ts", "certain")
    assert how.lines == ("-f(user.name)", "+f(user.name ?? '')")
    assert how.said == "The user name may be missing. I give it a default."


def test_an_edit_that_did_not_help_is_not_the_resolution(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("bun run lint", LINT, exit_code=1)
    edit(log, "src/a.ts", "let x", "let y")
    log.run("bun run lint", LINT, exit_code=1)
    edit(log, "src/a.ts", "let y", "const x")
    log.run("bun run lint", "Checked 3 files")
    assert only(claude, log).lines == ("-let y", "+const x")


def test_a_formatter_resolves_what_it_formats_and_leaves_the_rest(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("bun run lint", LINT + FORMAT, exit_code=1)
    log.run("bun run lint:fix", LINT)  # Its exit status is 0, but the error is still there.
    edit(log, "src/a.ts", "let x", "const x")
    log.run("bun run lint", "Checked 3 files")
    found = errors_of(claude, log)
    kinds = {name.partition(":")[0]: error.resolution for name, error in found.items()}
    assert kinds["format"] is not None
    assert (kinds["format"].kind, kinds["format"].text) == ("command", "bun run lint:fix")
    assert kinds["lint/style/useConst"] is not None
    assert kinds["lint/style/useConst"].kind == "edit"


def test_a_hook_of_a_commit_runs_the_check_too(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.run("git commit -m 'add x'", f"{TSC}\nhusky - pre-commit script failed", exit_code=1)
    edit(log, "src/a.ts", "f(user.name)", "f(userName)")
    log.run("git add . && git commit -m 'add x, with a name'", "[main 1a2b3c4] add x")
    assert only(claude, log).kind == "edit"


def test_a_failure_behind_a_pipe_is_an_error(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.run("bun run lint 2>&1 | tail -20", LINT)
    log.run("git push 2>&1 | tail -5", "fatal: Authentication failed for 'https://x.example'")
    log.run("git push --set-upstream origin main 2>&1 | tail -5", "main -> main")
    found = errors_of(claude, log)
    pushed = found.pop("fatal: Authentication failed for 'https://x.example'").resolution
    assert pushed is not None
    assert pushed.text == "git push --set-upstream origin main 2>&1 | tail -5"
    assert [name.partition(":")[0] for name in found] == ["lint/style/useConst"]


def test_what_is_deleted_is_what_the_error_names(claude: ClaudeHome, log: ClaudeLog) -> None:
    message = "error: Cannot find module 'cheerio' from '/w/tmp/clones/eval-q6b9z3/x.test.ts'"
    log.run("git commit -m x", f'{message}\nerror: script "test" exited with code 1', exit_code=1)
    log.run("ls tmp/clones", "eval-q6b9z3")
    log.run("rm -rf tmp/clones/eval-q6b9z3", "")
    log.run("git status", "clean")
    log.run("git commit -m x", "[main 1a2b3c4] x")
    how = only(claude, log)
    assert (how.kind, how.text) == ("command", "rm -rf tmp/clones/eval-q6b9z3")


def test_the_changed_call_resolves_a_call_that_was_wrong(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("rtk bun run test", "error: unrecognized subcommand 'bun'", exit_code=2)
    log.run("bun run test", "3 pass\n0 fail")
    log.run("cat -A a.txt", "cat: illegal option -- A", exit_code=1)
    log.run("cat a.txt | od -c", "0000")
    found = errors_of(claude, log)
    how = found["error: unrecognized subcommand 'bun'"].resolution
    assert how is not None
    assert (how.kind, how.text) == ("instead", "bun run test")


def test_reading_another_file_resolves_nothing(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.run("cat src/missing.py", "cat: src/missing.py: No such file or directory", exit_code=1)
    log.run("cat src/other.py", "x = 1")
    assert [error.resolution for error in errors_of(claude, log).values()] == [None]


@pytest.mark.parametrize(
    ("command", "output", "status"),
    [
        ("grep -n x a.py", "", 1),
        ("make 2>&1 | grep error", "", 1),
        ("git diff --quiet", "", 1),
        ("sleep 100", "", 130),
        ("make", "<tool_use_error>Sibling tool call errored</tool_use_error>", 1),
        ("make", "Cancelled: parallel tool call Bash(x) errored", 1),
    ],
)
def test_no_match_a_stop_and_a_cancelled_call_are_no_errors(
    claude: ClaudeHome, log: ClaudeLog, command: str, output: str, status: int
) -> None:
    log.run(command, output, exit_code=status)
    assert errors_of(claude, log) == {}


def test_a_test_script_that_fails_is_not_an_answer_no(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.run("bun run test", "(fail) adds numbers [1ms]\n1 fail", exit_code=1)
    assert list(errors_of(claude, log)) == ["(fail) adds numbers [1ms]"]


def test_an_error_that_a_person_reports_is_resolved_by_what_follows(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("The tree is broken. Uncaught ContextError: useContext returned `undefined`")
    edit(log, "src/tree.tsx", "chakra", "ark")
    log.answer("Done.")
    log.prompt("thanks, now the docs")
    edit(log, "README.md")
    (error,) = digest_of_log(claude, log).error_snippets
    assert error.origin == "report"
    assert error.resolution is not None
    assert error.resolution.text == f"{APP}/src/tree.tsx"


@pytest.mark.parametrize(
    "words",
    [
        "We no longer need the second image.",
        "It doesn't make sense to put it in the policy, and it doesn't need any code.",
        "address the review and the failing checks",
        "Can we add that a warning is kept?",
        "+ // The lookup fails here (this should not happen)",
        "Ensure that reading is strict - fail if a key is unknown.",
    ],
)
def test_a_wish_that_denies_something_is_no_report(claude: ClaudeHome, words: str) -> None:
    log = claude.session()
    log.prompt(words)
    edit(log, "src/a.ts")
    log.answer("Done.")
    assert not errors_of(claude, log)


@pytest.mark.parametrize(
    "words",
    [
        "If the file is missing, answer `Error: no file` and stop.",
        "1. fail loudly 2. leave it alone",
        "Wenn der Bau einen Fehler hat, brich ab.",
    ],
)
def test_a_rule_is_no_report(claude: ClaudeHome, words: str) -> None:
    log = claude.session()
    log.prompt(words)
    edit(log, "src/a.ts")
    log.answer("Done.")
    assert not errors_of(claude, log)


def test_a_request_is_no_report(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("1) Read the plan. 2) Do not touch other files. Can errors leak secrets?")
    edit(log, "src/tree.tsx")
    assert digest_of_log(claude, log).error_snippets == ()


PLAN = (
    """Implement the following plan:

# Plan: Sort errors in the list

## Context

The list of carts shows errors and suggestions.
{problem}

- Bump the label (errors count) so that it does not wrap
- If a call fails, say so

"""
    + "More is in the design. " * 40
)


@pytest.mark.parametrize(
    ("problem", "reported"),
    [
        ("Every item has a rank.", []),
        ("The rank is not kept after a reload.", ["The rank is not kept after a reload."]),
    ],
)
def test_of_a_plan_only_a_sentence_that_says_what_is_wrong_is_a_report(
    claude: ClaudeHome, problem: str, reported: list[str]
) -> None:
    log = claude.session()
    log.prompt(PLAN.format(problem=problem))
    edit(log, "src/list.ts")
    assert list(errors_of(claude, log)) == reported


@pytest.mark.parametrize(
    ("command", "lead"),
    [
        ("corepack pnpm exec vitest run a.ts", ("vitest",)),
        ("fnm exec --using=24 -- corepack pnpm exec vitest run a", ("vitest",)),
        ("rtk bun run test", ("test",)),
        ("uv run pytest -q", ("pytest",)),
        ("pnpm test", ("pnpm", "test")),
        ("git push origin main", ("git", "push")),
        ("go run", ("go", "run")),
        ("make check", ("make",)),
    ],
)
def test_a_command_is_led_by_what_it_runs_not_by_what_starts_it(
    command: str, lead: tuple[str, ...]
) -> None:
    (part,) = parts_of(command)
    assert lead_of(part) == lead


def test_another_program_started_in_the_same_way_is_not_instead(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("corepack pnpm exec vitest run a", "Error: listen EPERM: not permitted", exit_code=1)
    log.run("corepack pnpm run format:check", "")
    (error,) = errors_of(claude, log).values()
    assert error.resolution is None


def test_the_same_call_that_fails_for_another_reason_did_not_work_later(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    for reason in ("HTTP/2 stream 1 was not closed cleanly", "Failed to connect to example.com"):
        log.answer(call("Bash", command="git push"))
        log.result(
            f"Exit code 128\nfatal: unable to access 'https://x.io/': {reason}", is_error=True
        )
    assert [one.resolution for one in errors_of(claude, log).values()] == [None, None]


def test_what_brings_a_branch_up_to_date_resolves_a_push_that_was_rejected(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.answer(call("Bash", command="git push origin main"))
    log.result("Exit code 1\n ! [rejected] main -> main (fetch first)", is_error=True)
    log.answer(call("Bash", command="git pull --rebase origin main"))
    log.result("Successfully rebased")
    log.answer(call("Bash", command="git push origin main"))
    log.result("To x.io:a.git\n   1..2  main -> main")
    how = only(claude, log)
    assert (how.kind, how.text, how.certainty) == (
        "command", "git pull --rebase origin main", "certain",
    )  # fmt: skip


def test_a_call_that_succeeds_in_any_case_resolves_nothing(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.answer(call("Bash", command="ls types/index.ts"))
    log.result("Exit code 1\nls: types/index.ts: No such file or directory", is_error=True)
    log.answer(call("Bash", command='ls app/types/index.ts 2>/dev/null || echo "not found"'))
    log.result("not found")
    (error,) = errors_of(claude, log).values()
    assert error.resolution is None


def test_another_script_is_not_the_same_one_again(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.answer(call("Bash", command="python -c 'import tomllib; tomllib.loads(settings)'"))
    log.result("Exit code 1\nNameError: name 'settings' is not defined", is_error=True)
    log.answer(call("Bash", command="python -c 'import sys; print(sys.executable)'"))
    log.result("/usr/bin/python3")
    (error,) = errors_of(claude, log).values()
    assert error.resolution is None


def test_an_edit_of_the_file_that_the_failed_call_was_given_resolves_it(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    check = "node -e \"JSON.parse(require('fs').readFileSync('package.json'))\""
    log.answer(call("Bash", command=check))
    log.result("Exit code 1\nSyntaxError: Unexpected token ']', ...", is_error=True)
    edit(log, "package.json", "},\n]", "}\n]")
    log.answer(call("Bash", command=f"{check[:-1]}; console.log('ok')\""))
    log.result("")
    how = only(claude, log)
    assert (how.kind, how.text) == ("edit", f"{APP}/package.json")


def test_a_failed_test_is_called_as_the_file_that_resolves_it(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.answer(call("Bash", command="bun run test"))
    log.result("Exit code 1\n(fail) prompt-maker > asks twice [0.5ms]\n 1 fail", is_error=True)
    edit(log, "src/prompt-maker.test.ts", "toBe(1)", "toBe(2)")
    edit(log, "docs/other.md", "one", "two")
    log.answer(call("Bash", command="bun run test"))
    log.result(" 12 pass\n 0 fail")
    assert only(claude, log).text == f"{APP}/src/prompt-maker.test.ts"


def test_an_answer_for_a_program_is_not_quoted(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.answer(call("Bash", command="python x.py"))
    log.result("Exit code 127\nbash: python: command not found", is_error=True)
    log.answer('{"outcome":"allow"}')
    log.answer(call("Bash", command="python3 x.py"))
    log.result("done")
    assert only(claude, log).said == ""


def test_another_patch_is_not_the_same_call_again(claude: ClaudeHome, log: ClaudeLog) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-{}\n+z\n*** End Patch"
    call_it = f"apply_patch <<'PATCH'\n{patch}\nPATCH"
    log.run(call_it.format("x"), 'error: Failed to find expected lines ["x"]', exit_code=1)
    log.run(call_it.format("y"), "Success. Updated the following files:\nM a.py")
    (error,) = errors_of(claude, log).values()
    assert error.resolution is None or error.resolution.kind != "again"


def test_what_a_shell_could_not_read_is_an_error_of_a_search_too(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run('rg -n "tour|`x" README.md', 'zsh:1: unmatched "', exit_code=1)
    log.run("rg -n nothing README.md", "", exit_code=1)
    log.run("git diff -- README.md", "+a line")
    (error,) = errors_of(claude, log).values()
    assert error.sample == 'zsh:1: unmatched "'
    assert error.resolution is None  # Another look at the same file is no correction.


def test_a_search_without_its_quoting_mistake_resolves_the_mistake(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run('rg -n "tour|`x" README.md', 'zsh:1: unmatched "', exit_code=1)
    log.run("rg -n 'tour|`x' README.md", "3: a tour")
    assert only(claude, log).text == "rg -n 'tour|`x' README.md"


def test_a_program_that_was_allowed_to_run_got_further(claude: ClaudeHome, log: ClaudeLog) -> None:
    check = "mise run lint:gofmt && mise run test"
    said = "mise ERROR Config files in ~/app/mise.toml are not trusted."
    log.run(check, said, exit_code=1)
    log.run(f"mise trust -y mise.toml && {check}", "FAIL: a_test.go:3: got 1, want 2", exit_code=1)
    edit(log, "mise.toml", "go = '1.26.2'", "go = '1.26.3'")
    log.run(check, "ok")
    how = errors_of(claude, log)[said].resolution
    assert how is not None
    assert (how.kind, how.text) == ("instead", f"mise trust -y mise.toml && {check}")


def test_the_permission_that_a_script_of_codex_asks_for_is_what_resolved_it(
    tmp_path: Path,
) -> None:
    codex = CodexHome(tmp_path / "home")
    log = codex.session("s1")
    log.turn("run the tests")
    call_in_script = 'const r = await tools.exec_command({{"cmd":"pnpm test"{}}});\ntext(r.output);'
    log.custom("exec", call_in_script.format(""))
    log.result(ran(1, "Error: listen EPERM: operation not permitted 127.0.0.1"))
    log.custom("exec", call_in_script.format(',"sandbox_permissions":"require_escalated"'))
    log.result(ran(0, "12 passed"))
    with analyzed(codex.write()) as store:
        (error,) = digest(store, log.uid).error_snippets
    assert error.resolution is not None
    assert error.resolution.kind == "instead"
    assert error.resolution.text == "pnpm test (sandbox_permissions=require_escalated)"


def test_waiting_for_a_call_that_failed_without_a_word_is_no_error(tmp_path: Path) -> None:
    codex = CodexHome(tmp_path / "home")
    log = codex.session("s1")
    log.turn("run the tests")
    log.call("write_stdin", session_id=7, chars="")
    log.result(ran(1, ""))
    with analyzed(codex.write()) as store:
        assert digest(store, log.uid).error_snippets == ()


def still_running(session: int, output: str = "") -> str:
    head = f"Chunk ID: 1a2b3c\nWall time: 10.0 seconds\nProcess running with session ID {session}"
    return f"{head}\nOriginal token count: 3\nOutput:\n{output}"


def test_what_a_poll_shows_belongs_to_the_command_that_it_asks_for(tmp_path: Path) -> None:
    codex = CodexHome(tmp_path / "home")
    log = codex.session("s1")
    log.turn("make the types right")
    log.call("exec_command", cmd="pnpm typecheck")
    log.result(still_running(71))
    log.call("exec_command", cmd="git status --short")
    log.result(ran(0, " M src/a.ts"))
    log.call("write_stdin", session_id=71, chars="")
    log.result(ran(2, TSC))
    log.custom(
        "apply_patch", "*** Begin Patch\n*** Update File: src/a.ts\n@@\n-a\n+b\n*** End Patch"
    )
    log.result(ran(0, "Success. Updated the following files:\nM src/a.ts"))
    log.call("exec_command", cmd="pnpm typecheck")
    log.result(still_running(72))
    log.call("exec_command", cmd="pnpm lint")
    log.result(ran(0))
    log.call("write_stdin", session_id=72, chars="")
    log.result(ran(0))
    with analyzed(codex.write()) as store:
        (error,) = digest(store, log.uid).error_snippets
    assert (error.call, error.count) == ("pnpm typecheck", 1)
    assert error.resolution is not None
    assert (error.resolution.kind, error.resolution.passed) == ("edit", "pnpm typecheck")


def test_a_command_that_still_runs_resolves_nothing_but_a_mistake_in_the_call(
    tmp_path: Path,
) -> None:
    codex = CodexHome(tmp_path / "home")
    log = codex.session("s1")
    log.turn("build it")
    log.call("exec_command", cmd="make dcos")
    log.result(ran(2, "make: *** No rule to make target `dcos'.  Stop."))
    log.call("exec_command", cmd="make typecheck")
    log.result(ran(2, TSC))
    log.call("exec_command", cmd="make docs")
    log.result(still_running(73))
    log.call("exec_command", cmd="make typecheck")
    log.result(still_running(74))
    with analyzed(codex.write()) as store:
        found = {error.call: error.resolution for error in digest(store, log.uid).error_snippets}
    assert found["make typecheck"] is None
    assert found["make dcos"] is not None
    assert found["make dcos"].text == "make docs"


def test_a_poll_without_a_known_id_belongs_to_the_call_before_it(tmp_path: Path) -> None:
    codex = CodexHome(tmp_path / "home")
    log = codex.session("s1")
    log.turn("check it")
    log.custom("exec", 'const r = await tools.exec_command({"cmd":"pnpm lint"}); text(r.output);')
    log.result("Script completed\nWall time 10.0 seconds\nOutput:\n")
    log.custom("exec", "const r = await tools.write_stdin({session_id: 9}); text(r.output);")
    log.result(f"Script completed\nWall time 1.0 seconds\nOutput:\n{LINT}")
    with analyzed(codex.write()) as store:
        (error,) = digest(store, log.uid).error_snippets
    assert error.call == "pnpm lint"


GO = "--- FAIL: TestTotal (0.00s)\n    cart_test.go:12: got 3, want 4\n"


@pytest.mark.parametrize(
    "later",
    [
        "go test ./... -run TestTax",
        "git stash && go test ./...",
        "git worktree add /tmp/main main && cd /tmp/main && go test ./...",
    ],
)
def test_what_does_not_run_the_failed_test_with_the_change_resolves_nothing(
    claude: ClaudeHome, log: ClaudeLog, later: str
) -> None:
    log.run("go test ./...", GO, exit_code=1)
    edit(log, "cart.go")
    log.run(later, "ok  shop 0.1s")
    assert [error.resolution for error in errors_of(claude, log).values()] == [None]


def test_a_run_of_the_failed_test_alone_shows_that_an_edit_resolved_it(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("go test ./... -run 'TestTax|TestTotal'", GO, exit_code=1)
    edit(log, "cart.go")
    log.run("go test ./... -run TestTotal -v", "--- PASS: TestTotal\nok  shop 0.1s")
    assert only(claude, log).kind == "edit"


@pytest.mark.parametrize(
    ("failed", "error", "later"),
    [
        # Another file, another subcommand, another call than the one that was not allowed.
        ("rg -n 'sort' lib", "rg: lib: No such file or directory", "sed -n '1,20p' README.md"),
        ("rg -n 'sort' a.md lib", "rg: lib: No such file or directory", "sed -n '1,2p' a.md"),
        ("issues ready --short", "Error: unknown flag: --short", "issues create --title 'Sort it'"),
        (
            "kubectl get secret pull -n shop -o yaml",
            "Permission for this action was denied by the Claude Code auto mode classifier.",
            "kubectl get svc -A",
        ),
    ],
)
def test_a_call_that_does_something_else_replaces_none(
    claude: ClaudeHome, log: ClaudeLog, failed: str, error: str, later: str
) -> None:
    log.run(failed, error, exit_code=2)
    log.run(later, "some text")
    assert [error.resolution for error in errors_of(claude, log).values()] == [None]


@pytest.mark.parametrize(
    ("failed", "error", "later"),
    [
        (
            "rg -n 'sort' cart.ts",
            "rg: cart.ts: No such file or directory",
            "rg -n sort src/cart.ts",
        ),
        ("issues ready --short", "Error: unknown flag: --short", "issues ready"),
        ("issues lst", "Error: unknown command 'lst'", "issues list"),
        ("gh api a/b?ref=x", "zsh:1: no matches found: a/b?ref=x", "gh api 'a/b?ref=x'"),
        (
            "git rebase --continue",
            "error: There was a problem with the editor 'editor'.",
            "GIT_EDITOR=true git rebase --continue",
        ),
    ],
)
def test_the_call_that_does_the_same_in_another_way_is_instead(
    claude: ClaudeHome, log: ClaudeLog, failed: str, error: str, later: str
) -> None:
    log.run(failed, error, exit_code=2)
    log.run(later, "some text")
    how = only(claude, log)
    assert (how.kind, how.text) == ("instead", later)


def test_a_command_that_only_lists_or_tells_git_resolves_no_failed_check(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("bun run typecheck", TSC, exit_code=2)
    log.run("git branch -a", "* main")
    edit(log, "src/a.ts", "f(user.name)", "f(user.name ?? '')")
    log.run("git add src/a.ts && git status --short", "M  src/a.ts")
    log.run("bun run typecheck", "")
    assert only(claude, log).kind == "edit"


def test_a_verbose_run_of_tests_is_more_than_a_look() -> None:
    assert not command_only_looks("go test -v ./...")
    assert not command_only_looks("kubectl -n shop exec deploy/app -- reload")
    assert command_only_looks("node -v")
    assert command_only_looks("make -n all")


def test_reading_a_file_in_a_shell_resolves_a_patch_that_did_not_fit(tmp_path: Path) -> None:
    codex = CodexHome(tmp_path / "home")
    log = codex.session("s1")
    log.turn("change it")
    patch = "*** Begin Patch\\n*** Update File: src/a.ts\\n@@\\n-{}\\n+b\\n*** End Patch"
    other = patch.replace("src/a.ts", "src/other.ts")
    failed = "Script failed\nWall time 0.0 seconds\nOutput:\n\nScript error:\n{}"
    log.custom("exec", f'text(await tools.apply_patch("{patch.format("x")}"));')
    log.result(failed.format("apply_patch verification failed: Failed to find expected lines"))
    log.custom("exec", f'text(await tools.apply_patch("{other.format("y")}"));')
    log.result("Script completed\nWall time 0.1 seconds\nOutput:\nSuccess.")
    log.custom("exec", """const r = await tools.exec_command({"cmd":"sed -n 1,9p src/a.ts"});""")
    log.result(ran(0, "a"))
    log.custom("exec", f'text(await tools.apply_patch("{patch.format("a")}"));')
    log.result("Script completed\nWall time 0.1 seconds\nOutput:\nSuccess.")
    with analyzed(codex.write()) as store:
        (error,) = digest(store, log.uid).error_snippets
    assert error.resolution is not None
    assert (error.resolution.kind, error.resolution.text) == ("look", "the same file")


def test_a_script_that_the_agent_wrote_for_itself_resolves_only_its_own_errors(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    aside = {"file_path": "/tmp/x/scratchpad/probe.ts", "old_string": "userName", "new_string": "a"}
    log.run("bun run typecheck", TSC, exit_code=2)
    edit(log, "src/a.ts", "f(user.name)", "f(user.name ?? '')")
    log.answer(call("Edit", **aside))
    log.result("updated")
    log.run("bun run typecheck", "")
    assert only(claude, log).text == f"{APP}/src/a.ts"
