"""When and what to compact: pure functions, for callers with a model and for those without.

The size of a context is all that was sent: fresh input and everything read from or written to a
cache. Whether the input already contains the cached part depends on the provider.
"""

import json
import math
from collections.abc import Mapping, Sequence, Set
from typing import Any

import msgspec

from session_memory.live.blocks import calls_in, failures_in, is_prompt, paired, text_of
from session_memory.live.rows import MessageRow

THRESHOLD = 0.8
KEPT_EXCHANGES = 4
LINE = 300

# Names of the input whose figure contains the cached part: OpenAI, Gemini, Ollama.
_WHOLE = ("prompt_tokens", "prompt_token_count", "promptTokenCount", "prompt_eval_count")
# And those beside which the cached part is counted extra: Anthropic, Bedrock.
_FRESH = ("input_tokens", "inputTokens")
_READ = ("cache_read_input_tokens", "cacheReadInputTokens", "cache_read_tokens")
_WRITTEN = ("cache_creation_input_tokens", "cacheWriteInputTokens", "cache_write_tokens")
# Who speaks of the cached part as of a detail of the input has counted it there.
_DETAILS = ("input_tokens_details", "input_token_details", "prompt_tokens_details")
_INSIDE = (
    "cached_tokens",
    "cache_read",
    "cachedInputTokens",
    "cached_content_token_count",
    "cachedContentTokenCount",
    "prompt_cache_hit_tokens",
)
_OUTPUT = (
    "output_tokens",
    "completion_tokens",
    "candidates_token_count",
    "candidatesTokenCount",
    "outputTokens",
    "eval_count",
)
# Gemini counts what a model thought beside what it said.
_THOUGHT = ("thoughts_token_count", "thoughtsTokenCount")

Told = Mapping[str, Any] | None

CONTINUATION = """\
Summarize this session so that another run can go on without having seen it. Write five parts:
1. What the user asked for, in order, in their own words where they matter.
2. What was done, with the files and commands that count.
3. The present state: what works, what fails, what is half done.
4. Decisions and why they were made, and what was ruled out.
5. The next steps, the very next one first.
Keep names, paths, numbers and error texts exactly as they were."""


class CompactionPlan(msgspec.Struct, frozen=True):
    """Which messages of a context to fold; none when there is nothing worth folding."""

    members: tuple[int, ...] = ()

    @property
    def from_seq(self) -> int:
        return self.members[0]

    @property
    def to_seq(self) -> int:
        return self.members[-1]

    def __bool__(self) -> bool:
        return bool(self.members)


def context_tokens(usage: Told) -> int:
    """What the last request's context came to, by any provider's names for it."""
    return (input_tokens(usage) or 0) + (output_tokens(usage) or 0)


def input_tokens(usage: Told) -> int | None:
    """All that was sent, cached or not; None where nothing is said."""
    record = usage or {}
    whole = _first(record, _WHOLE)
    fresh = _first(record, _FRESH)
    if whole is not None or fresh is None:
        return whole
    if _counts_cache_inside(record):
        return fresh
    return fresh + (_first(record, _READ) or 0) + (_first(record, _WRITTEN) or 0)


def output_tokens(usage: Told) -> int | None:
    said = _first(usage or {}, _OUTPUT)
    return None if said is None else said + (_first(usage or {}, _THOUGHT) or 0)


def cache_tokens(usage: Told) -> tuple[int | None, int | None]:
    """What was read from a cache and what was written to one."""
    record = usage or {}
    read = _first(record, _READ)
    for details in (record, *(record.get(name) for name in _DETAILS)):
        if read is None and isinstance(details, Mapping):
            read = _first(details, _INSIDE)
    return read, _first(record, _WRITTEN)


def _counts_cache_inside(record: Mapping[str, Any]) -> bool:
    names = (*_DETAILS, "cachedInputTokens")
    return any(record.get(name) is not None for name in names)


def should_compact(
    last_usage: Mapping[str, Any] | None,
    context_window: int | None,
    threshold: float = THRESHOLD,
) -> bool:
    if not context_window or context_window <= 0:
        return False
    return context_tokens(last_usage) >= context_window * threshold


def plan_compaction(context: Sequence[MessageRow], keep: int = KEPT_EXCHANGES) -> CompactionPlan:
    """Fold everything before the last ``keep`` exchanges, and never a call without its result.

    An exchange begins with what a person said.
    """
    prompts = [position for position, message in enumerate(context) if is_prompt(message)]
    # As if one more prompt stood at the end: keeping none folds up to there.
    ends = [*prompts, len(context)]
    end = ends[-max(keep, 0) - 1] if len(prompts) > keep else 0
    members = [message.seq for message in context[:end] if not _is_instruction(message)]
    members = members[: _whole(context, members)]
    # A lone note gains nothing by being folded into another.
    return CompactionPlan(tuple(members)) if len(members) > 1 else CompactionPlan()


def _whole(context: Sequence[MessageRow], members: Sequence[int]) -> int:
    """How many of ``members`` can be folded from the first on without parting a call."""
    pairs, waiting = paired(context)
    position = {seq: number for number, seq in enumerate(members)}
    end = min(
        (position[call.seq] for call in waiting if call.seq in position), default=len(members)
    )
    for call, result in sorted(pairs, reverse=True):
        if position.get(call, end) < end <= position.get(result, end):
            end = position[call]
    return end


def _is_instruction(message: MessageRow) -> bool:
    return message.role == "system" and message.name != "compact_note"


def splits_a_call(context: Sequence[MessageRow], members: Set[int]) -> bool:
    """Whether folding ``members`` would part a call from its result, also from one to come."""
    pairs, waiting = paired(context)
    return any((call in members) != (result in members) for call, result in pairs) or any(
        call.seq in members for call in waiting
    )


def plain_summary(messages: Sequence[MessageRow]) -> str:
    """The five parts without a model: what was asked, run and said, as it stands."""
    asked = [text_of(m.content) for m in messages if is_prompt(m)]
    notes = [text_of(m.content) for m in messages if m.name == "compact_note"]
    calls = [call for m in messages for call in calls_in(m)]
    said = [text_of(m.content) for m in messages if m.role == "assistant" and text_of(m.content)]
    failed = [text for m in messages for text in failures_in(m)]
    parts = [
        ("What the user asked for", [*notes, *asked]),
        ("What was done", [f"{call.name}: {_short(call.arguments)}" for call in calls]),
        ("The present state", [*failed[-3:], *said[-1:]]),
        ("Decisions", said[-4:-1]),
        ("Next steps", asked[-1:]),
    ]
    return "\n\n".join(
        f"## {title}\n" + ("\n".join(f"- {_line(line)}" for line in lines) or "- nothing noted")
        for title, lines in parts
    )


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LINE else f"{line[: LINE - 1]}…"


def _first(usage: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((_number(usage[name]) for name in names if usage.get(name) is not None), None)


def _number(value: Any) -> int:
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return int(value) if is_number and value > 0 else 0
