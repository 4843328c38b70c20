"""Invented sessions of agents that append lines to a log: Grok, Qwen Code, Copilot CLI, Kimi Code,
Vibe, Droid and Cursor.

The shapes follow docs/formats, with the fields that are read and a few more. Some stories go wrong
on purpose: a test fails, a person stops the agent.
"""

import hashlib
import json
from typing import Any
from urllib.parse import quote

from demo_shared import SEED_LIBRARY, TIDEWATCH, Clock, Files, Ids, Line, document, jsonl


def silent_harbours() -> Files:
    """Grok Build 1.0.41: a question that one command answers."""
    session, at = "019f4c82-6b1e-7a40-8c55-d3e09a7741b6", Clock("2026-11-05T06:41:09.300+00:00")
    lines: list[Line] = []
    prompt_id, call = "5c0be1f4-93a7-4d26-b8e1-7f60c2a4d915", "call_grok0000000001"

    def line(kind: str, meta: Line | None = None, own: bool = False, **update: Any) -> None:
        ms = at.ms(3.1)
        told = {"eventId": f"{session}-{len(lines) + 2}", "agentTimestampMs": ms, **(meta or {})}
        params = {"sessionId": session, "update": {"sessionUpdate": kind, **update}, "_meta": told}
        method = "_x.ai/session/update" if own else "session/update"
        lines.append({"timestamp": ms // 1000, "method": method, "params": params})

    ask = "Which harbours have no reading since Monday? A list is enough."
    of_turn = {"promptId": prompt_id}
    meta = {"modelId": "grok-4.6", "promptIndex": 0}
    line("user_message_chunk", content={"type": "text", "text": ask}, _meta=meta)
    thought = "tidewatch stations knows when each station last answered."
    line("agent_thought_chunk", of_turn, content={"type": "text", "text": thought})
    command = "python -m tidewatch stations --sort last-reading | head -n 5"
    tool = {"name": "run_terminal_command", "kind": "execute", "namespace": "grok_build"}
    line(
        "tool_call",
        of_turn,
        toolCallId=call,
        title="run_terminal_command",
        rawInput={"command": command, "description": "Oldest readings first"},
        _meta={"x.ai/tool": {"version": 1, **tool}},
    )
    output = "Port-Louis   2026-10-30 04:12\nAudierne     2026-11-01 22:40\n"
    output += "Saint-Malo   2026-11-05 06:30\n"
    raw = {"type": "Bash", "output_for_prompt": f"exit: 0\n{output}", "exit_code": 0}
    raw |= {"output": list(output.encode()), "command": command, "timed_out": False}
    shown = [{"type": "content", "content": {"type": "text", "text": output}}]
    result: Line = {"toolCallId": call, "status": "completed", "content": shown, "rawOutput": raw}
    line("tool_call_update", of_turn, **result)
    said = "Two: Port-Louis (last reading on 30 October) and Audierne (1 November)."
    line("agent_message_chunk", of_turn, content={"type": "text", "text": said})
    used = {"inputTokens": 17_940, "outputTokens": 214, "cachedReadTokens": 8_832}
    used |= {"cacheCreationTokens": 0, "reasoningTokens": 96, "totalTokens": 18_154}
    usage = {**used, "modelCalls": 2, "modelUsage": {"grok-4.6": used}}
    ended: Line = {"prompt_id": prompt_id, "stop_reason": "end_turn", "usage": usage}
    line("turn_completed", own=True, **ended, elapsed_ms=15_500)
    summary = {
        "info": {"id": session, "cwd": TIDEWATCH},
        "session_summary": "Harbours without a reading",
        "created_at": "2026-11-05T06:41:09.300Z",
        "updated_at": "2026-11-05T06:41:28.000Z",
        "current_model_id": "grok-4.6",
        "git_root_dir": f"{TIDEWATCH}/",
        "head_branch": "main",
    }
    place = f".grok/sessions/{quote(TIDEWATCH, safe='')}/{session}"
    return {f"{place}/updates.jsonl": jsonl(lines), f"{place}/summary.json": document(summary)}


def heights_in_metres() -> Files:
    """Qwen Code 0.24.4: a failing test, an edit, a passing test."""
    session, at = "c41d7a90-5e23-4b8f-a6d1-08f3b9e2c754", Clock("2026-10-19T15:03:44.000+00:00")
    new, model = Ids("qwen"), "qwen3-coder-plus"
    lines: list[Line] = []

    def line(kind: str, /, **more: Any) -> None:
        parent = lines[-1]["uuid"] if lines else None
        about = {"cwd": TIDEWATCH, "version": "0.24.4", "gitBranch": "main"}
        own = {"uuid": new(), "parentUuid": parent, "sessionId": session, "timestamp": at()}
        lines.append({**own, "type": kind, **about, **more})

    def answer(parts: list[Line], sent: int, cached: int, given: int) -> None:
        event: Line = {
            "event.name": "qwen-code.api_response",
            "response_id": new.short("chatcmpl-"),
        }
        event |= {"model": model, "input_token_count": sent, "output_token_count": given}
        event |= {"cached_content_token_count": cached, "thoughts_token_count": 0}
        payload = {"uiEvent": event}
        line("system", provenance="system", subtype="ui_telemetry", systemPayload=payload)
        usage = {"promptTokenCount": sent, "candidatesTokenCount": given}
        usage |= {"cachedContentTokenCount": cached, "totalTokenCount": sent + given}
        message = {"role": "model", "parts": parts}
        line(
            "assistant",
            provenance="assistant_output",
            model=model,
            message=message,
            usageMetadata=usage,
        )

    def calls(name: str, args: Line, output: str, code: int, *used: int, say: str = "") -> None:
        call = new.short("call_")
        asked: list[Line] = [{"text": say}] if say else []
        answer([*asked, {"functionCall": {"id": call, "name": name, "args": args}}], *used)
        response = {"error" if code else "output": output}
        part = {"functionResponse": {"id": call, "name": name, "response": response}}
        message = {"role": "user", "parts": [part]}
        told: Line = {"callId": call, "status": "error" if code else "success"}
        if name == "run_shell_command":
            told["resultDisplay"] = {"type": "shell_result", "exitCode": code, "output": output}
        line("tool_result", provenance="tool_result", message=message, toolCallResult=told)

    ask = "table --json prints the heights in centimetres. They should be metres, as in the table."
    line("user", provenance="real_user", message={"role": "user", "parts": [{"text": ask}]})
    test = {"command": "python -m pytest -q tests/test_json.py", "is_background": False}
    failed = "E       assert 1142 == 11.42\nFAILED tests/test_json.py::test_heights_are_metres\n"
    failed += "1 failed, 2 passed in 0.24s"
    calls("run_shell_command", test, failed, 1, 12_480, 0, 71, say="A test for it exists.")
    change = {"file_path": f"{TIDEWATCH}/tidewatch/table.py"}
    change |= {"old_string": '"height": tide.height,', "new_string": '"height": tide.height / 100,'}
    calls("edit", change, "The file has been updated.", 0, 12_760, 12_288, 94)
    calls("run_shell_command", test, "3 passed in 0.22s", 0, 13_020, 12_544, 48)
    said = "table --json now prints metres. The three tests of it pass."
    answer([{"text": said}], 13_150, 12_800, 27)
    title = {"subtype": "custom_title", "provenance": "system"}
    payload = {"customTitle": "Heights in metres", "titleSource": "auto"}
    line("system", **title, systemPayload=payload)
    return {f".qwen/projects/-home-mira-code-tidewatch/chats/{session}.jsonl": jsonl(lines)}


def lint_versions() -> Files:
    """Copilot CLI 1.0.102: a command, an edit, the command again."""
    session, at = "2e8f60b7-c914-4d53-9a0e-5b7d13f8a462", Clock("2026-10-12T09:15:02.500+00:00")
    new, model = Ids("copilot"), "gpt-5.4"
    lines: list[Line] = []

    def line(kind: str, /, **data: Any) -> None:
        parent = lines[-1]["id"] if lines else None
        lines.append(
            {"type": kind, "data": data, "id": new(), "timestamp": at(), "parentId": parent}
        )

    def answers(text: str, requests: list[Line], *used: int) -> None:
        response, turn = new.short("resp_"), str(len(lines))
        names = ("inputTokens", "cacheReadTokens", "outputTokens", "reasoningTokens")
        usage = {"model": model, **dict(zip(names, used, strict=True)), "cacheWriteTokens": 0}
        line("assistant.turn_start", turnId=turn)
        line("session.usage_record", usage={**usage, "cost": 1.0, "apiCallId": response})
        told = {"messageId": new(), "model": model, "apiCallId": response, "turnId": turn}
        line("assistant.message", **told, content=text, toolRequests=requests)

    def calls(
        name: str, arguments: Line, output: str, code: int, *used: int, say: str = ""
    ) -> None:
        call = new.short("call_")
        answers(say, [{"toolCallId": call, "name": name, "arguments": arguments}], *used)
        line("tool.execution_start", toolCallId=call, toolName=name, arguments=arguments)
        told: Line = {"shellExecution": {"exitCode": code}} if name == "bash" else {}
        result = {"content": output}
        line(
            "tool.execution_complete",
            toolCallId=call,
            model=model,
            success=True,
            result=result,
            **told,
        )

    context = {"cwd": SEED_LIBRARY, "gitRoot": SEED_LIBRARY, "branch": "main"}
    about = {"version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.102"}
    line("session.start", sessionId=session, **about, selectedModel=model, context=context)
    ask = "npm run lint passes here and fails on the server. What is different?"
    line("user.message", content=ask, messageId=new(), delivery="idle")
    look = {"command": "npx prettier --version && grep -n prettier package.json"}
    found = '3.6.2\n31:    "prettier": "^3.3.0",\n<shellId: 0 completed with exit code 0>'
    calls("bash", look, found, 0, 14_210, 0, 88, 41, say="I compare the versions.")
    edit = {"path": f"{SEED_LIBRARY}/package.json"}
    edit |= {"old_str": '"prettier": "^3.3.0"', "new_str": '"prettier": "3.6.2"'}
    calls("edit", edit, "File updated with changes.", 0, 14_470, 14_080, 102, 30)
    lint = {"command": "npm install && npm run lint"}
    done = "All matched files use Prettier code style!\n<shellId: 1 completed with exit code 0>"
    calls("bash", lint, done, 0, 14_690, 14_336, 55, 0)
    said = "Prettier: the server installed 3.3, you have 3.6.2. package.json now pins 3.6.2."
    answers(said, [], 14_850, 14_592, 46, 0)
    name = "Lint differs on the server"
    workspace = {"id": session, "cwd": SEED_LIBRARY, "git_root": SEED_LIBRARY, "branch": "main"}
    workspace |= {"name": name, "user_named": "false"}
    place = f".copilot/session-state/{session}"
    yaml = "".join(f"{key}: {value}\n" for key, value in workspace.items())
    return {f"{place}/events.jsonl": jsonl(lines), f"{place}/workspace.yaml": yaml.encode()}


def tide_curve() -> Files:
    """Kimi Code 2.1.0: a new file that a person allowed, and a command."""
    session, at = "session_71f0c9d2-8a45-4e16-b3f7-2d90e5c8641a", Clock("2026-09-30T17:22:30+00:00")
    new = Ids("kimi")
    begun = at.ms(0)
    lines: list[Line] = [{"type": "metadata", "protocol_version": "1.5", "created_at": begun}]

    def line(kind: str, /, **more: Any) -> None:
        lines.append({"type": kind, "agentId": "main", **more, "time": at.ms(2.6)})

    def event(kind: str, /, **more: Any) -> None:
        line(
            "context.append_loop_event", event={"type": kind, "uuid": new(), "turnId": "0", **more}
        )

    def step(number: int, parts: list[Line], sent: int, read: int, given: int) -> str:
        own = new()
        usage = {
            "inputOther": sent,
            "output": given,
            "inputCacheRead": read,
            "inputCacheCreation": 0,
        }
        line(
            "llm.request",
            kind="loop",
            provider="moonshot",
            model="kimi-k2.6",
            turnStep=f"0.{number}",
        )
        line("usage.record", model="kimi-k2.6", usage=usage, usageScope="turn")
        for part in parts:
            event("content.part", step=number, stepUuid=own, part=part)
        return own

    def call(number: int, own: str, name: str, args: Line, output: str) -> None:
        call_id = new.short("call_")
        event("tool.call", step=number, stepUuid=own, toolCallId=call_id, name=name, args=args)
        if name == "Write":
            verdict = {"decision": "approved", "scope": "once"}
            told = {"toolCallId": call_id, "toolName": name, "result": verdict}
            line("permission.record_approval_result", turnId=0, step=number, **told)
        event("tool.result", toolCallId=call_id, result={"output": output, "durationMs": 210})

    bound = {"modelAlias": "kimi-k2.6", "profileName": "agent"}
    line("profile.bind", **bound, environmentDisclosure={"cwd": TIDEWATCH})
    ask = "Draw the tides of one day as a curve: tidewatch curve HARBOUR writes an SVG file."
    told = {"input": [{"type": "text", "text": ask}], "origin": {"kind": "user"}}
    line("turn.prompt", **told, promptId=new.short("msg_"), turnId=0)
    plan = {"type": "text", "text": "One path through the heights of every ten minutes."}
    write = {"path": f"{TIDEWATCH}/tidewatch/curve.py", "content": CURVE_PY}
    own = step(1, [plan], 9_310, 0, 402)
    call(1, own, "Write", write, f"Wrote {len(CURVE_PY)} bytes to tidewatch/curve.py")
    own = step(2, [], 620, 9_216, 51)
    run = {"command": "python -m tidewatch curve Saint-Malo && wc -c saint-malo.svg"}
    call(2, own, "Bash", run, "3184 saint-malo.svg\n")
    said = "tidewatch curve Saint-Malo writes saint-malo.svg, a path of 144 points. No test yet."
    step(3, [{"type": "text", "text": said}], 240, 9_728, 38)
    line("turn.ended", turnId=0, reason="completed", durationMs=41_000)
    state = {"id": session, "version": 2, "cwd": TIDEWATCH, "createdAt": begun}
    state |= {"updatedAt": at.ms(0), "title": "A curve of the tides", "isCustomTitle": False}
    place = f".kimi-code/sessions/wd_tidewatch_4be19a07c3d2/{session}"
    files = {"state.json": document(state), "agents/main/wire.jsonl": jsonl(lines)}
    return {f"{place}/{name}": data for name, data in files.items()}


def old_packets() -> Files:
    """Vibe 3.0.2: an answer that a person stopped."""
    session, at = "8d2b6c04-71e9-4f35-a8c0-e46f1b9d7320", Clock("2026-09-22T19:48:16.000+00:00")
    new, turn = Ids("vibe"), "turn-41c7d9e02ab8"
    records: list[Line] = []

    def record(kind: str, /, **payload: Any) -> None:
        before = records[-1]["record_sha256"] if records else None
        line: Line = {"payload": payload, "previous_record_sha256": before}
        line |= {"recovery_journal_record_version": 1, "sequence": len(records) + 1, "type": kind}
        line["record_sha256"] = hashlib.sha256(json.dumps(line).encode()).hexdigest()
        records.append(line)

    def told(command: Line) -> None:
        now = {"random_seed": 7, "time_unix_ms": at.ms()}
        record("core_input", input={"command": command, "determinism": now})

    def entry(role: str, text: str, status: str, used: Line | None, **more: Any) -> None:
        now = at.ms(1)
        message = {"type": "message", "role": role, "id": new(), "createdAt": now, "turnId": turn}
        message |= {"content": [{"type": "text", "text": text}], "generationStatus": "completed"}
        about = {"id": session, "tokenUsage": used, "updatedAt": now}
        state = {"latestTurn": {"id": turn, "status": status}, "session": about}
        appended = {"op": "append_entry", "entry": {**message, **more}}
        record("projection_delta", delta=[appended, {"op": "set_envelope", "state": state}])

    def result(action: str, **outcome: Any) -> None:
        record("action_result", action_id=action, result={"action_id": action, **outcome})

    ask = "List the packets harvested before 2020 and explain for each how likely it still sprouts."
    told({"type": "user_message", "content": [{"type": "text", "text": ask}], "turn_id": turn})
    entry("user", ask, "in_progress", None, source="turn_start")
    action, call = new(), new.short("call_")
    command = "sqlite3 data/seeds.db 'select id, name from packets where harvested < 2020'"
    parts: list[Line] = [{"type": "text", "text": "I ask the database."}]
    asked = {"type": "tool_call", "id": call, "name": "bash"}
    parts.append({**asked, "arguments_json": json.dumps({"command": command})})
    used = {"input_tokens": 7_730, "cached_input_tokens": 6_912, "output_tokens": 83}
    record("action_intent", action_id=action, kind="completion", request={"type": "llm_call"})
    answer = {"finish_reason": "tool_call", "parts": parts, "usage": used}
    result(action, type="completion_succeeded", result=answer)
    output = "".join(f"SL-{number}|{name}\n" for number, name in OLD_PACKETS)
    shown = {"command": command, "returncode": 0, "stdout": output, "stderr": ""}
    tool = {"type": "success", "content": [], "structured_content": shown}
    result(new(), call_id=call, type="tool_succeeded", result=tool)
    told({"type": "interrupt", "reason": "client interrupt", "expected_turn_id": turn})
    half = "SL-0107, parsnip: parsnip seed rarely lives longer than two years, so"
    sums = {"inputTokens": 7_730, "cachedInputTokens": 6_912, "outputTokens": 83}
    cause = {"type": "discarded", "cause": "interrupt"}
    entry("assistant", half, "interrupted", sums, outcome=cause, source="harness")
    meta = {
        "session_id": session,
        "parent_session_id": None,
        "start_time": "2026-09-22T19:48:16+00:00",
        "git_branch": "main",
        "environment": {"working_directory": SEED_LIBRARY},
        "title": "Packets from before 2020",
        "title_source": "auto",
        "config": {"active_model": "devstral-2", "model_name": "devstral-2512"},
    }
    place = f".vibe/logs/session/unified/{session}"
    journal = f"{place}/journal/0000000000000001.jsonl"
    return {journal: jsonl(records), f"{place}/meta.json": document(meta)}


def labels() -> Files:
    """Factory Droid 0.215: a new file, a failing and a passing test run."""
    session, at = "f6a30d58-2b94-4c17-8e6f-90d1c5b7ea23", Clock("2026-08-03T08:05:51.700+00:00")
    new, model = Ids("droid"), "claude-sonnet-4-6"
    start = {"type": "session_start", "id": session, "title": "Sheets of labels"}
    lines: list[Line] = [{**start, "version": 2, "cwd": SEED_LIBRARY}]

    def line(role: str, content: list[Line]) -> None:
        parent = lines[-1].get("id") if len(lines) > 1 else None
        about = {"modelId": model} if role == "assistant" else {}
        own = {"type": "message", "id": new(), "parentId": parent, "timestamp": at()}
        lines.append({**own, "message": {"role": role, "content": content, **about}})

    def calls(name: str, args: Line, output: str, failed: bool = False, say: str = "") -> None:
        call = new.short("toolu_")
        said: list[Line] = [{"type": "text", "text": say}] if say else []
        line("assistant", [*said, {"type": "tool_use", "id": call, "name": name, "input": args}])
        told = {"tool_use_id": call, "is_error": failed, "content": output}
        line("user", [{"type": "tool_result", **told}])

    ask = "Sheets of labels for the packets: eight on each, with name and year. And a test."
    line("user", [{"type": "text", "text": ask}])
    wrote = {"file_path": f"{SEED_LIBRARY}/src/labels.ts", "content": LABELS_TS}
    done = json.dumps({"success": True, "file_path": wrote["file_path"]})
    calls("Create", wrote, done, say="The sheet first, then its test.")
    wrote = {"file_path": f"{SEED_LIBRARY}/tests/labels.test.ts", "content": LABELS_TEST_TS}
    calls("Create", wrote, json.dumps({"success": True, "file_path": wrote["file_path"]}))
    test = {"command": "npx vitest run labels", "summary": "Run the tests of the labels"}
    failed = "Error: Command failed (exit code: 1)\n   × nine packets need two sheets\n"
    failed += "     → expected 1 to be 2\n\n      Tests  1 failed (1)\n\n"
    calls("Execute", test, failed + "[Process exited with code 1]", failed=True)
    old, better = "Math.floor(packets.length / 8)", "Math.ceil(packets.length / 8)"
    edit = {"file_path": f"{SEED_LIBRARY}/src/labels.ts", "old_str": old, "new_str": better}
    calls("Edit", edit, json.dumps({"success": True, "linesAdded": 1, "linesRemoved": 1}))
    calls("Execute", test, "      Tests  1 passed (1)\n\n[Process exited with code 0]")
    said = "src/labels.ts makes sheets of eight labels. The count of sheets was rounded down; the"
    line("assistant", [{"type": "text", "text": f"{said} test passes now."}])
    lines.append({"type": "agent_turn_outcome", "turnId": new(), "reason": "completed"})
    used = {"inputTokens": 1_940, "outputTokens": 1_126, "cacheCreationTokens": 9_480}
    settings = {"model": model, "tags": [], "tokenUsage": {**used, "cacheReadTokens": 51_700}}
    place = f".factory/sessions/-home-mira-code-seed-library/{session}"
    return {f"{place}.jsonl": jsonl(lines), f"{place}.settings.json": document(settings)}


def plain_readme() -> Files:
    """Cursor: a transcript without results, tokens and ids, as Cursor writes it."""
    session = "b95e1c72-6d08-4a3f-9f4c-17e20d8ba653"
    lines: list[Line] = []

    def line(role: str, *blocks: Line) -> None:
        lines.append({"role": role, "message": {"content": list(blocks)}})

    def text(words: str) -> Line:
        return {"type": "text", "text": words}

    def call(name: str, **given: Any) -> Line:
        return {"type": "tool_use", "name": name, "input": given}

    at = "<timestamp>Friday, May 8, 2026, 6:05 PM (UTC+2)</timestamp>"
    ask = "The README says what a tide table is, but not how to print one. Add that on top."
    line("user", text(f"{at}\n<user_query>\n{ask}\n</user_query>"))
    readme = f"{TIDEWATCH}/README.md"
    line("assistant", text("I read the README first."), call("Read", path=readme))
    old = "# Tidewatch\n"
    new = f"{old}\n    python -m tidewatch Saint-Malo\n\nprints the tides of today.\n"
    line("assistant", call("StrReplace", path=readme, old_string=old, new_string=new))
    line("assistant", text("The README now begins with the command and one line about it."))
    lines.append({"type": "turn_ended", "status": "success"})
    place = f".cursor/projects/home-mira-code-tidewatch/agent-transcripts/{session}"
    return {f"{place}/{session}.jsonl": jsonl(lines)}


CURVE_PY = '''"""The tides of one day as a curve."""

from datetime import date

from tidewatch.table import heights

WIDTH, HEIGHT = 720, 240


def curve(harbour: str, day: date) -> str:
    """An SVG drawing of the heights, one point for every ten minutes."""
    points = [(x * 5, HEIGHT - cm / 6) for x, cm in enumerate(heights(harbour, day))]
    path = " ".join(f"{x},{y:.0f}" for x, y in points)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}"><polyline points="{path}"/></svg>'
'''

OLD_PACKETS = (("0107", "parsnip"), ("0112", "runner bean"), ("0198", "onion"), ("0203", "tomato"))

LABELS_TS = """import type { Packet } from "./db";

export function sheets(packets: Packet[]): Packet[][] {
  const count = Math.floor(packets.length / 8);
  return Array.from({ length: count }, (_, n) => packets.slice(n * 8, n * 8 + 8));
}
"""

LABELS_TEST_TS = """import { expect, test } from "vitest";
import { sheets } from "../src/labels";

test("nine packets need two sheets", () => {
  expect(sheets(Array(9).fill({ id: "SL-0412" })).length).toBe(2);
});
"""

LOG_STORIES = (
    silent_harbours,
    heights_in_metres,
    lint_versions,
    tide_curve,
    old_packets,
    labels,
    plain_readme,
)
