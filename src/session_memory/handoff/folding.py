"""Fold older turns into one message, so that a conversation fits into the context of a model."""

import json
from collections.abc import Iterator

from session_memory.core.text import one_line
from session_memory.handoff.conversation import StoredAnswer, StoredPrompt, StoredStep
from session_memory.learn.digest import Digest
from session_memory.redact import mask

# Of English text and code, about four characters are a token.
CHARACTERS_A_TOKEN = 4
MOST_LISTED = 20
LONGEST_LINE = 300

Turn = list[StoredStep]


def turns_of(steps: list[StoredStep]) -> list[Turn]:
    """Each prompt with what follows it. Steps before the first prompt are a turn too."""
    turns: list[Turn] = []
    for step in steps:
        if isinstance(step, StoredPrompt) or not turns:
            turns.append([])
        turns[-1].append(step)
    return turns


def tokens_of(steps: list[StoredStep]) -> int:
    """About how many tokens these steps have."""
    return sum(map(_characters, steps)) // CHARACTERS_A_TOKEN


def _characters(step: StoredStep) -> int:
    if not isinstance(step, StoredAnswer):
        return len(step.text)
    calls = sum(
        len(call.result) + len(json.dumps(call.arguments, default=str)) for call in step.calls
    )
    return calls + sum(map(len, step.texts))


def split(
    steps: list[StoredStep], last: int | None, tokens: int | None
) -> tuple[list[Turn], list[Turn]]:
    """Return the turns to fold, and those to keep: at most ``last``, of about ``tokens`` in all.

    The last turn is always kept."""
    turns = turns_of(steps)
    kept, size = 0, 0
    for turn in reversed(turns):
        size += tokens_of(turn)
        if kept and ((last is not None and kept >= last) or (tokens is not None and size > tokens)):
            break
        kept += 1
    return turns[: len(turns) - kept], turns[len(turns) - kept :]


def folded(turns: list[Turn], digest: Digest) -> StoredPrompt:
    """Return one message that says what these turns were about. Its text is masked."""
    return StoredPrompt(mask("\n".join(_lines(turns, digest))), is_summary=True)


def _lines(turns: list[Turn], digest: Digest) -> Iterator[str]:
    count = len(turns)
    yield f"Earlier in this session, {count} {'turn' if count == 1 else 'turns'} in short:"
    before = [step for turn in turns for step in turn if isinstance(step, StoredPrompt)]
    for step in before:
        if step.is_summary:
            yield from ("", step.text)
    asked = [step.text for step in before if not step.is_summary]
    yield from _part("Asked", asked)
    yield from _part("Decided", [one.text for one in digest.decisions])
    yield from _part("The person stepped in", [one.text for one in digest.interventions])
    changed = [one for one in digest.files if one.edits]
    yield from _part("Files changed", [f"{one.path} ({_times(one.edits)})" for one in changed])
    yield from _part("Commits", [one.text for one in digest.commits])
    tests = [f"{one.command}: {_passed(one.passed)}" for one in digest.tests[-3:]]
    yield from _part("Last test runs", tests)
    solved = [one for one in digest.error_snippets if one.resolution is not None]
    fixes = [_fixed(one.sample, one.resolution.text) for one in solved if one.resolution]
    yield from _part("Errors that were resolved", fixes)
    still = [one.sample for one in digest.error_snippets if one.resolution is None]
    yield from _part("Errors that may be open", still)
    tried = [f"{one.call} (failed {one.failures} times)" for one in digest.repeats]
    yield from _part("Tried in vain", tried)
    answers = [step for turn in turns for step in turn if isinstance(step, StoredAnswer)]
    text = next((one.texts[-1] for one in reversed(answers) if one.texts), "")
    if text:
        yield from ("", "The last answer of these turns:", text)


def _part(heading: str, texts: list[str]) -> Iterator[str]:
    if not texts:
        return
    yield from ("", f"{heading}:")
    left = len(texts) - MOST_LISTED
    # The newest texts matter most. The first text says what the session was about.
    shown = texts if left <= 0 else [texts[0], *texts[-MOST_LISTED + 1 :]]
    yield from (f"- {one_line(text, LONGEST_LINE)}" for text in shown)
    if left > 0:
        yield f"- ({left} more)"


def _fixed(error: str, text: str) -> str:
    return f"{error} → {text}" if text.strip() else error


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _passed(passed: bool | None) -> str:
    return "unknown" if passed is None else "passed" if passed else "failed"
