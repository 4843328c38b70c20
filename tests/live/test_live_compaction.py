"""When and what to compact: pure, tested alone, with every provider's names for its tokens."""

from typing import Any

import pytest

from session_memory.live import CompactionRow, MessageRow, SessionStore
from session_memory.live.compaction import (
    CONTINUATION,
    context_tokens,
    plain_summary,
    plan_compaction,
    should_compact,
    splits_a_call,
)
from session_memory.live.context import context

USAGES: list[tuple[str, dict[str, Any]]] = [
    (
        "anthropic",
        {
            "input_tokens": 50,
            "cache_read_input_tokens": 600,
            "cache_creation_input_tokens": 100,
            "output_tokens": 50,
        },
    ),
    (
        "openai chat",
        {
            "prompt_tokens": 750,
            "completion_tokens": 50,
            "prompt_tokens_details": {"cached_tokens": 600},
        },
    ),
    (
        "openai responses",
        {
            "input_tokens": 750,
            "output_tokens": 50,
            "input_tokens_details": {"cached_tokens": 600},
        },
    ),
    (
        "langchain",
        {"input_tokens": 750, "output_tokens": 50, "input_token_details": {"cache_read": 600}},
    ),
    (
        "gemini rest",
        {
            "promptTokenCount": 750,
            "candidatesTokenCount": 40,
            "thoughtsTokenCount": 10,
            "cachedContentTokenCount": 600,
        },
    ),
    ("gemini python", {"prompt_token_count": 750, "candidates_token_count": 50}),
    (
        "bedrock",
        {
            "inputTokens": 50,
            "cacheReadInputTokens": 600,
            "cacheWriteInputTokens": 100,
            "outputTokens": 50,
        },
    ),
    ("ai sdk", {"inputTokens": 750, "outputTokens": 50, "cachedInputTokens": 600}),
    (
        "deepseek",
        {"prompt_tokens": 750, "completion_tokens": 50, "prompt_cache_hit_tokens": 600},
    ),
    (
        "litellm",
        {"prompt_tokens": 750, "completion_tokens": 50, "cache_read_input_tokens": 600},
    ),
    ("ollama", {"prompt_eval_count": 750, "eval_count": 50}),
]


@pytest.mark.parametrize(("provider", "usage"), USAGES, ids=[name for name, _ in USAGES])
def test_cached_tokens_were_invisible_to_should_compact(
    provider: str, usage: dict[str, Any]
) -> None:
    assert context_tokens(usage) == 800
    assert should_compact(usage, 1000) is True
    assert should_compact(usage, 1001) is False
    assert should_compact(usage, 1001, threshold=0.75) is True
    assert SessionStore.should_compact(usage, 1000)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"input_tokens": None},
        {"input_tokens": "many"},
        {"input_tokens": -5},
        {"input_tokens": float("nan")},
        {"input_tokens": float("inf")},
        {"input_tokens": 10**17},
    ],
)
def test_nothing_is_compacted_on_a_figure_that_is_none(usage: Any) -> None:
    assert should_compact(usage, 100) is False


@pytest.mark.parametrize("window", [None, 0, -1])
def test_nothing_is_compacted_where_the_window_is_not_known(window: Any) -> None:
    assert should_compact({"input_tokens": 10**9}, window) is False


# ------------------------------------------------------------ the plan


def row(seq: int, role: str, **fields: Any) -> MessageRow:
    return MessageRow("s", seq, role, **fields)


def exchange(start: int, calls: int = 0) -> list[MessageRow]:
    """What a person says, calls with their results, and the answer."""
    messages = [row(start, "user", content=f"do {start}")]
    for number in range(calls):
        seq, name = start + 1 + 2 * number, f"c{start}-{number}"
        messages.append(row(seq, "assistant", tool_calls=[{"id": name}]))
        messages.append(row(seq + 1, "tool", tool_call_id=name, content="ok"))
    messages.append(row(start + 1 + 2 * calls, "assistant", content=f"did {start}"))
    return messages


def conversation(exchanges: int, calls: int = 1) -> list[MessageRow]:
    size = 2 + 2 * calls
    return [m for number in range(exchanges) for m in exchange(1 + number * size, calls)]


def test_the_last_exchanges_stay() -> None:
    messages = conversation(6)
    plan = plan_compaction(messages)
    assert plan.members == tuple(range(1, 9))
    assert (plan.from_seq, plan.to_seq) == (1, 8)
    assert plan_compaction(messages, keep=1).members == tuple(range(1, 21))
    assert plan_compaction(messages, keep=0).members == tuple(range(1, 25))
    assert not plan_compaction(messages, keep=6)
    assert not plan_compaction(conversation(4))
    assert not plan_compaction([])


def test_instructions_stay_and_notes_are_folded_on() -> None:
    rules = row(100, "system", content="rules")
    note = row(101, "system", name="compact_note", content="before")
    plan = plan_compaction([rules, note, *conversation(3)], keep=2)
    assert plan.members == (101, 1, 2, 3, 4)


def test_a_lone_note_is_not_folded_again() -> None:
    note = row(101, "system", name="compact_note", content="before")
    assert not plan_compaction([note, *conversation(4)], keep=4)
    assert not plan_compaction([note, *conversation(2)], keep=2)


def test_the_plan_never_splits_a_call_from_its_result() -> None:
    messages = conversation(3, calls=2)
    # The result of a call of the first exchange comes late, in the last one.
    late = messages.pop(2)
    messages.insert(14, late)
    for keep in range(4):
        plan = plan_compaction(messages, keep)
        assert not splits_a_call(messages, set(plan.members))
    assert plan_compaction(messages, 1).members == ()


def test_a_call_that_still_runs_is_not_folded() -> None:
    messages = conversation(3)
    del messages[6]
    plan = plan_compaction(messages, keep=0)
    assert plan.members == (1, 2, 3, 4, 5)


# ------------------------------------------------------------ the summary


def test_a_summary_without_a_model_has_the_five_parts() -> None:
    messages = conversation(3)
    messages[2].meta["is_error"] = True
    messages[2].content = "exit 1"
    note = row(50, "system", name="compact_note", content="earlier work")
    block = {"type": "tool_use", "id": "x", "name": "edit", "input": {"path": "\ud800"}}
    failed = {"type": "tool_result", "tool_use_id": "x", "model_text": "denied", "is_error": True}
    more = [row(51, "assistant", content=[block]), row(52, "user", content=[failed])]
    text = plain_summary([note, *messages, *more])
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## What the user asked for",
        "## What was done",
        "## The present state",
        "## Decisions",
        "## Next steps",
    ]
    for word in ("earlier work", "do 1", "do 9", "exit 1", "denied", "edit", "did 9"):
        assert word in text
    assert plain_summary([note, *messages, *more]) == text
    assert plain_summary([]).count("- nothing noted") == 5
    assert all(str(number) in CONTINUATION for number in range(1, 6))


def test_a_summary_is_bounded_however_long_the_messages_are() -> None:
    text = plain_summary([row(1, "user", content="x" * 10**6)])
    assert len(text) < 2000


# ------------------------------------------------------------ the context


def fold(number: int, note: int, members: list[int], *, is_undone: bool = False) -> CompactionRow:
    return CompactionRow(
        session_id="s",
        compact_seq=number,
        note_seq=note,
        from_seq=members[0],
        to_seq=members[-1],
        before_tokens=None,
        after_tokens=None,
        round_index=None,
        created_at=0,
        members=members,
        is_undone=is_undone,
    )


def test_the_context_is_a_function_of_path_and_folds_alone() -> None:
    path = [row(seq, "user", content=str(seq)) for seq in range(1, 7)]
    notes = {seq: row(seq, "system", name="compact_note") for seq in (10, 11, 12)}
    folds = [fold(2, 11, [10, 3]), fold(1, 10, [1, 2]), fold(3, 12, [5, 99])]

    def order(*chosen: CompactionRow) -> list[int]:
        return [message.seq for message in context(path, chosen, notes)]

    assert order() == [1, 2, 3, 4, 5, 6]
    assert order(folds[1]) == [10, 3, 4, 5, 6]
    assert order(*folds) == [11, 4, 5, 6]
    assert order(fold(1, 10, [2, 4])) == [1, 10, 3, 5, 6]
    assert order(fold(1, 10, [1, 2], is_undone=True)) == [1, 2, 3, 4, 5, 6]
    assert [message.seq for message in path] == [1, 2, 3, 4, 5, 6]
