"""How sessions ended, and the events that prove it."""

import json
from pathlib import Path

import pytest

from session_memory.core.schema import Attempt, Entry
from session_memory.live.skill_log import SkillLog
from session_memory.testing.claude import ClaudeHome, call
from session_memory.testing.codex import CodexHome

from .sessions import analyzed, digest, digest_of_log, outcome_of

TESTS = "python3 -B -m pytest -q"
ANSWERED = [("success", "answered", [""])]
UNVERIFIED = [("success", "unverified", [""])]
UNITTEST = ("success", "tests", ["unittest test_calc", "OK"])
# What the scripts did: of every session, in the order of their uids.
EXPECTED: dict[str, list[tuple[str, str, list[str]]]] = {
    "basic": [("success", "tests", [TESTS, "1 passed"])],
    "resume": [("success", "tests", [TESTS, "1 passed"])],
    "denied": [("fail", "error", ["Claude requested permissions", "File does not exist"])],
    "err529_retry": ANSWERED,
    "err500_retry": ANSWERED,
    "interrupt": ANSWERED,
    "autocompact": ANSWERED,
    "codemode": UNVERIFIED,
    "aider/basic": 7 * ANSWERED,
    "claude/subagent": 3 * ANSWERED,
    "cursor/basic": [("abandoned", "interrupted", ["aborted"]), *ANSWERED, *ANSWERED],
    "codex/subagent": [*ANSWERED, *ANSWERED, ("fail", "error", ["ls: cannot access"])],
    "droid/fork": [*ANSWERED, UNITTEST],
    "amp/thread": [UNITTEST],
    "cline/basic": [UNITTEST],
    "cline/subagent": 3 * ANSWERED,
    "gemini/document": [UNITTEST],
    "opencode/subagent": [("fail", "error", [""]), *ANSWERED, *ANSWERED],
    "roo/task": [UNITTEST],
    "kimi/fork": [UNITTEST, *ANSWERED],
    "kimi/old_interrupt": [("abandoned", "interrupted", [""])],
    "kimi/subagent": 3 * ANSWERED,
    "vibe/interrupt": ANSWERED,
    "pi/fork": [("success", "tests", [TESTS, "1 passed"]), *ANSWERED],
    "grok/subagent": [*ANSWERED, *ANSWERED, ("fail", "error", ["Error: "])],
}


def test_the_scripted_sessions_end_as_their_scripts_say(sample: Path) -> None:
    agent = json.loads((sample / "EXPECTED.json").read_text())["agent"]
    wanted = EXPECTED.get(f"{agent}/{sample.name}") or EXPECTED[sample.name]
    with analyzed(sample / "home") as store:
        found = [outcome_of(store, uid) for uid in store.sessions.uids()]
        sessions = [store.sessions.get(uid) for uid in store.sessions.uids()]
        digests = [digest(store, uid) for uid in store.sessions.uids()]
    assert [one[:2] for one in found] == [one[:2] for one in wanted]
    for (_, _, proofs), (_, _, beginnings) in zip(found, wanted, strict=True):
        assert len(proofs) == len(beginnings)
        for proof, beginning in zip(proofs, beginnings, strict=True):
            assert beginning in proof
    for session, known in zip(sessions, digests, strict=True):
        assert session is not None and session.is_evictable
        assert (session.outcome, session.outcome_evidence) == (
            known.outcome.outcome,
            known.outcome.evidence,
        )


def ended(claude: ClaudeHome, *steps: str) -> tuple[str, str]:
    """A session of named steps, and how it is judged."""
    log = claude.session()
    log.prompt("make it work")
    log.answer("I look.")
    for step in steps:
        match step.partition(":")[::2]:
            case "say", words:
                log.prompt(words)
            case "answer", words:
                log.answer(words or "Done.")
            case "edit", _:
                log.edit("/home/mira/code/app/a.py")
            case "declined question", _:
                log.answer(call("AskUserQuestion", questions=[{"question": "Left or right?"}]))
                log.reject("neither")
            case "denied edit", _:
                log.answer(call("Write", file_path="/home/mira/code/app/a.py", content="a"))
                log.result(
                    "Claude requested permissions, but you haven't granted it yet.", is_error=True
                )
            case "pass", output:
                log.run("pytest -q", output or "3 passed in 0.10s")
            case "fail", output:
                log.run("pytest -q", output or "1 failed, 2 passed in 0.10s", exit_code=1)
            case "commit", _:
                log.run('git add -A && git commit -m "done"', "[main 1a2b3c4] done")
            case "run", command:
                log.run(command, "some output")
            case "error", output:
                log.run("make all", output or "make: *** no rule", exit_code=2)
            case "missing", output:
                log.run("pytest -q", output or "zsh: command not found: pytest", exit_code=127)
            case "refused commit", _:
                log.run('wrap git commit -m "done"', "FAILED: git commit\n3 problems found")
            case "lost push", _:
                log.run("git push", "fatal: unable to access", exit_code=128)
            case "push", _:
                log.run("git push -u origin x", "To host:x\n   1a2b..3c4d  x -> x")
            case "request", _:
                log.run("gh pr create --fill", "https://github.com/a/b/pull/7")
            case "plan", _:
                log.answer(call("ExitPlanMode", plan="# Plan\n\ndo it"))
                log.reject()
                log.interrupt(during_tool=True)
            case "existing request", _:
                exists = "a pull request for branch already exists:\nhttps://github.com/a/b/pull/7"
                log.run("gh pr create --fill", exists, exit_code=1)
            case "unwanted push", _:
                log.answer(call("Bash", command="git push"))
                log.reject("not yet")
            case "noisy request", _:
                said = 'error: Module not found "x.js"\nhttps://github.com/a/b/pull/8\n'
                log.run("gh pr create --fill --body `run x.js`", said)
            case "noisy push", _:
                log.run("git push", "error: no cache\nTo host:x\n   1a2b3c4..5d6e7f8  x -> x")
            case "structured", _:
                log.answer(call("StructuredOutput", findings=[]))
                log.result("Structured output provided successfully")
            case "open", command:
                log.answer(call("Bash", command=command))
            case "end", _:
                log.turn_ended()
            case "interrupt", _:
                log.interrupt()
            case "overload", _:
                log.api_failure()
            case _:
                raise LookupError(step)
    outcome = digest_of_log(claude, log).outcome
    return outcome.outcome, outcome.reason


@pytest.mark.parametrize(
    ("steps", "outcome"),
    [
        # A plan that was accepted is carried out in another session.
        (["plan"], ("continued", "plan")),
        (["commit", "answer", "say:now the next thing", "plan"], ("continued", "plan")),
        (["plan", "say:no, smaller", "edit", "answer"], ("success", "unverified")),
        (["say:write a handoff for the next session", "answer"], ("continued", "handover")),
        (["say:Write a handoff with the next steps", "edit", "answer"], ("continued", "handover")),
        (["say:ok, now do a handoff", "edit", "answer"], ("continued", "handover")),
        # The user's last word comes first, while nothing is done after it.
        (["fail", "answer", "say:thanks, perfect", "answer"], ("success", "last_word")),
        (["fail", "answer", "say:thanks", "answer"], ("fail", "tests")),
        (["fail", "answer", "say:Thanks, but the tests fail", "answer"], ("fail", "tests")),
        (["pass", "answer", "say:thanks", "answer"], ("success", "last_word")),
        (["fail", "answer", "say:ok now it works"], ("success", "last_word")),
        (["edit", "answer", "say:danke"], ("success", "last_word")),
        (["fail", "answer", "say:完璧"], ("success", "last_word")),
        (["edit", "answer", "say:все работает, спасибо"], ("success", "last_word")),
        (["pass", "answer", "say:还是不行", "answer"], ("fail", "last_word")),
        (["pass", "answer", "say:geht immer noch nicht"], ("fail", "last_word")),
        (["edit", "answer", "say:算了"], ("abandoned", "last_word")),
        (
            ["edit", "answer", "say:danke, jetzt noch die Tests", "answer"],
            ("success", "unverified"),
        ),
        (["answer", "say:all good except the build", "answer"], ("success", "answered")),
        (["pass", "answer", "say:it still doesn't work", "answer"], ("fail", "last_word")),
        (["pass", "answer", "say:never mind"], ("abandoned", "last_word")),
        (["pass", "answer", "interrupt"], ("abandoned", "interrupted")),
        (["interrupt", "say:go on", "answer"], ("success", "answered")),
        (["say:commit", "commit", "answer", "interrupt"], ("success", "commit")),
        (["commit", "answer", "say:and the next", "interrupt"], ("abandoned", "interrupted")),
        (["edit", "answer", "end", "interrupt"], ("success", "unverified")),
        (["edit", "answer", "say:! git log"], ("success", "unverified")),
        (["fail", "say:it still fails", "edit", "pass", "answer"], ("success", "tests")),
        (["pass", "say:great, now break it", "edit", "fail", "answer"], ("fail", "tests")),
        # Then what was committed, pushed or could not be.
        (["edit", "commit", "error", "answer"], ("success", "commit")),
        (["pass", "edit", "fail", "commit", "answer"], ("success", "commit")),
        (["edit", "push", "answer"], ("success", "commit")),
        (["edit", "request", "answer"], ("success", "commit")),
        (["edit", "noisy request", "answer"], ("success", "commit")),
        (["edit", "noisy push", "answer"], ("success", "commit")),
        (["edit", "commit", "lost push", "answer"], ("fail", "error")),
        (["edit", "commit", "lost push", "push", "answer"], ("success", "commit")),
        (["edit", "refused commit", "answer"], ("fail", "error")),
        (["edit", "refused commit", "answer:Shall I skip the hook?"], ("unknown", "asked")),
        (["edit", "refused commit", "answer:It was already committed."], ("success", "unverified")),
        (["edit", "refused commit", "edit", "commit", "answer"], ("success", "commit")),
        (["edit", "commit", "push", "existing request", "answer"], ("success", "commit")),
        (["edit", "commit", "unwanted push", "answer"], ("success", "commit")),
        (["say:create the session-handoff skill", "edit", "answer"], ("success", "unverified")),
        (["run:git commit --dry-run", "answer"], ("success", "answered")),
        (["run:echo git commit", "answer"], ("success", "answered")),
        # Then the last test run, if it ran and its failure is the session's own.
        (["fail", "edit", "pass", "answer"], ("success", "tests")),
        (["edit", "fail", "answer"], ("fail", "tests")),
        (["edit", "fail"], ("fail", "tests")),
        (["edit", "fail", "answer:Done. One unrelated test fails."], ("success", "unverified")),
        (["edit", "missing", "answer"], ("success", "unverified")),
        (["edit", "fail", "edit", "answer"], ("success", "unverified")),
        (["pass:0 errors, 0 failed, 4 passed in 0.10s", "answer"], ("success", "tests")),
        (["pass:2 failed, 1 passed in 0.10s", "answer"], ("fail", "tests")),
        (["run:pytest --collect-only", "answer"], ("success", "answered")),
        # Then an error that ended it.
        (["run:ls", "error"], ("fail", "error")),
        (["error", "answer"], ("fail", "error")),
        (["run:ls", "error", "answer"], ("success", "answered")),
        (["overload"], ("fail", "error")),
        (["pass", "commit", "answer", "say:and the next", "overload"], ("fail", "error")),
        (["say:push it", "answer:I can’t push from here."], ("fail", "gave_up")),
        (
            ["commit", "answer", "say:push it", "answer:I can’t push from here."],
            ("fail", "gave_up"),
        ),
        (
            ["say:is it safe?", "answer:I can't confirm it for all, but yes."],
            ("success", "answered"),
        ),
        (["edit", "answer:I tried two ways but couldn't fix the leak."], ("fail", "gave_up")),
        (["edit", "answer:Done. I could not complete the test run."], ("success", "unverified")),
        # Tools that copy a log when something is committed leave the commit without a result.
        (["edit", "pass", "open:git commit -am done"], ("success", "tests")),
        (["edit", "pass", "open:make deploy"], ("unknown", "open")),
        (["edit", "open:git commit -am done"], ("unknown", "open")),
        # And only the agent's own answer.
        (["run:ls", "structured"], ("success", "answered")),
        (["edit", "structured"], ("success", "unverified")),
        (
            ["answer:I read the file.\n<function=Read>\n</function>\n</tool_call>"],
            ("fail", "error"),
        ),
        (["answer"], ("success", "answered")),
        (["edit", "answer"], ("success", "unverified")),
        # An answer that only says what comes next is none.
        (["edit", "answer:Part one is there. Now let me add part two:"], ("unknown", "nothing")),
        (["edit", "answer:Finally, I'll write the last file:"], ("unknown", "nothing")),
        (["edit", "commit", "answer:Now let me clean up:"], ("success", "commit")),
        (["edit", "answer:Both are there. Let me know:"], ("success", "unverified")),
        (["edit", "answer:Let me add it:\nDone."], ("success", "unverified")),
        (["pass", "answer", "say:not this one", "answer:Which one?"], ("unknown", "asked")),
        (["say:shell", "answer:Ready. What should I run?"], ("unknown", "asked")),
        (
            ["say:go on", "answer:I've completed it. What would you like to do next?"],
            ("success", "answered"),
        ),
        (
            ["say:go on", "answer:I need more details. What should I do next?"],
            ("unknown", "asked"),
        ),
        (["say:hello there", "answer:How can I help you today?"], ("unknown", "asked")),
        (["say:review it", "answer:Two bugs. Should I fix them?"], ("success", "answered")),
        # A person who refuses a question of the agent has not got an answer yet.
        (
            ["edit", "declined question", "answer:Which side do you mean? I can move it."],
            ("unknown", "asked"),
        ),
        (["edit", "declined question", "answer:Then I leave it."], ("success", "unverified")),
        # A mere ok is no praise for work that goes on.
        (
            ["edit", "answer", "say:ok", "answer:Waiting for the two builds to finish."],
            ("unknown", "nothing"),
        ),
        (["edit", "answer", "say:ok", "answer:You are welcome."], ("success", "last_word")),
        (["edit", "answer:I'll report the figures once the run is over."], ("unknown", "nothing")),
        # A step of a workflow ends with a choice, also if files were changed.
        (
            ["say:all", "edit", "answer:Step 2 is written.\n\nReply with **a / c / y**."],
            ("unknown", "asked"),
        ),
        (["say:make em", "answer:I can't guess the names. Which ones?"], ("unknown", "asked")),
        (["run:ls", "denied edit", "answer:I wrote it."], ("fail", "error")),
        (["run:ls", "denied edit", "edit", "answer"], ("success", "unverified")),
        (["denied edit", "run:cat > a.py", "answer"], ("success", "answered")),
        (["say:review it", "answer:Two bugs. Want me to fix them?"], ("success", "answered")),
        (["answer", "say:exit"], ("success", "answered")),
        (["say:thanks for the token, use it", "run:ls", "answer"], ("success", "answered")),
    ],
)
def test_evidence_counts_in_its_order(
    claude: ClaudeHome, steps: list[str], outcome: tuple[str, str]
) -> None:
    assert ended(claude, *steps) == outcome


def test_without_any_answer_a_session_is_abandoned(claude: ClaudeHome) -> None:
    log = claude.session()
    asked = log.prompt("anybody there?")
    outcome = digest_of_log(claude, log).outcome
    assert (outcome.outcome, outcome.reason) == ("abandoned", "no_output")
    assert outcome.evidence == (f"{asked}:0",)


def test_a_session_without_anything_is_unknown(claude: ClaudeHome) -> None:
    log = claude.session()
    log.attachment("environment")
    assert digest_of_log(claude, log).outcome.reason == "nothing"


def test_a_call_that_is_still_running_leaves_the_session_open(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("wait for it")
    log.answer(call("Bash", command="sleep 100"))
    assert digest_of_log(claude, log).outcome.reason == "open"


def test_undoing_a_turn_is_the_last_thing_that_the_person_did(tmp_path: Path) -> None:
    codex = CodexHome(tmp_path / "home")
    log = codex.session("s1")
    log.turn("is that slow?")
    log.answer("It is.")
    log.complete()
    log.turn("make it fast")
    log.answer("I begin.")
    log.interrupt()
    log.event("thread_rolled_back", num_turns=1)
    with analyzed(codex.write()) as store:
        assert outcome_of(store, log.uid)[:2] == ("abandoned", "interrupted")


def test_thanks_before_any_work_are_no_verdict(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("thanks for helping")
    log.answer("Gladly.")
    assert digest_of_log(claude, log).outcome.reason == "answered"


def test_what_lies_on_an_abandoned_branch_proves_nothing(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("begin")
    head = log.answer("Begun.")[-1]
    log.prompt("test it")
    log.run("pytest -q", "1 failed in 0.10s", exit_code=1)
    log.answer("It fails.")
    log.rewind(head)
    log.prompt("test it like that")
    log.run("pytest -q", "1 passed in 0.10s")
    log.answer("It passes.")
    found = digest_of_log(claude, log)
    assert found.outcome.outcome == "success"
    assert [run.passed for run in found.tests] == [False, True]


def test_a_search_that_finds_nothing_is_no_failure(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("is it used?")
    log.run("grep -rn unused src", "", exit_code=1)
    log.answer("No.")
    found = digest_of_log(claude, log)
    assert found.outcome.reason == "answered"
    assert found.error_snippets == ()


def test_a_commit_in_a_long_command_is_found(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("commit it")
    long = "echo " + "x" * 200
    log.run(f'{long} && git commit -m "all of it"', "[main (root-commit) 1a2b3c4] all of it")
    log.answer("Committed.")
    found = digest_of_log(claude, log)
    assert (found.outcome.outcome, found.outcome.reason) == ("success", "commit")
    assert found.commits[0].text == "1a2b3c4 all of it"


@pytest.mark.parametrize(
    ("command", "output", "commits"),
    [
        (
            'git commit -m "one"',
            "12 pass\n0 fail\n[main 1a2b3c4] one\n 1 file changed",
            ["1a2b3c4 one"],
        ),
        ("git commit -F m", "[detached HEAD 0011223344] two: x", ["0011223 two: x"]),
        ("git commit -qam three", "", ["three"]),
        ("wrap git commit -m \"$(cat <<'EOF'\nfour\n\nwhy\nEOF\n)\"", "ok ✓", ["four"]),
        (
            "git commit -m a; git commit -m b",
            "[x 1111111] a\n[x 2222222] b",
            ["1111111 a", "2222222 b"],
        ),
        ('git commit -m "six"', "husky - pre-commit script failed (code 1)", []),
        ('git commit -m "seven"', "nothing to commit, working tree clean", []),
    ],
)
def test_a_commit_is_told_by_its_hash_and_subject(
    claude: ClaudeHome, command: str, output: str, commits: list[str]
) -> None:
    log = claude.session()
    log.prompt("commit it")
    log.run(command, output)
    assert [one.text for one in digest_of_log(claude, log).commits] == commits


def test_a_test_run_that_a_person_refused_is_no_failure(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("make it work")
    log.edit("/home/mira/code/app/a.py")
    log.answer(call("Bash", command="pytest -q"))
    log.reject()
    log.prompt("do not run them")
    log.answer("As you like.")
    outcome = digest_of_log(claude, log).outcome
    assert (outcome.outcome, outcome.reason) == ("success", "unverified")


@pytest.mark.parametrize(
    ("status", "outcome"),
    [("pass", "success"), ("ok", "success"), ("fail", "fail"), ("skipped", "unknown")],
)
def test_a_skill_call_ends_as_its_status_says(tmp_path: Path, status: str, outcome: str) -> None:
    entry = Entry(
        "one",
        timestamp="2026-07-01T10:00:00Z",
        skill="review",
        attempts=(Attempt(attempt=1, model="small", output_summary="a look"),),
        final_status=status,
    )
    SkillLog(tmp_path / ".session-memory" / "skills").append(entry)
    with analyzed(tmp_path) as store:
        assert digest(store, "skill:one").outcome.outcome == outcome


def test_an_accepted_plan_is_a_decision_and_no_refusal(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("plan a door")
    log.answer(call("ExitPlanMode", plan="# A red door\n\n## Why"))
    log.reject()
    log.interrupt(during_tool=True)
    found = digest_of_log(claude, log)
    assert [one.text for one in found.decisions] == ["accepted the plan: # A red door ## Why"]
    assert (found.interventions, found.error_snippets) == ((), ())
    log.prompt("no, a green one")
    assert digest_of_log(claude, log).interventions[0].text == "no, a green one"
