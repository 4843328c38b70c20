"""Decide when to compact a session and which messages to fold. Pure functions, without a model.

The size of a context is everything that was sent (uncached input, cache reads and cache writes)
plus the answer. Some providers include the cached part in the input figure, others do not.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence, Set
from typing import Any

import msgspec

from session_memory.core.errors import InvalidRecord
from session_memory.core.text import short_repr
from session_memory.live.arguments import mapping, whole
from session_memory.live.blocks import calls_in, failures_in, is_prompt, pair_calls, text_of
from session_memory.live.rows import MessageRow

THRESHOLD = 0.8
_FIGURE = re.compile(r"[0-9]{1,18}(\.[0-9]*)?")
# No response uses more tokens. A larger figure is in no sum, and starts no compaction.
MOST_TOKENS = 1 << 40
KEPT_EXCHANGES = 4
LINE = 300

# Input figures that include the cached part: OpenAI, Gemini, Ollama.
_WHOLE = ("prompt_tokens", "prompt_token_count", "promptTokenCount", "prompt_eval_count")
# Input figures without the cached part: Anthropic, Bedrock.
_FRESH = ("input_tokens", "inputTokens")
_READ = ("cache_read_input_tokens", "cacheReadInputTokens", "cache_read_tokens")
_WRITTEN = ("cache_creation_input_tokens", "cacheWriteInputTokens", "cache_write_tokens")
# Providers with these fields include the cached part in the input figure.
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
# Gemini does not include thinking in its output figure.
_THOUGHT = ("thoughts_token_count", "thoughtsTokenCount")

UsageRecord = Mapping[str, Any] | None

CONTINUATION = """\
Summarize this session so that another run can go on without having seen it. Write five parts:
1. What the user asked for, in order, in their own words where they matter.
2. What was done, with the files and commands that count.
3. The present state: what works, what fails, what is half done.
4. Decisions and why they were made, and what was ruled out.
5. The next steps, the very next one first.
Keep names, paths, numbers and error texts exactly as they were."""


class CompactionPlan(msgspec.Struct, frozen=True):
    """The seqs of the messages to fold; empty if nothing is worth folding."""

    members: tuple[int, ...] = ()

    @property
    def from_seq(self) -> int:
        return self.members[0]

    @property
    def to_seq(self) -> int:
        return self.members[-1]

    def __bool__(self) -> bool:
        return bool(self.members)


def context_tokens(usage: UsageRecord) -> int:
    """Return the tokens of a request and its answer, from the usage record of any provider.

    0 if the record has no figures, or figures that no response can have.
    """
    tokens = (input_tokens(usage) or 0) + (output_tokens(usage) or 0)
    return tokens if tokens <= MOST_TOKENS else 0


def input_tokens(usage: UsageRecord) -> int | None:
    """All tokens that were sent, cached or not; None if the record has no input figure."""
    record = usage or {}
    whole = _first(record, _WHOLE)
    fresh = _first(record, _FRESH)
    if whole is not None or fresh is None:
        return whole
    if _counts_cache_inside(record):
        return fresh
    return fresh + (_first(record, _READ) or 0) + (_first(record, _WRITTEN) or 0)


def output_tokens(usage: UsageRecord) -> int | None:
    output = _first(usage or {}, _OUTPUT)
    return None if output is None else output + (_first(usage or {}, _THOUGHT) or 0)


def cache_tokens(usage: UsageRecord) -> tuple[int | None, int | None]:
    """The cached tokens in a usage record: ``(read from a cache, written to a cache)``."""
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
    last_usage: Mapping[str, Any] | int | None,
    context_window: int | None,
    threshold: float = THRESHOLD,
) -> bool:
    """Whether the context takes ``threshold`` of the window. A threshold of 0 means never.

    ``last_usage`` is a provider's usage record, or the number of tokens in the context.
    """
    if not context_window or whole(context_window, "context_window") <= 0:
        return False
    if last_usage is not None and not isinstance(last_usage, int):
        mapping(last_usage, "last_usage")
    if not isinstance(threshold, int | float):
        raise InvalidRecord(
            f"threshold must be a number, not {short_repr(threshold)}", field="threshold"
        )
    if not last_usage or threshold <= 0:
        return False
    used = last_usage if isinstance(last_usage, int) else context_tokens(last_usage)
    return used >= context_window * threshold


def plan_compaction(context: Sequence[MessageRow], keep: int = KEPT_EXCHANGES) -> CompactionPlan:
    """Plan to fold everything before the last ``keep`` exchanges, without splitting calls and
    results.

    An exchange starts with a prompt by a person.
    """
    whole(keep, "keep")
    prompts = [position for position, message in enumerate(context) if is_prompt(message)]
    # With one more prompt at the end, ``keep=0`` folds everything.
    ends = [*prompts, len(context)]
    end = ends[-max(keep, 0) - 1] if len(prompts) > keep else 0
    members = [message.seq for message in context[:end] if not _is_instruction(message)]
    members = members[: _foldable(context, members)]
    # Folding one single message gains nothing.
    return CompactionPlan(tuple(members)) if len(members) > 1 else CompactionPlan()


def _foldable(context: Sequence[MessageRow], members: Sequence[int]) -> int:
    """How many of the first ``members`` can be folded without separating a call and its result."""
    pairs, waiting = pair_calls(context)
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
    """Whether folding ``members`` would separate a call from its result, or fold an open call."""
    pairs, waiting = pair_calls(context)
    return any((call in members) != (result in members) for call, result in pairs) or any(
        call.seq in members for call in waiting
    )


def whole_calls(context: Sequence[MessageRow], members: Set[int]) -> set[int]:
    """Return those of ``members`` that can be folded. A call is folded only with its result.

    If ``members`` has no message that can be folded so, the calls and results that it lacks are
    added. A call that has no result yet is never folded.
    """
    pairs, waiting = pair_calls(context)
    is_open = {call.seq for call in waiting}
    kept = _without_split(pairs, members - is_open)
    if kept:
        return kept
    grown = set(members)
    while split := _split(pairs, grown) - grown:
        grown |= split
    return _without_split(pairs, grown - is_open)


def _without_split(pairs: Sequence[tuple[int, int]], members: Set[int]) -> set[int]:
    kept = set(members)
    # Without one result, the call and its other results cannot be folded either.
    while split := _split(pairs, kept) & kept:
        kept -= split
    return kept


def _split(pairs: Sequence[tuple[int, int]], members: Set[int]) -> set[int]:
    """Return the seqs of calls and results that ``members`` would separate from each other."""
    return {seq for pair in pairs if (pair[0] in members) != (pair[1] in members) for seq in pair}


def plain_summary(messages: Sequence[MessageRow]) -> str:
    """A summary made without a model: prompts, calls, answers and errors in five parts."""
    asked = [text_of(m.content) for m in messages if is_prompt(m)]
    notes = [text_of(m.content) for m in messages if m.name == "compact_note"]
    calls = [call for m in messages for call in calls_in(m)]
    answers = [text_of(m.content) for m in messages if m.role == "assistant"]
    answers = [text for text in answers if text]
    failed = [text for m in messages for text in failures_in(m)]
    parts = [
        ("What the user asked for", [*notes, *asked]),
        ("What was done", [f"{call.name}: {_short(call.arguments)}" for call in calls]),
        ("The present state", [*failed[-3:], *answers[-1:]]),
        ("Decisions", answers[-4:-1]),
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
    if isinstance(value, str):
        # Some gateways write numbers as texts.
        value = float(value) if _FIGURE.fullmatch(value.strip()) else 0
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return int(value) if is_number and value > 0 else 0
