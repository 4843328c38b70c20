"""Cost by commit, branch and pull request adds up to the total."""

from session_memory import Memory
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call
from session_memory.testing.collecting import collect
from session_memory.testing.stores import Stores


def work(log: ClaudeLog, command: str, output: str, branch: str = "main") -> None:
    log.prompt(f"please run {command}", gitBranch=branch)
    log.answer(call("Bash", command=command), gitBranch=branch)
    log.result(output, gitBranch=branch)
    log.answer("Done.", gitBranch=branch)


def rows(memory: Memory, by: str) -> dict[str | None, int]:
    report = memory.cost(by)
    assert sum(row.tally.microdollars for row in report.rows) == report.totals.microdollars
    return {row.key: row.tally.responses for row in report.rows}


def test_what_came_before_a_commit_belongs_to_it(claude: ClaudeHome, stores: Stores) -> None:
    log = claude.session("s")
    work(log, "make", "ok")
    work(log, "git commit -m One", "[main 1a2b3c4] One\n 1 file changed, 2 insertions(+)")
    log.prompt("look closer")
    log.answer(call("Task", prompt="look"))
    inner = claude.subagent(log, "a1")
    inner.prompt("look")
    inner.answer("seen")
    log.result("seen", toolUseResult={"agentId": "a1"})
    work(log, "git commit -m Two", "[main 2b3c4d5] Two\n 2 files changed, 1 deletion(-)")
    work(log, "make", "ok")
    other = claude.session("other")
    work(other, "make", "3 files changed, said a line that is no commit")
    with Memory(stores.place("memory")) as memory:
        collect(memory.store, claude.write())
        found = rows(memory, "commit")
        assert found["1a2b3c4 One"] == 3
        assert found["2b3c4d5 Two"] == 4
        assert found[None] == 5
        assert set(found) == {"1a2b3c4 One", "2b3c4d5 Two", None}


def test_a_branch_has_the_pull_request_that_was_opened_for_it(
    claude: ClaudeHome, stores: Stores
) -> None:
    for name, branch in (("first", "fix/door"), ("second", "fix/door"), ("third", "main")):
        log = claude.session(name)
        work(log, "make", "see https://github.com/mira/app/pull/7 for more", branch)
    opened = "https://github.com/mira/app/pull/12\n"
    work(claude.logs[1], "gh pr create --fill", opened, "fix/door")
    with Memory(stores.place("memory")) as memory:
        collect(memory.store, claude.write())
        assert rows(memory, "pr") == {"mira/app#12": 6, None: 2}
        branches = rows(memory, "branch")
        assert sorted(name.rpartition(" ")[2] for name in branches if name) == ["fix/door", "main"]
