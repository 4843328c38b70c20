"""Makes the bundled demo: python tools/make_demo.py [--check]

Six invented sessions of one developer, Mira, in two projects, as four versions of Claude Code
would have logged them. Each story below is one session; between them they hold one of everything
that makes such logs hard to read. `demo_agents.py` has short sessions of other agents. The results
are committed below src/session_memory/demo, in `home` and `agents`, and --check says whether they
still are what these scripts make.
"""

import json
import sys
from pathlib import Path
from typing import Any

from demo_agents import demo_of_agents
from demo_log import Log, call, say, think

DEMO = Path(__file__).parent.parent / "src" / "session_memory" / "demo"

TIDEWATCH = "/home/mira/code/tidewatch"
SEED_LIBRARY = "/home/mira/code/seed-library"

Files = dict[str, bytes]


def transcript(log: Log, tail: bytes = b"") -> Files:
    return {f".claude/projects/{log.project}/{log.session}.jsonl": log.bytes() + tail}


def clock_change() -> Files:
    """1.0.98: a failing test, a subagent in the same file, a fix, a passing test, a commit."""
    log = Log(
        session="5b0c6a1e-8f2d-4c37-9a64-1d7e3f20b5c8",
        version="1.0.98",
        cwd=TIDEWATCH,
        branch="main",
        model="claude-sonnet-4-20250514",
        start="2025-09-09T08:12:04.118+00:00",
        files={"tidewatch/table.py": TABLE_PY},
    )
    log.prompt(
        "The printed table is an hour late for every day after the clocks go back. "
        "tests/test_table.py has a failing case for 27 October. Please find the cause and fix it."
    )
    test = "python -m pytest -q tests/test_table.py"
    (run,) = log.answer(
        say("I'll run the failing case first, then look at how the table gets its local times."),
        call("Bash", command=test, description="Run the table tests"),
    )
    log.failed(
        run,
        "..F.                                                                     [100%]\n"
        "=================================== FAILURES ===================================\n"
        "____________________ test_the_day_after_the_clocks_go_back _____________________\n\n"
        "    def test_the_day_after_the_clocks_go_back():\n"
        "        row = table('Saint-Malo', date(2025, 10, 27))[0]\n"
        ">       assert row.local == '07:14'\n"
        "E       AssertionError: assert '08:14' == '07:14'\n\n"
        "tests/test_table.py:31: AssertionError\n"
        "1 failed, 3 passed in 0.21s",
    )
    (read,) = log.answer(call("Read", file_path=f"{TIDEWATCH}/tidewatch/table.py"))
    log.showed(read, "tidewatch/table.py")
    task = "List every place in tidewatch/ that adds a fixed number of hours to a time in UTC."
    (agent,) = log.answer(
        say(
            "`OFFSET` is fixed when the module is imported, so all days get today's offset. "
            "I'll check whether anything else does the same."
        ),
        call(
            "Task",
            description="Find other fixed offsets",
            prompt=task,
            subagent_type="general-purpose",
        ),
    )
    report = "Only tidewatch/table.py does: OFFSET in line 8, used in line 19. Nothing else."
    with log.inline_agent():
        log.prompt(task)
        (grep,) = log.answer(call("Grep", pattern="OFFSET|timedelta\\(hours", path="tidewatch"))
        found = "tidewatch/table.py:8:OFFSET = datetime.now(ZONE).utcoffset()\n"
        found += "tidewatch/table.py:19:        local = tide.at + OFFSET"
        detail = {"mode": "content", "numFiles": 0, "filenames": [], "content": found}
        log.result(grep, found, detail | {"numLines": 2})
        log.answer(say(report))
        usage = log.records[-1]["message"]["usage"]
    text = [{"type": "text", "text": report}]
    done: dict[str, Any] = {"content": text, "totalDurationMs": 13180, "totalTokens": 3404}
    log.result(agent, text, done | {"totalToolUseCount": 1, "usage": usage})
    old = "        local = tide.at + OFFSET\n"
    new = "        local = tide.at.astimezone(ZONE)\n"
    (edit,) = log.answer(log.edit("tidewatch/table.py", old, new))
    log.edited(edit, "tidewatch/table.py", old, new)
    old = "OFFSET = datetime.now(ZONE).utcoffset()\n"
    (edit,) = log.answer(log.edit("tidewatch/table.py", old, ""))
    log.edited(edit, "tidewatch/table.py", old, "")
    (run,) = log.answer(call("Bash", command="python -m pytest -q", description="Run all tests"))
    passed = "..............                                                           [100%]\n"
    log.ran(run, passed + "14 passed in 0.48s")
    log.answer(
        say(
            "Fixed. The table took today's UTC offset once, at import, and used it for every day. "
            "Each time is now converted on its own, so days on both sides of a clock change are "
            "right. All 14 tests pass."
        )
    )
    log.wait(95)
    log.prompt("Thanks. Commit that.")
    message = "Convert each tide to local time on its own"
    commit = f"git commit -qam '{message}' && git log --oneline -1"
    (run,) = log.answer(call("Bash", command=commit, description="Commit the fix"))
    log.ran(run, f"4c1f9e2 {message}")
    log.answer(say("Committed as 4c1f9e2."))
    title = {"type": "summary", "summary": "Tide table: clock change bug fixed"}
    end = log.parent
    log.line(title | {"leafUuid": end})
    # These versions put the title on top of the file.
    log.lines.insert(0, log.lines.pop())
    return transcript(log)


def double_loans() -> Files:
    """2.0.76: a subagent in a file beside the session, a failing and a piped passing test run,
    an automatic compaction."""
    log = Log(
        session="c2e9d7b4-3a15-4f68-b0d3-72a1c9e5f046",
        version="2.0.76",
        cwd=SEED_LIBRARY,
        branch="feature/loans",
        model="claude-opus-4-5-20251101",
        start="2026-01-14T18:40:51.903+00:00",
        slug="patient-sorting-sparrow",
        files={"src/loans.ts": LOANS_TS},
    )
    agent = Log(
        session=log.session,
        version=log.version,
        cwd=SEED_LIBRARY,
        branch=log.branch,
        model="claude-haiku-4-5-20251001",
        start="2026-01-14T18:41:09.220+00:00",
        slug=log.slug,
        agent="3fa9c21b",
    )
    log.prompt(
        "Members can borrow seeds now, but nothing stops a second loan of a packet that is already "
        "out. Add that check, with a test."
    )
    task = "Which functions create, close or look up a loan? File, line and one sentence each."
    (spawn,) = log.answer(
        think("Before changing anything I want to know where loans are created and closed."),
        say("First a map of the loan code."),
        call("Task", description="Map the loan code", prompt=task, subagent_type="Explore"),
    )
    agent.prompt(task)
    (grep,) = agent.answer(call("Grep", pattern="loan", path="src", output_mode="content"))
    found = "src/loans.ts:9:export function borrow(\n"
    found += "src/loans.ts:17:export function giveBack(\nsrc/routes.ts:22:  borrow(db, "
    detail: dict[str, Any] = {
        "mode": "content",
        "numFiles": 0,
        "filenames": [],
        "content": found,
        "numLines": 3,
    }
    agent.result(grep, found, detail)
    report = (
        "src/loans.ts:9 borrow() inserts a loan without looking for an open one. "
        "src/loans.ts:17 giveBack() sets returnedAt. src/routes.ts:22 calls borrow(). "
        "Nothing looks up open loans."
    )
    agent.answer(say(report))
    log.wait(19)
    text = [{"type": "text", "text": report}]
    usage = agent.records[-1]["message"]["usage"]
    done: dict[str, Any] = {
        "status": "completed",
        "prompt": task,
        "agentId": agent.agent,
        "content": text,
    }
    done |= {"totalDurationMs": 18920, "totalTokens": 14710, "totalToolUseCount": 1, "usage": usage}
    log.result(spawn, text, done)
    (write,) = log.answer(
        say("Nothing looks for an open loan. A test that shows it:"),
        log.write("tests/loans.test.ts", LOANS_TEST_TS),
    )
    log.wrote(write, "tests/loans.test.ts", LOANS_TEST_TS)
    test = "npx vitest run tests/loans.test.ts"
    (run,) = log.answer(call("Bash", command=test, description="Run the loan tests"))
    log.failed(
        run,
        " ❯ tests/loans.test.ts (2 tests | 1 failed) 14ms\n"
        "   × a packet that is out cannot be lent again\n"
        "     → expected [Function] to throw an error\n\n"
        " Test Files  1 failed (1)\n      Tests  1 failed | 1 passed (2)",
    )
    old = "): Loan {\n  const loan"
    new = (
        "): Loan {\n"
        "  if (db.loans.some((l) => l.packet === packet && !l.returnedAt)) {\n"
        "    throw new PacketIsOut(packet);\n"
        "  }\n"
        "  const loan"
    )
    (edit,) = log.answer(log.edit("src/loans.ts", old, new))
    log.edited(edit, "src/loans.ts", old, new)
    piped = "npx vitest run 2>&1 | tail -n 5"
    (run,) = log.answer(call("Bash", command=piped, description="Run all tests"))
    log.ran(run, " Test Files  4 passed (4)\n      Tests  23 passed (23)", seconds=5)
    log.answer(
        say(
            "A packet that is out can no longer be lent: borrow() throws PacketIsOut. 23 tests"
            " pass."
        )
    )
    log.wait(1260)

    before, log.parent = log.parent, None
    trigger = {"trigger": "auto", "preTokens": 156204}
    log.system(
        "compact_boundary",
        {"content": "Conversation compacted", "isMeta": False, "logicalParentUuid": before},
        level="info",
        compactMetadata=trigger,
    )
    log.context, log.unsent = 0, 9_800
    log.prompt(
        "This session is being continued from a previous conversation that ran out of context.\n\n"
        "Asked for: no second loan of a packet that is out.\n"
        "Done: src/loans.ts throws PacketIsOut, tests/loans.test.ts covers it, 23 tests pass.\n"
        "Open: nothing.",
        isCompactSummary=True,
        isVisibleInTranscriptOnly=True,
    )
    log.wait(4)
    log.prompt("Now a note for the volunteers at the desk: what they will see, in plain words.")
    (write,) = log.answer(log.write("docs/loans.md", LOANS_NOTE))
    log.wrote(write, "docs/loans.md", LOANS_NOTE)
    log.answer(say("docs/loans.md tells the desk what the message means and what to do about it."))
    log.line({"type": "summary", "summary": "No second loan of a packet", "leafUuid": log.parent})
    log.lines.insert(0, log.lines.pop())
    beside = f".claude/projects/{agent.project}/agent-{agent.agent}.jsonl"
    return transcript(log) | {beside: agent.bytes()}


def station_cache() -> Files:
    """2.1.218: a question answered, a prompt typed ahead, a rewind, a refused push; and a fork."""
    log = Log(
        session="91d4f0a7-6b2e-4d15-8c93-e50b7a36f218",
        version="2.1.218",
        cwd=TIDEWATCH,
        branch="station-cache",
        model="claude-opus-4-8",
        start="2026-07-20T07:30:12.440+00:00",
        slug="quiet-gliding-heron",
        files={"tidewatch/fetch.py": FETCH_PY},
    )
    log.note("permission-mode", permissionMode="default")
    first = log.prompt(
        "Every run downloads all 40 stations again. Keep the answers on disk for six hours, please."
    )
    snapshot = {"messageId": first, "trackedFileBackups": {}, "timestamp": log.timestamp()}
    log.line(
        {
            "type": "file-history-snapshot",
            "messageId": first,
            "snapshot": snapshot,
            "isSnapshotUpdate": False,
        }
    )
    (read,) = log.answer(
        think("The fetcher has no cache at all. Where it may write is for Mira to say."),
        call("Read", file_path=f"{TIDEWATCH}/tidewatch/fetch.py"),
    )
    log.showed(read, "tidewatch/fetch.py")
    where = "Where should the cached answers live?"
    options = [
        {
            "label": "User cache directory",
            "description": "Outside the checkout, kept by the system",
        },
        {"label": "Beside the data", "description": "Below data/, easy to look at"},
    ]
    questions = [{"question": where, "header": "Cache", "options": options, "multiSelect": False}]
    (ask,) = log.answer(call("AskUserQuestion", questions=questions))
    answers = {where: "User cache directory"}
    log.result(
        ask,
        f'The user has answered: "{where}"="User cache directory".',
        {"questions": questions, "answers": answers},
        seconds=21,
    )
    log.note("ai-title", aiTitle="Cache station downloads on disk")
    (write,) = log.answer(say("Then it goes there."), log.write("tidewatch/cache.py", CACHE_PY))
    log.wrote(write, "tidewatch/cache.py", CACHE_PY)
    typed_ahead = "The cache files should be readable by me alone."
    queued = {"type": "queue-operation", "operation": "enqueue", "timestamp": log.timestamp()}
    log.line(queued | {"sessionId": log.session, "content": typed_ahead})
    old = "    return parse(download(station))\n"
    new = "    return parse(cached(station, download))\n"
    (edit,) = log.answer(log.edit("tidewatch/fetch.py", old, new))
    log.edited(edit, "tidewatch/fetch.py", old, new)
    log.chain(
        {
            "attachment": {
                "type": "queued_command",
                "prompt": typed_ahead,
                "commandMode": "prompt",
            },
            "type": "attachment",
        }
    )
    log.unsent += 14
    queued = {"type": "queue-operation", "operation": "remove", "timestamp": log.timestamp()}
    log.line(queued | {"sessionId": log.session})
    old = "    path.write_bytes(answer)\n"
    new = "    path.touch(mode=0o600)\n    path.write_bytes(answer)\n"
    edit, run = log.answer(
        say("Readable by you alone: the file is made with mode 0600 before anything is written."),
        log.edit("tidewatch/cache.py", old, new),
        call("Bash", command="python -m pytest -q", description="Run all tests"),
    )
    log.edited(edit, "tidewatch/cache.py", old, new)
    log.ran(
        run, "....................                                      [100%]\n20 passed in 0.77s"
    )
    log.answer(
        say(
            "Answers are kept for six hours in your cache directory, one file per station, mode "
            "0600. A second run downloads nothing. 20 tests pass."
        )
    )
    end_of_first_turn = log.turn_ended(messages=14)
    forked = len(log.records)

    # Asked for a flag, read the answer, went back (Esc Esc) and asked for something else: the
    # abandoned branch stays in the file, and both prompts have the same parent.
    log.wait(64)
    log.prompt("Make the six hours a command-line flag.")
    log.answer(
        say(
            "I would add --max-age to fetch, table and export, which all go through cached(). That "
            "is three commands with one more flag each. Shall I?"
        )
    )
    log.wait(40)
    log.parent = end_of_first_turn
    log.prompt("Make the six hours a setting in tidewatch.toml. No new flags.")
    old = "MAX_AGE = 6 * 3600\n"
    new = 'MAX_AGE = settings().get("cache_hours", 6) * 3600\n'
    (edit,) = log.answer(log.edit("tidewatch/cache.py", old, new))
    log.edited(edit, "tidewatch/cache.py", old, new)
    (run,) = log.answer(call("Bash", command="python -m pytest -q", description="Run all tests"))
    log.failed(
        run,
        "E   NameError: name 'settings' is not defined\n"
        "ERROR tests/test_cache.py - NameError: name 'settings' is not defined\n"
        "1 error in 0.31s",
        code=2,
    )
    old = "from pathlib import Path\n"
    new = "from pathlib import Path\n\nfrom tidewatch.config import settings\n"
    (edit,) = log.answer(log.edit("tidewatch/cache.py", old, new))
    log.edited(edit, "tidewatch/cache.py", old, new)
    (run,) = log.answer(call("Bash", command="python -m pytest -q", description="Run all tests"))
    log.ran(
        run, "....................                                      [100%]\n20 passed in 0.74s"
    )
    push = "git commit -qam 'Keep station answers for six hours' && git push"
    (run,) = log.answer(call("Bash", command=push, description="Commit and push"))
    refused = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    log.result(run, refused, "User rejected tool use", is_error=True, seconds=9)
    log.interrupted("[Request interrupted by user for tool use]")
    log.wait(12)
    log.prompt("Leave the pushing to me. Only commit.")
    commit = "git commit -qam 'Keep station answers for six hours' && git log --oneline -1"
    (run,) = log.answer(call("Bash", command=commit, description="Commit"))
    log.ran(run, "b71e03d Keep station answers for six hours")
    log.answer(say("Committed as b71e03d, not pushed."))
    log.turn_ended(messages=25)
    log.note("custom-title", customTitle="Station cache")
    return transcript(log) | fork_of(log, forked)


def fork_of(parent: Log, upto: int) -> Files:
    """The next day, from the end of the first turn on: copied lines differ in sessionId alone."""
    log = Log(
        session="e83b5c60-1f47-4a9d-b2c8-09d6f4e7a135",
        version="2.1.218",
        cwd=TIDEWATCH,
        branch="station-cache",
        model="claude-opus-4-8",
        start="2026-07-21T16:05:33.017+00:00",
        slug=parent.slug,
    )
    for record in parent.records[:upto]:
        if "uuid" in record:
            log.line(record | {"sessionId": log.session})
            log.parent = record["uuid"]
    log.context = 17_300
    log.unsent = 60
    log.prompt(
        "Try the same with one SQLite file in place of the 40 small ones. I want to compare."
    )
    old, new = CACHE_PY, CACHE_SQLITE_PY
    (write,) = log.answer(log.write("tidewatch/cache.py", new))
    detail: dict[str, Any] = {
        "type": "update",
        "filePath": f"{TIDEWATCH}/tidewatch/cache.py",
        "content": new,
    }
    said = f"The file {TIDEWATCH}/tidewatch/cache.py has been updated successfully."
    log.result(write, said, detail | {"structuredPatch": [], "originalFile": old})
    time = "python -m timeit -n 5 -s 'from tidewatch import fetch' 'fetch.all_stations()'"
    (run,) = log.answer(call("Bash", command=time, description="Time a run from the cache"))
    log.failed(run, "sqlite3.OperationalError: database is locked")
    # The same command again, nothing changed in between: a retry.
    (run,) = log.answer(call("Bash", command=time, description="Time a run from the cache"))
    log.ran(run, "5 loops, best of 5: 38.2 msec per loop", seconds=4)
    log.answer(
        say(
            "38 ms from SQLite, 35 ms from the files, and a lock to wait for when two runs meet. "
            "For 40 answers I would stay with the files."
        )
    )
    log.turn_ended(messages=20)
    log.note("ai-title", aiTitle="Compare a SQLite cache with files")
    return transcript(log)


def nightly_import() -> Files:
    """2.1.325: an overloaded API, output too large for the log, a subagent below the session."""
    log = Log(
        session="7ac31f58-d904-4b6e-a1f7-3c58e2b90d64",
        version="2.1.325",
        cwd=SEED_LIBRARY,
        branch="main",
        model="claude-opus-5-5",
        start="2026-11-10T21:14:40.655+00:00",
        files={"src/dates.ts": DATES_TS},
    )
    agent = Log(
        session=log.session,
        version=log.version,
        cwd=SEED_LIBRARY,
        branch=log.branch,
        model="claude-haiku-4-5-20251001",
        start="2026-11-10T21:15:31.120+00:00",
        agent="a5d20c71e9b3f648d",
        agent_type="Explore",
    )
    asked = "The nightly import prints hundreds of lines and loses packets. Find out why."
    log.prompt(asked)
    # One request in place of the many a real log holds, and without their text.
    log.line(
        {
            "type": "api-request",
            "sessionId": log.session,
            "id": log.uuid(),
            "timestamp": log.timestamp(),
            "version": log.version,
            "querySource": "repl_main_thread",
            "params": {"model": log.model, "max_tokens": 32000},
            "keep": 0,
            "tail": [],
        }
    )
    for attempt, pause in ((1, 540), (2, 1120)):
        overloaded = {"message": "529 Overloaded", "status": 529}
        overloaded |= {"requestId": log.native_id("req_011C"), "formatted": "529 Overloaded"}
        log.system(
            "api_error",
            {
                "level": "error",
                "error": overloaded | {"connection": None, "isNetworkDown": False},
                "retryInMs": pause,
                "retryAttempt": attempt,
                "maxRetries": 10,
                "source": "request_retry",
            },
        )
        log.wait(pause / 1000)
    command = "npm run import:nightly 2>&1 | tee import.log"
    (run,) = log.answer(
        think("I need to see one whole run before guessing."),
        say("I'll run the import once and keep what it prints."),
        call("Bash", command=command, description="Run the nightly import"),
    )
    spilled = import_output()
    name = f"{log.session}/tool-results/bq7m2x9kd.txt"
    saved = f"/home/mira/.claude/projects/{log.project}/{name}"
    preview = spilled[:2000]
    said = f"<persisted-output>\nOutput too large ({len(spilled) / 1024:.1f}KB). "
    said += f"Full output saved to: {saved}\n\n"
    said += f"Preview (first 2KB):\n{preview}\n...\n</persisted-output>"
    detail: dict[str, Any] = {
        "stdout": spilled[:30_000],
        "stderr": "",
        "interrupted": False,
        "isImage": False,
    }
    detail |= {"noOutputExpected": False, "persistedOutputPath": saved}
    detail["persistedOutputSize"] = len(spilled.encode())
    log.result(run, said, detail, is_error=False, seconds=31)
    task = "Where are harvest dates read from the CSV, and which forms of a date are understood?"
    (spawn,) = log.answer(
        say(
            "All lost packets have a date such as 3.10.2026. I'll have the date reading looked up."
        ),
        call(
            "Agent",
            description="Find the date reader",
            prompt=task,
            subagent_type="Explore",
            run_in_background=False,
        ),
    )
    agent.prompt(task)
    (grep,) = agent.answer(
        say("Looking for date parsing."),
        call("Bash", command="grep -rn 'Date' src", description="Find date code"),
    )
    found = "src/dates.ts:3:export function harvestDate(text: string): Date {\n"
    found += "src/import.ts:41:    harvested: harvestDate(row[5]),"
    agent.ran(grep, found)
    report = (
        "src/import.ts:41 calls harvestDate() in src/dates.ts:3. It understands 2026-10-03 only."
    )
    agent.answer(say(report))
    log.wait(17)
    text = [{"type": "text", "text": report}]
    done: dict[str, Any] = {
        "status": "completed",
        "prompt": task,
        "agentId": agent.agent,
        "agentType": "Explore",
    }
    done |= {"toolsUsed": ["Bash"], "content": text, "resolvedModel": agent.model}
    done |= {"totalDurationMs": 16240, "totalTokens": 14480, "totalToolUseCount": 1}
    done["usage"] = agent.records[-1]["message"]["usage"]
    log.result(spawn, text, done)
    old = "  return new Date(text);\n"
    new = (
        "  const german = /^(\\d{1,2})\\.(\\d{1,2})\\.(\\d{4})$/.exec(text.trim());\n"
        "  if (german) {\n"
        "    return new Date(Date.UTC(+german[3], +german[2] - 1, +german[1]));\n"
        "  }\n"
        "  return new Date(text);\n"
    )
    (edit,) = log.answer(log.edit("src/dates.ts", old, new))
    log.edited(edit, "src/dates.ts", old, new)
    test = "npx vitest run tests/import.test.ts"
    (run,) = log.answer(call("Bash", command=test, description="Run the import tests"))
    log.ran(run, " ✓ tests/import.test.ts (6 tests) 41ms\n\n      Tests  6 passed (6)", seconds=4)
    log.answer(
        say(
            "The import lost every packet whose date is written the German way: 3.10.2026 is no "
            "date for new Date(). Both forms are read now, as UTC. The 6 import tests pass; the "
            "38 packets of last night come in with the next run."
        )
    )
    log.note("last-prompt", lastPrompt=asked, leafUuid=log.parent)
    log.note("ai-title", aiTitle="Nightly import loses packets with German dates")
    log.costs(agent)

    below = f".claude/projects/{log.project}/{log.session}"
    meta = {"agentType": "Explore", "isBuiltIn": True, "description": "Find the date reader"}
    meta |= {"toolUseId": spawn, "spawnDepth": 1, "requestShape": "foreground", "finished": True}
    return transcript(log) | {
        f"{below}/subagents/agent-{agent.agent}.jsonl": agent.bytes(),
        f"{below}/subagents/agent-{agent.agent}.meta.json": json.dumps(meta).encode(),
        f".claude/projects/{log.project}/{name}": spilled.encode(),
    }


def harbour_page() -> Files:
    """2.1.325: a tool granted and one refused with words, a line broken by a crash, an answer
    interrupted in mid-sentence, and a last line that is still being written."""
    log = Log(
        session="20f6e9c3-57ab-4e81-9d0c-b4a871f3d5e2",
        version="2.1.325",
        cwd=TIDEWATCH,
        branch="harbour-page",
        model="claude-opus-5-5",
        start="2026-11-12T06:55:18.301+00:00",
        files={"tidewatch/web.py": WEB_PY},
    )
    log.prompt("Add a page per harbour with today's high water. Plain HTML, no JavaScript.")
    (read,) = log.answer(call("Read", file_path=f"{TIDEWATCH}/tidewatch/web.py"))
    log.showed(read, "tidewatch/web.py")
    (write,) = log.answer(
        say("One template and one route will do."),
        log.write("tidewatch/templates/harbour.html", HARBOUR_HTML),
    )
    once = {"decision": "accept", "source": "user_temporary", "grantScope": "once"}
    log.wrote(
        write,
        "tidewatch/templates/harbour.html",
        HARBOUR_HTML,
        seconds=7,
        permissionDecision=once,
    )
    install = "pip install flask-caching"
    (run,) = log.answer(call("Bash", command=install, description="Install a cache for pages"))
    log.result(
        run,
        "No new packages for this. The page is cheap enough without a cache.",
        "User rejected tool use",
        is_error=True,
        seconds=11,
        toolDenialKind="user-rejected",
        holdsPersonsWords=True,
        permissionDecision={"decision": "reject", "source": "user_reject"},
    )
    # The machine went down while this line was being written; the next start went on below it.
    log.lines.append(
        b'{"parentUuid":"' + str(log.parent).encode() + b'","isSidechain":false,"mess\n'
    )
    old = '@app.get("/")\n'
    new = (
        '@app.get("/harbour/<name>")\n'
        "def harbour(name):\n"
        '    return render("harbour.html", name=name, tides=today(name))\n\n\n'
        '@app.get("/")\n'
    )
    (edit,) = log.answer(say("Without a cache, then."), log.edit("tidewatch/web.py", old, new))
    log.edited(edit, "tidewatch/web.py", old, new)

    log.wait(5)
    usage = log.usage(1)
    log.chain(
        {
            "message": {
                "id": log.native_id("msg_01"),
                "type": "message",
                "role": "assistant",
                "model": log.model,
                "content": [say("Next I would split the styles into their own file, add a men")],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {
                    "input_tokens": usage["input_tokens"],
                    "cache_creation_input_tokens": usage["cache_creation_input_tokens"],
                    "cache_read_input_tokens": usage["cache_read_input_tokens"],
                    "cache_creation": usage["cache_creation"],
                    "output_tokens": 1,
                    "service_tier": "standard",
                },
            },
            "apiBlockIndex": 0,
            "requestId": log.native_id("req_011C"),
            "requestedModel": log.model,
            "type": "assistant",
        },
        {"isAbortedMidStream": True, "effort": "medium", "madeBy": "model"},
    )
    log.interrupted()
    log.wait(8)
    asked = "No. Keep it to this one page, and test it with Südhafen: the name has an umlaut."
    log.prompt(asked)
    test = "python -m pytest -q tests/test_web.py"
    (write, run) = log.answer(
        log.write("tests/test_web.py", TEST_WEB_PY),
        call("Bash", command=test, description="Test the page"),
    )
    log.wrote(write, "tests/test_web.py", TEST_WEB_PY)
    log.failed(
        run,
        "F                                                                        [100%]\n"
        "E       AssertionError: assert 404 == 200\n"
        "FAILED tests/test_web.py::test_a_harbour_with_an_umlaut_has_a_page\n"
        "1 failed in 0.35s",
    )
    log.note("last-prompt", lastPrompt=asked, leafUuid=log.parent)
    log.note("ai-title", aiTitle="A page per harbour")
    torn = (
        b'{"parentUuid":"' + str(log.parent).encode() + b'","isSidechain":false,"message":{"id":"ms'
    )
    return transcript(log, tail=torn)


def import_output() -> str:
    """What the nightly import prints: long enough that Claude Code keeps it in a file."""
    kinds = (
        "Phaseolus vulgaris 'Borlotto'",
        "Solanum lycopersicum 'Zürcher Frühe'",
        "Cucurbita maxima 'Roter Zentner'",
        "Lactuca sativa 'Forellenschluss'",
        "Brassica oleracea 'Palmizio'",
        "Pisum sativum 'Blauwschokker'",
        "Allium cepa 'Rossa di Tropea'",
    )
    lines = ["> seed-library@1.4.0 import:nightly", "> node dist/import.js data/packets.csv", ""]
    for i in range(1, 421):
        day, month = 1 + i * 7 % 28, 8 + i % 3
        head = f"[{i:>3}/420] packet SL-{1000 + i * 13 % 997:04d}  {kinds[i % 7]}"
        if i % 11 == 0:
            lines.append(f"{head}  harvested {day}.{month}.2025  skipped: Invalid Date")
        else:
            lines.append(f"{head}  harvested 2025-{month:02d}-{day:02d}  ok")
    lines.append("382 packets imported, 38 skipped")
    return "\n".join(lines) + "\n"


TABLE_PY = '''"""The printed tide table."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

ZONE = ZoneInfo("Europe/Paris")

OFFSET = datetime.now(ZONE).utcoffset()


def table(harbour: str, day: date) -> list["Row"]:
    """The tides of one day, as the table prints them."""
    rows = []
    for tide in tides(harbour, day):
        # Heights come in centimetres.
        height = f"{tide.height / 100:.2f} m"
        kind = "high" if tide.is_high else "low"

        local = tide.at + OFFSET
        rows.append(Row(kind, f"{local:%H:%M}", height))
    return rows
'''

LOANS_TS = """import type { Db, Loan } from "./db";

export class PacketIsOut extends Error {
  constructor(readonly packet: string) {
    super(`packet ${packet} is out on loan`);
  }
}

export function borrow(
  db: Db, member: string, packet: string,
): Loan {
  const loan = { member, packet, borrowedAt: new Date(), returnedAt: null };
  db.loans.push(loan);
  return loan;
}

export function giveBack(db: Db, packet: string): void {
  const loan = db.loans.find((l) => l.packet === packet && !l.returnedAt);
  if (loan) loan.returnedAt = new Date();
}
"""

LOANS_TEST_TS = """import { expect, test } from "vitest";
import { borrow, giveBack } from "../src/loans";

test("a packet that is out cannot be lent again", () => {
  const db = { loans: [] };
  borrow(db, "ada", "SL-0412");
  expect(() => borrow(db, "ben", "SL-0412")).toThrow();
});

test("a packet that came back can", () => {
  const db = { loans: [] };
  borrow(db, "ada", "SL-0412");
  giveBack(db, "SL-0412");
  expect(borrow(db, "ben", "SL-0412").member).toBe("ben");
});
"""

LOANS_NOTE = """# When a packet is already out

The desk now says "packet SL-0412 is out on loan" and does not record a second loan. Look at the
member's card: if the packet is in your hand, it was never given back in the system. Press
*Return* first, then lend it again.
"""

FETCH_PY = '''"""Asks the stations for their tides."""

STATIONS = 40


def tides(station: str) -> list["Tide"]:
    return parse(download(station))


def all_stations() -> dict[str, list["Tide"]]:
    return {name: tides(name) for name in station_names()}
'''

CACHE_PY = '''"""Answers of the stations, kept for a while: one file each."""

import time
from collections.abc import Callable
from pathlib import Path

MAX_AGE = 6 * 3600


def cached(station: str, download: Callable[[str], bytes]) -> bytes:
    path = cache_directory() / f"{station}.json"
    if path.exists() and time.time() - path.stat().st_mtime < MAX_AGE:
        return path.read_bytes()
    answer = download(station)
    path.write_bytes(answer)
    return answer
'''

CACHE_SQLITE_PY = '''"""Answers of the stations, kept for a while: one row each."""

import sqlite3
import time
from collections.abc import Callable

MAX_AGE = 6 * 3600


def cached(station: str, download: Callable[[str], bytes]) -> bytes:
    with sqlite3.connect(cache_directory() / "stations.db") as db:
        row = db.execute("select answer, at from stations where name = ?", (station,)).fetchone()
        if row and time.time() - row[1] < MAX_AGE:
            return row[0]
        answer = download(station)
        db.execute("replace into stations values (?, ?, ?)", (station, answer, time.time()))
        return answer
'''

DATES_TS = """// Dates as the volunteers write them.

export function harvestDate(text: string): Date {
  return new Date(text);
}
"""

WEB_PY = '''"""The web pages."""

from tidewatch.app import app, render, today


@app.get("/")
def index():
    return render("index.html")
'''

HARBOUR_HTML = """<!doctype html>
<title>{{ name }}: high water today</title>
<h1>{{ name }}</h1>
<ul>
  {% for tide in tides if tide.is_high %}<li>{{ tide.local }}, {{ tide.height }}</li>{% endfor %}
</ul>
"""

TEST_WEB_PY = """from tidewatch.web import app


def test_a_harbour_with_an_umlaut_has_a_page():
    assert app.test_client().get("/harbour/Südhafen").status_code == 200
"""

STORIES = (clock_change, double_loans, station_cache, nightly_import, harbour_page)


def demo() -> Files:
    files: Files = {}
    for story in STORIES:
        files |= {f"home/{name}": data for name, data in story().items()}
    return files | {f"agents/{name}": data for name, data in demo_of_agents().items()}


def main() -> int:
    made = demo()
    kept = {
        path.relative_to(DEMO).as_posix(): path.read_bytes()
        for place in ("home", "agents")
        for path in (DEMO / place).rglob("*")
        if path.is_file()
    }
    if "--check" in sys.argv[1:]:
        wrong = sorted(
            name for name in made.keys() | kept.keys() if made.get(name) != kept.get(name)
        )
        print("\n".join(wrong) or f"{len(made)} files are as made")
        return 1 if wrong else 0
    for name in kept.keys() - made.keys():
        (DEMO / name).unlink()
    for name, data in made.items():
        path = DEMO / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    print(f"{len(made)} files, {sum(map(len, made.values())):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
