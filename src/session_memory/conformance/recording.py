"""Record a run: the agent's logs below `home`, and what the script did in `EXPECTED.json`."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

from session_memory.conformance.driver import Driver
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.played import AUX, MAIN, SUMMARY, AnsweredRequest, Played
from session_memory.conformance.reply import TokenCounts
from session_memory.conformance.running import Run
from session_memory.conformance.scenario import Scenario

_NOT_LOGS = ("node_modules", "*.sock", "bin", "*.lock")
DEFINITIONS = (
    "user_messages: prompts of the user; copied history counts once, prompts of subagents do not. "
    "assistant_messages: answers that arrived in full, of the session and its subagents. "
    "tool_errors: calls that failed, were denied or exited with another status than 0. "
    "requests[].usage is what the wire said, requests[].tokens are the same tokens, each counted "
    "once: input_uncached + cache_read + cache_write_5m + cache_write_1h + output_incl_reasoning."
)


def group_of(request: AnsweredRequest) -> str:
    """Return the group of a request in `EXPECTED.json`: main, subagents, summary, aux, or why the
    answer was not complete."""
    if not request.in_full:
        return "error" if request.reply.error else "incomplete"
    return request.lane if request.lane in (MAIN, SUMMARY, AUX) else "subagents"


def named(counts: TokenCounts) -> dict[str, int]:
    """Return token counts under the names of `EXPECTED.json`."""
    buckets = {
        "input_uncached": counts.uncached,
        "cache_read": counts.cache_read,
        "cache_write_5m": counts.cache_write,
        "cache_write_1h": counts.cache_write_1h,
        "output_incl_reasoning": counts.output,
    }
    total = sum(buckets.values())
    return {**buckets, "reasoning": counts.reasoning, "total": total}


def expected(
    driver: Driver,
    version: str,
    scenario: Scenario,
    place: AgentPlace,
    played: Played,
    runs: list[Run],
) -> dict[str, Any]:
    """Return the content of `EXPECTED.json`: what the script did, and how the runs ended."""
    return {
        "agent": driver.name,
        "version": version,
        "scenario": scenario.name,
        "title": scenario.title,
        "cwd": str(place.repo),
        "home": str(place.home),
        "skipped": played.skipped,
        "over": played.over,
        "truth": _truth(scenario, played),
        "definitions": DEFINITIONS,
        "prompts": played.prompts,
        "subagent_prompts": list(scenario.subagents),
        "requests": [_request(at, one) for at, one in enumerate(played.requests, 1)],
        "other_requests": played.others,
        "runs": [
            {"status": run.status, "seconds": round(run.seconds, 1), "output": run.output[-3000:]}
            for run in runs
        ],
    }


def _truth(scenario: Scenario, played: Played) -> dict[str, Any]:
    requests = played.requests
    talk = [one for one in requests if group_of(one) in ("main", "subagents")]
    calls = [call for one in talk for call in one.reply.calls]
    groups: dict[str, Counter[str]] = {}
    for one in requests:
        if not one.reply.error:
            counts = named(one.sent.wire.reported(one.reply.usage))
            groups.setdefault(group_of(one), Counter()).update(counts)
    conversation = groups.get("main", Counter()) + groups.get("subagents", Counter())
    return {
        "user_messages": len(played.prompts),
        "assistant_messages": len(talk),
        "tool_calls": len(calls) + sum(len(one.reply.items) for one in talk),
        "tool_errors": sum(call.fails for call in calls),
        "interrupted": scenario.interrupted,
        "denied": not all(turn.approve for turn in scenario.turns),
        "subagents": len(scenario.subagents),
        "forks": scenario.forks,
        "tokens": {"by_group": groups, "conversation(main+subagents)": conversation},
    }


def _request(seq: int, one: AnsweredRequest) -> dict[str, Any]:
    reply, wire = one.reply, one.sent.wire
    found: dict[str, Any] = {
        "seq": seq,
        "lane": one.lane,
        "session": one.session,
        "group": group_of(one),
        "protocol": wire.name,
        "path": one.sent.path,
        "model": one.sent.model,
        "stream": one.sent.wants_stream,
        "t": one.at,
    }
    if reply.error:
        return {**found, "http_error": reply.error, "usage": None}
    tools = [
        {"id": call_id, "name": call.name, "args": call.arguments, "fails": call.fails}
        for call_id, call in zip(one.call_ids, reply.calls, strict=True)
    ]
    tools += [
        {"id": item["call_id"], "name": item["type"], "args": item["arguments"], "fails": False}
        for item in reply.items
    ]
    return {
        **found,
        "usage": wire.counts(reply.usage),
        "tokens": named(wire.reported(reply.usage)),
        "thinking": reply.thinking or None,
        "text": reply.text or None,
        "tools": tools,
        "message_id": one.response_id,
        **({"fault": reply.fault} if reply.fault else {}),
    }


def copy_logs(driver: Driver, home: Path, target: Path) -> None:
    """Copy what the agent logged, and nothing else of its home."""
    for name in driver.logs:
        source, copied = home / name, target / name
        copied.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            ignored = shutil.ignore_patterns(*_NOT_LOGS)
            shutil.copytree(source, copied, symlinks=True, dirs_exist_ok=True, ignore=ignored)
        # A SQLite database has its newest rows in a file beside it.
        for file in source.parent.glob(f"{source.name}*"):
            if file.is_file():
                shutil.copy2(file, copied.parent / file.name)


def record(driver: Driver, home: Path, directory: Path, truth: dict[str, Any]) -> Path:
    """Write one run below `directory` and return where."""
    target = directory / f"{driver.name}-{truth['version']}" / str(truth["scenario"])
    shutil.rmtree(target, ignore_errors=True)
    (target / "home").mkdir(parents=True)
    copy_logs(driver, home, target / "home")
    (target / "EXPECTED.json").write_text(json.dumps(truth, indent=1, ensure_ascii=False) + "\n")
    return target
