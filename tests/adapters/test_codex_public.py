"""Codex's own totals, in the logs that people published and in the recorded ones, beside ours."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.base import Cursor, Record, SourceRef
from session_memory.adapters.codex import AGENT as codex
from session_memory.testing.adapters import BytesSource

TESTS = Path(__file__).parent.parent
SHARED = Path(os.environ.get("SESSION_MEMORY_SHARED") or TESTS.parent.parent / "shared")
FIELDS = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")


def refs() -> list[SourceRef]:
    roots = (TESTS / "data" / "codex", SHARED / "samples" / "public" / "codex")
    found = [ref for root in roots if root.is_dir() for ref in codex.discover(root)]
    return [ref for ref in found if isinstance(ref, SourceRef)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "ref" in metafunc.fixturenames:
        metafunc.parametrize("ref", refs(), ids=lambda ref: ref.session[-12:])


def read(ref: SourceRef) -> list[Record]:
    return [record for _, record in codex.read(BytesSource(ref, ref.path.read_bytes()), Cursor())]


def payloads(ref: SourceRef) -> Iterator[dict[str, Any]]:
    for line in ref.path.read_bytes().split(b"\n")[:-1]:
        yield json.loads(line).get("payload") or {}


def named(tokens: dict[str, int]) -> Counter[str]:
    return Counter({name: tokens[name] for name in FIELDS})


def final_totals(ref: SourceRef) -> list[Counter[str]]:
    """The last total, and the last one before each time that counting started anew."""
    totals: list[Counter[str]] = []
    for payload in payloads(ref):
        info = payload.get("info") if payload.get("type") == "token_count" else None
        if info is None:
            continue
        total, last = named(info["total_token_usage"]), named(info["last_token_usage"])
        if totals and total == last and total != totals[-1]:
            totals.append(total)
        else:
            totals[-1:] = [total]
    return totals


def test_our_sum_is_the_agents_own_total(ref: SourceRef) -> None:
    ours: Counter[str] = Counter(dict.fromkeys(FIELDS, 0))
    for usage in (record.usage for record in read(ref) if record.usage):
        cached = usage.cache_read_tokens
        ours["input_tokens"] += usage.input_tokens + cached + usage.cache_write_tokens
        ours["cached_input_tokens"] += cached
        ours["output_tokens"] += usage.output_tokens
        ours["reasoning_output_tokens"] += usage.reasoning_tokens
    totals = final_totals(ref)
    assert ours == sum(totals, Counter(dict.fromkeys(FIELDS, 0)))
    # Only a log that begins with a copy of another may have had more than one count.
    metas = {p["id"] for p in payloads(ref) if "cli_version" in p}
    assert len(totals) <= max(len(metas), 1)


def test_people_prompt_as_often_as_the_agent_says_they_did(ref: SourceRef) -> None:
    said = sum(p.get("type") == "user_message" for p in payloads(ref))
    said += sum((p.get("item") or {}).get("type") == "UserMessage" for p in payloads(ref))
    events = [event for record in read(ref) for event in record.events]
    tasks = sum(event.native_kind == "user/subagent_prompt" for event in events)
    prompts = sum(event.is_prompt for event in events)
    is_bare = any(event.native_kind == "header" for event in events)
    assert is_bare or prompts + tasks == said
    assert not (prompts and tasks)


def test_every_line_is_told_once_or_accounted_for(ref: SourceRef) -> None:
    records = read(ref)
    lines = [line for line in ref.path.read_bytes().split(b"\n") if line.strip()]
    assert len(records) == len(lines)
    assert not [record for record in records if record.problem or record.lenient]
    names = [record.native_id for record in records if record.events]
    assert None not in names and len(set(names)) == len(names)
