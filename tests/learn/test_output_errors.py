"""What the output of a failed command says, and what only looks like an error."""

import pytest

from session_memory.learn.digest.error_lines import telling_line
from session_memory.learn.digest.output_errors import errors_in_output, was_stopped


def said(text: str) -> list[str]:
    return [error.text for error in errors_in_output(text, failed=True)]


@pytest.mark.parametrize(
    "text",
    [
        "=== go ===\nok  \texample.com/sts\t0.308s\n=== files ===\n-rw-r--r-- 1 a b 9 x.yml",
        '=== package.json ===\n3:  "version": "0.5.0",\n=== other.json ===',
        "README.md:52:/explain src/auth.ts\nskills/a/SKILL.md:2:name: a",
        "total 0.41s",
    ],
)
def test_what_a_search_or_a_list_found_and_times_are_no_errors(text: str) -> None:
    assert said(text)[:1] in ([], ["total 0.41s"])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "[fmt] $ gofmt -w .\n[lint:go] $ golangci-lint run\n"
            "[lint:go] a/a.go:7:2: ST1005: error strings should not be capitalized (staticcheck)\n"
            "[lint:go] ERROR task failed",
            "a/a.go:7:2: ST1005: error strings should not be capitalized (staticcheck)",
        ),
        (
            "web:build: > tsc\nweb:build: src/a.ts(1,2): error TS2304: Cannot find name 'b'.\n"
            "web:build: ELIFECYCLE Command failed",
            "src/a.ts(1,2): error TS2304: Cannot find name 'b'.",
        ),
        (
            "db-1   | ready\nweb-1  | starting\nweb-1  | Error: listen EADDRINUSE: port 80",
            "Error: listen EADDRINUSE: port 80",
        ),
        (
            "#8 [4/6] RUN npm ci\n#8 1.2 npm error code ERESOLVE\n#8 1.2 npm error no way",
            "npm error code ERESOLVE",
        ),
    ],
)
def test_the_name_of_a_task_is_no_part_of_its_errors(text: str, line: str) -> None:
    assert said(text)[0] == line


def test_a_file_before_each_line_is_no_name_of_a_task() -> None:
    text = "a/a.go:7:2: undefined: x\na/a.go:8:2: undefined: y\na/b.go:1:1: undefined: z"
    assert said(text)[0] == "a/a.go:7:2: undefined: x"


@pytest.mark.parametrize(
    "text",
    [
        "failed in sandbox MacosSeatbelt with execution error: sandbox denied exec error,"
        " exit code: 101, stdout: , stderr: error[E0616]: field `a` of struct `B` is private",
        'Denied { output: ExecToolCallOutput { exit_code: 128, stdout: StreamOutput { text: "",'
        ' truncated_after_lines: None }, stderr: StreamOutput { text: "error[E0616]: field `a` of'
        ' struct `B` is private\\n", truncated_after_lines: None } } }',
    ],
)
def test_what_a_sandbox_wrapped_is_read(text: str) -> None:
    assert said(text) == ["error[E0616]: field `a` of struct `B` is private"]


def test_a_word_such_as_unknown_at_the_start_tells_more_than_the_status() -> None:
    fields = "\n".join(f"  field{number}" for number in range(40))
    assert said(f'Unknown JSON field: "threads"\nAvailable fields:\n{fields}') == [
        'Unknown JSON field: "threads"'
    ]


def test_what_tests_print_while_they_run_is_not_the_error_that_a_filter_cut_off() -> None:
    assert said("[Repository] Deleted entry 3\n 1218 pass\n 1 fail\nRan 1219 tests.") == []
    assert said("[Repository] Entry 3 is locked") == ["[Repository] Entry 3 is locked"]


def test_what_a_script_says_has_failed_is_an_error_and_the_name_of_a_call_is_none() -> None:
    assert said("FAILED: old string not found") == ["FAILED: old string not found"]
    assert said("FAILED: git commit\nzonal: no quota left") == ["zonal: no quota left"]


def test_a_call_that_was_skipped_for_a_message_of_the_person_is_no_error() -> None:
    said = "Skipped due to queued user message. Do not count this skipped result as completed work."
    assert was_stopped(said)
    assert not was_stopped("Skipped 3 tests because of a missing browser")


@pytest.mark.parametrize(
    "text",
    [
        "(no output)",
        "Lint\tpass\t12s\thttps://ci.example/1\nTest\tpending\t0\thttps://ci.example/2",
        '+ .with_context(|| format!("failed to read {}", path))',
        "error: found 2 errors",
    ],
)
def test_states_diffs_and_empty_outputs_are_no_errors(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    "start",
    [
        "/opt/homebrew/Library/Homebrew/cmd/shellenv.sh: line 18: /bin/ps: Operation not permitted",
        "/home/mira/.profile: line 6: compdef: command not found",
        "/opt/conda/etc/profile.d/conda.sh:48: defining function based on alias `conda'\n"
        "/opt/conda/etc/profile.d/conda.sh:48: parse error near `()'\n"
        "(eval):1: defining function based on alias `conda'\n(eval):1: parse error near `()'",
    ],
)
def test_what_the_files_of_a_starting_shell_print_is_no_error_of_the_command(start: str) -> None:
    assert said(start) == []
    error = "cat: a.txt: No such file or directory"
    assert said(f"{start}\n{error}") == [error]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "On branch main\nYour branch is up to date with 'origin/main'.\n"
            "nothing to commit, working tree clean",
            "nothing to commit, working tree clean",
        ),
        ("./src/a.tsx\nthe props are wrong", "the props are wrong"),
        ("./src/a.tsx", "./src/a.tsx"),
    ],
)
def test_a_branch_and_the_name_of_a_file_say_nothing_about_the_error(text: str, line: str) -> None:
    assert telling_line(text) == line
