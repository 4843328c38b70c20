"""Invented sessions of agents that rewrite a document for each message, and of aider: Amp, Cline,
Roo Code.

The shapes follow docs/formats, with the fields that are read and a few more.
"""

import json
from typing import Any

from demo_shared import SEED_LIBRARY, TIDEWATCH, Clock, Files, Ids, Line, document


def courgettes() -> Files:
    """Amp: a search, an edit and a test run."""
    thread, at = "T-019bff2e-7c41-7d06-93a8-b52f0e6d18c7", Clock("2026-01-27T10:31:20.000+00:00")
    new, model = Ids("amp"), "claude-opus-4-5-20251101"
    begun = at.ms(0)
    messages: list[Line] = []

    def message(role: str, content: list[Line], **more: Any) -> None:
        own = {"role": role, "messageId": len(messages), "content": content}
        messages.append({**own, **more})

    def answers(content: list[Line], stop: str, *used: int) -> None:
        names = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens")
        usage = {"model": model, **dict(zip(names, used, strict=True)), "timestamp": at()}
        state = {"type": "complete", "stopReason": stop}
        message("assistant", content, state=state, usage=usage)

    def calls(name: str, given: Line, result: Any, *used: int, say: str = "") -> None:
        call = new.short("toolu_")
        said: list[Line] = [{"type": "text", "text": say}] if say else []
        asked = {"type": "tool_use", "id": call, "name": name, "input": given, "complete": True}
        answers([*said, asked], "tool_use", *used)
        run = {"status": "done", "result": result}
        told = {"type": "tool_result", "toolUseID": call, "run": run}
        message("user", [told], meta={"sentAt": at.ms(2)})

    ask = "Searching for courgette finds nothing, though SL-0388 is one: it is entered as zucchini."
    message("user", [{"type": "text", "text": ask}], meta={"sentAt": at.ms(1)})
    look = {"pattern": "zucchini|courgette"}
    hits = 'src/names.ts:14:  { name: "zucchini", also: [] },'
    calls("Grep", look, hits, 12, 0, 10_420, 96, say="There is a table of other names.")
    path = f"{SEED_LIBRARY}/src/names.ts"
    old, better = 'name: "zucchini", also: []', 'name: "zucchini", also: ["courgette"]'
    diff = f"-  {{ {old} }},\n+  {{ {better} }},\n"
    edit = {"path": path, "old_str": old, "new_str": better}
    calls("edit_file", edit, {"diff": diff, "lineRange": [14, 14]}, 9, 10_420, 310, 121)
    test = {"cmd": "npx vitest run names", "cwd": SEED_LIBRARY}
    done = {"output": " Test Files  1 passed (1)\n      Tests  6 passed (6)\n", "exitCode": 0}
    calls("Bash", test, done, 9, 10_730, 240, 62)
    said = "The search knows courgette as zucchini now: one more name in src/names.ts. Tests pass."
    answers([{"type": "text", "text": said}], "end_turn", 9, 10_970, 150, 41)
    origin = {"type": "git", "url": "https://example.org/mira/seed-library.git"}
    tree: Line = {"displayName": "seed-library", "uri": f"file://{SEED_LIBRARY}"}
    tree["repository"] = {**origin, "ref": "refs/heads/main"}
    made = {"v": len(messages), "id": thread, "created": begun, "messages": messages}
    made |= {"env": {"initial": {"trees": [tree]}}, "agentMode": "smart"}
    made["title"] = "Courgette finds zucchini"
    return {f".local/share/amp/threads/{thread}.json": document(made)}


def untyped_pages() -> Files:
    """Cline CLI 3.0.65: a failing and a passing run of a checker, with an edit between them."""
    session, at = "1788860523114_kv7q2", Clock("2026-09-08T09:42:03.114+00:00")
    new, model = Ids("cline"), "claude-sonnet-4.6"
    messages: list[Line] = []

    def message(role: str, content: list[Line], **more: Any) -> None:
        own = {"id": new.short("msg_", 8), "role": role, "content": content, "ts": at.ms()}
        messages.append({**own, **more})

    def answers(content: list[Line], sent: int, read: int, written: int, given: int) -> None:
        fresh = sent - read - written
        cost = (3 * fresh + 0.3 * read + 3.75 * written + 15 * given) / 1_000_000
        used = {"inputTokens": sent, "outputTokens": given, "cacheReadTokens": read}
        metrics = {**used, "cacheWriteTokens": written, "cost": round(cost, 6)}
        about = {"id": model, "provider": "anthropic"}
        message("assistant", content, modelInfo=about, metrics=metrics)

    def calls(name: str, given: Line, result: Any, *used: int, say: str = "") -> None:
        call = new.short("call_")
        said: list[Line] = [{"type": "text", "text": say}] if say else []
        answers([*said, {"type": "tool_use", "id": call, "name": name, "input": given}], *used)
        told = {"type": "tool_result", "tool_use_id": call, "name": name, "content": result}
        message("user", [told])

    ask = "mypy --strict complains about tidewatch/web.py. Make it pass without any ignore."
    text = f'<user_input mode="act">{ask}</user_input>'
    message("user", [{"type": "text", "text": text}])
    check = "mypy --strict tidewatch/web.py"
    output = "tidewatch/web.py:7: error: Function is missing a return type annotation\n"
    output += "Found 1 error in 1 file (checked 1 source file)\n"
    failed = {"query": check, "result": output, "error": "Command exited with code 1"}
    run = {"commands": [check]}
    calls("run_commands", run, [{**failed, "success": False}], 9_870, 0, 9_860, 74, say="I run it.")
    path = f"{TIDEWATCH}/tidewatch/web.py"
    edit = {"path": path, "old_text": "def index():", "new_text": "def index() -> str:"}
    edited = {"query": f"edit:{path}", "result": f"Edited {path}", "success": True}
    calls("editor", edit, json.dumps(edited), 10_060, 9_860, 190, 97)
    passed = "Success: no issues found in 1 source file\n"
    calls(
        "run_commands",
        run,
        [{"query": check, "result": passed, "success": True}],
        10_230,
        10_050,
        170,
        52,
    )
    said = "index() now says that it returns a str, and mypy --strict passes. Nothing is ignored."
    answers([{"type": "text", "text": said}], 10_330, 10_220, 100, 33)
    costs = [one["metrics"]["cost"] for one in messages if "metrics" in one]
    origin = {"source": "cli", "mode": "user", "sessionId": session, "version": "3.0.65"}
    made = {"version": 1, "updated_at": at(0), "agent": "lead", "sessionId": session}
    facts = {
        "version": 1,
        "session_id": session,
        "source": "cli",
        "started_at": "2026-09-08T09:42:03.114Z",
        "ended_at": at(0),
        "status": "completed",
        "provider": "anthropic",
        "model": model,
        "cwd": TIDEWATCH,
        "metadata": {
            "sessionHistoryOrigin": {"mode": "user", "version": "3.0.65"},
            "git": {"branch": "main"},
            "title": "Types for tidewatch/web.py",
            "totalCost": round(sum(costs), 6),
        },
    }
    place = f".cline/data/sessions/{session}/{session}"
    whole = {**made, "origin": origin, "messages": messages}
    return {f"{place}.messages.json": document(whole), f"{place}.json": document(facts)}


def missing_column() -> Files:
    """Roo Code, an extension of VS Code: a question that a file answers."""
    task, at = "5d92e7c1-08b4-4f6a-b3d9-c471e60a28f5", Clock("2026-04-20T13:11:02.000+00:00")
    messages: list[Line] = []

    def says(kind: str, text: str, asks: bool = False) -> None:
        which = "ask" if asks else "say"
        messages.append({"ts": at.ms(3), "type": which, which: kind, "text": text})

    def request(sent: int, written: int, read: int, given: int) -> None:
        fresh = sent - written - read
        cost = (3 * fresh + 3.75 * written + 0.3 * read + 15 * given) / 1_000_000
        told = {"apiProtocol": "anthropic", "tokensIn": sent, "tokensOut": given}
        told |= {"cacheWrites": written, "cacheReads": read, "cost": round(cost, 6)}
        says("api_req_started", json.dumps(told))

    ask = "What does the importer do with a file that has no harvest dates?"
    says("text", ask)
    request(11_204, 11_190, 0, 68)
    says("text", "I look at the importer.")
    read = {"tool": "readFile", "path": "src/import.ts", "content": IMPORT_TS}
    says("tool", json.dumps(read), asks=True)
    request(11_630, 420, 11_190, 83)
    said = "It stops before the first packet: src/import.ts throws MissingColumn with the name of "
    said += "the column. Nothing of such a file is stored."
    says("completion_result", said)
    says("completion_result", "", asks=True)
    costs = (
        json.loads(one["text"])["cost"] for one in messages if one.get("say") == "api_req_started"
    )
    facts = {"id": task, "number": 4, "ts": at.ms(0), "task": ask, "workspace": SEED_LIBRARY}
    facts |= {"totalCost": round(sum(costs), 6), "mode": "ask", "status": "completed"}
    place = f".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks/{task}"
    files = {"ui_messages.json": messages, "history_item.json": facts}
    return {f"{place}/{name}": document(data) for name, data in files.items()}


def due_dates() -> Files:
    """aider 0.86: a change, failing tests, another change. Its history is in the repository."""
    begun = "aider --model gpt-5 --auto-test --test-cmd 'npx vitest run' src/loans.ts"
    about = (
        "Aider v0.86.2",
        "Main model: gpt-5 with diff edit format",
        "Git repo: .git with 61 files",
    )
    ask = "A loan should have a date on which it is due: three weeks after it began."
    lines = ["", "# aider chat started at 2026-02-11 18:05:40", ""]
    lines += [f"> {line}  " for line in (begun, *about)]
    lines += ["", f"#### {ask}  ", "", "A loan gets a dueAt.", ""]
    lines += _block("  const loan = { member, packet,", "  const loan = { member, packet, dueAt,")
    told = ["Tokens: 4.1k sent, 412 received. Cost: $0.0092 message, $0.0092 session."]
    told += ["Applied edit to src/loans.ts", "Commit 8e20c4f feat: Loans have a due date"]
    told += [
        "Added 9 lines of output to the chat.",
        "Attempt to fix test errors? (Y)es/(N)o [Yes]: y",
    ]
    lines += [f"> {line}  " for line in told]
    lines += ["", "dueAt was used before it was made. It is computed first now.", ""]
    lines += _block("): Loan {", "): Loan {\n  const dueAt = new Date(Date.now() + 21 * DAY);")
    told = ["Tokens: 5.0k sent, 236 received. Cost: $0.0086 message, $0.02 session."]
    told += [
        "Applied edit to src/loans.ts",
        "Commit b71d93a fix: Compute the due date before the loan",
    ]
    lines += [*(f"> {line}  " for line in told), ""]
    return {"code/seed-library/.aider.chat.history.md": "\n".join(lines).encode()}


def _block(old: str, new: str) -> list[str]:
    """A change as the model writes it into its answer."""
    edit = ["<<<<<<< SEARCH", old, "=======", new, ">>>>>>> REPLACE"]
    return ["src/loans.ts", "```ts", *edit, "```", ""]


IMPORT_TS = """import { parse } from "./csv";

const COLUMNS = ["number", "name", "harvested"];

export function importPackets(text: string): Packet[] {
  const { header, rows } = parse(text);
  for (const column of COLUMNS) {
    if (!header.includes(column)) throw new MissingColumn(column);
  }
  return rows.map(packet);
}
"""

DOCUMENT_STORIES = (courgettes, untyped_pages, missing_column, due_dates)
