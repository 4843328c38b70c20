"""Invented sessions of further agents for the demo: those of Codex, Gemini CLI and pi.

Each is short: a prompt, two or three calls, an answer. The stories of the other agents are in the
modules imported here. `tools/make_demo.py` writes them below src/session_memory/demo/agents.
"""

import json
from typing import Any

from demo_database_agents import DATABASE_STORIES
from demo_document_agents import DOCUMENT_STORIES
from demo_log_agents import LOG_STORIES
from demo_shared import SEED_LIBRARY, TIDEWATCH, Clock, Files, Line, jsonl


def unknown_harbour() -> Files:
    """Codex 0.98: a failing test, a patch, a passing test."""
    session, at = "019c5a11-7c3e-7d20-9b64-2f8e6d41a0c3", Clock("2026-03-03T09:20:11.400+00:00")
    lines: list[Line] = []

    def line(kind: str, **payload: Any) -> None:
        lines.append({"timestamp": at(), "type": kind, "payload": payload})

    def says(role: str, text: str) -> None:
        part = {"type": "input_text" if role == "user" else "output_text", "text": text}
        line("response_item", type="message", role=role, content=[part])
        event = "user_message" if role == "user" else "agent_message"
        line("event_msg", type=event, message=text)

    total = {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0}
    total |= {"reasoning_output_tokens": 0, "total_tokens": 0}

    def used(sent: int, cached: int, given: int, thought: int) -> None:
        last = {"input_tokens": sent, "cached_input_tokens": cached, "output_tokens": given}
        last |= {"reasoning_output_tokens": thought, "total_tokens": sent + given}
        for name, count in last.items():
            total[name] += count
        info = {"total_token_usage": dict(total), "last_token_usage": last}
        line("event_msg", type="token_count", info=info | {"model_context_window": 272_000})

    def runs(call: str, command: str, output: str, code: int) -> None:
        given = json.dumps({"cmd": command, "workdir": TIDEWATCH})
        line(
            "response_item",
            type="function_call",
            name="exec_command",
            arguments=given,
            call_id=call,
        )
        told = f"Wall time: 0.6 seconds\nProcess exited with code {code}\nOutput:\n{output}"
        line("response_item", type="function_call_output", call_id=call, output=told)

    meta = {"id": session, "timestamp": at(0), "cwd": TIDEWATCH, "originator": "codex_cli_rs"}
    git = {"branch": "main", "commit_hash": "4c1f9e2d7a0b"}
    line("session_meta", **meta, cli_version="0.98.0", source="cli", git=git)
    line("turn_context", cwd=TIDEWATCH, approval_policy="on-request", model="gpt-5-codex")
    says(
        "user", "tidewatch Atlantis prints a traceback. It should say that it knows no such place."
    )
    runs(
        "call_a1",
        "python -m pytest -q tests/test_cli.py",
        "F                                                              [100%]\n"
        "E       KeyError: 'Atlantis'\n"
        "FAILED tests/test_cli.py::test_an_unknown_harbour_is_named\n1 failed in 0.19s",
        1,
    )
    used(6420, 4096, 180, 64)
    patch = (
        "*** Begin Patch\n*** Update File: tidewatch/cli.py\n@@\n-    harbour = HARBOURS[name]\n"
        "+    harbour = HARBOURS.get(name)\n+    if harbour is None:\n"
        '+        raise SystemExit(f"no harbour is called {name}")\n*** End Patch'
    )
    line(
        "response_item", type="custom_tool_call", name="apply_patch", input=patch, call_id="call_a2"
    )
    done = json.dumps({"output": "Success. Updated tidewatch/cli.py", "metadata": {"exit_code": 0}})
    line("response_item", type="custom_tool_call_output", call_id="call_a2", output=done)
    used(7105, 6144, 212, 40)
    runs("call_a3", "python -m pytest -q", "15 passed in 0.52s", 0)
    used(7480, 6912, 61, 0)
    says("assistant", "An unknown harbour now ends with one line that names it. All 15 tests pass.")
    used(7702, 7424, 38, 0)
    name = f"rollout-2026-03-03T09-20-11-{session}.jsonl"
    return {f".codex/sessions/2026/03/03/{name}": jsonl(lines)}


def packet_export() -> Files:
    """Gemini CLI 0.61: a new file and a command."""
    session, at = "b7d0e5c2-41f8-4a36-9e0d-6c2f1a9b8e57", Clock("2026-05-18T14:02:37.120+00:00")
    head = {"sessionId": session, "projectHash": "5d1c0e", "startTime": at(0), "kind": "main"}
    lines: list[Line] = [{**head, "lastUpdated": at(0), "directories": [SEED_LIBRARY]}]

    def used(sent: int, cached: int, given: int, thought: int) -> Line:
        counts = {"input": sent, "cached": cached, "output": given, "thoughts": thought}
        return {**counts, "tool": 0, "total": sent + given + thought}

    def message(number: int, kind: str, content: Any, **more: Any) -> None:
        own = f"b7d0e5c2-0000-4000-8000-{number:012d}"
        lines.append({"id": own, "timestamp": at(), "type": kind, "content": content, **more})

    def call(number: int, name: str, args: Line, output: str) -> Line:
        own = f"{name}-{number}"
        response = {"id": own, "name": name, "response": {"output": output}}
        told = {"status": "success", "timestamp": at(), "resultDisplay": output}
        return {
            "id": own,
            "name": name,
            "args": args,
            "result": [{"functionResponse": response}],
        } | told

    model = "gemini-2.5-pro"
    message(1, "user", [{"text": "Write a CSV export of all seed packets, one line per packet."}])
    path = f"{SEED_LIBRARY}/src/export.ts"
    code = "export const csv = (rows: Packet[]) =>\n"
    code += '  rows.map((r) => [r.id, r.name].join(",")).join("\\n");\n'
    write = call(1, "write_file", {"file_path": path, "content": code}, f"Created {path}.")
    say = "I add src/export.ts."
    message(2, "gemini", say, toolCalls=[write], tokens=used(8120, 0, 164, 90), model=model)
    test = {"command": "npx vitest run export", "description": "Run the tests of the export"}
    ran = call(2, "run_shell_command", test, "Test Files  1 passed (1)\n     Tests  2 passed (2)")
    message(3, "gemini", "", toolCalls=[ran], tokens=used(8390, 7680, 41, 22), model=model)
    said = "src/export.ts writes a line for each packet. Both tests of it pass."
    message(4, "gemini", said, tokens=used(8512, 8192, 36, 0), model=model)
    lines.append({"$set": {"summary": "CSV export of seed packets", "lastUpdated": at()}})
    name = f"session-2026-05-18T14-02-{session[:8]}.jsonl"
    return {f".gemini/tmp/seed-library/chats/{name}": jsonl(lines)}


def slow_tests() -> Files:
    """pi 0.87: a question that two commands answer."""
    session, at = "019e40b2-5f0a-7c11-8d2e-71a9c3f0b6d4", Clock("2026-06-02T07:48:20.000+00:00")
    head = {"type": "session", "version": 3, "id": session, "timestamp": at(0), "cwd": TIDEWATCH}
    lines: list[Line] = [head]

    def entry(message: Line) -> None:
        parent = lines[-1]["id"] if len(lines) > 1 else None
        own = f"{0xA1C0 + 7 * len(lines):08x}"
        line = {"type": "message", "id": own, "parentId": parent, "timestamp": at()}
        lines.append({**line, "message": message})

    def answers(content: list[Line], stop: str, sent: int, read: int, given: int) -> None:
        cost = (3 * sent + 0.3 * read + 15 * given) / 1_000_000
        usage = {"input": sent, "output": given, "cacheRead": read, "cacheWrite": 0}
        usage |= {"totalTokens": sent + read + given, "cost": {"total": round(cost, 6)}}
        about = {"provider": "anthropic", "model": "claude-sonnet-4-5", "api": "anthropic-messages"}
        told = {"stopReason": stop, "responseId": f"msg_01PiDemo{len(lines):04d}"}
        entry({"role": "assistant", "content": content, **about, "usage": usage, **told})

    def runs(call: str, command: str, output: str, *used: int) -> None:
        asked = {"type": "toolCall", "id": call, "name": "bash", "arguments": {"command": command}}
        answers([asked], "toolUse", *used)
        told = {"role": "toolResult", "toolCallId": call, "toolName": "bash", "isError": False}
        entry({**told, "content": [{"type": "text", "text": output}]})

    ask = "Which tests make the suite take forty seconds?"
    entry({"role": "user", "content": [{"type": "text", "text": ask}]})
    slowest = "38.11s call     tests/test_stations.py::test_every_station_has_a_page\n"
    runs(
        "toolu_pi1",
        "python -m pytest -q --durations=3",
        f"{slowest} 0.31s call     tests/test_table.py::test_a_year\n15 passed in 39.80s",
        *(2210, 0, 74),
    )
    seen = "tests/stations/test_fetch.py:12:    time.sleep(0.5)"
    runs("toolu_pi2", "grep -rn sleep tests", seen, 410, 2284, 58)
    said = "One test: test_every_station_has_a_page sleeps half a second for each of 76 stations."
    answers([{"type": "text", "text": said}], "stop", 190, 2752, 49)
    name = f"2026-06-02T07-48-20-000Z_{session}.jsonl"
    return {f".pi/agent/sessions/--home-mira-code-tidewatch--/{name}": jsonl(lines)}


STORIES = (
    unknown_harbour,
    packet_export,
    slow_tests,
    *LOG_STORIES,
    *DOCUMENT_STORIES,
    *DATABASE_STORIES,
)


def demo_of_agents() -> Files:
    files: Files = {}
    for story in STORIES:
        files |= story()
    return files
