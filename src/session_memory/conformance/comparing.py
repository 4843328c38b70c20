"""Compare what our adapter read from an agent's log with what the script did.

A difference has a key, such as `tokens`. A driver declares the keys of known differences, with the
reason: usually the agent's log leaves something out. A difference that is declared for a scenario
but does not occur is reported as well, so the declarations stay true (`result.py`).
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from session_memory.conformance.found import FoundInLogs, buckets, sum_of
from session_memory.core.schema import Session, Usage
from session_memory.core.text import one_line

TALK = ("main", "subagents")
SIDE = ("summary", "aux")
_FORK, _MAIN = "fork", "main"
# The sessions of a scenario that are no subagents. Forks are numbered from the second one on.
_NAMED = re.compile(r"(main|fork)(?: \d+)?")


@dataclass(frozen=True)
class Difference:
    """`key` names what was compared; `text` says what differs."""

    key: str
    text: str


def compare(
    truth: dict[str, Any], found: FoundInLogs, *, per_turn: bool = False, inside: bool = False
) -> list[Difference]:
    """Return all differences between what the script did and what was found in the logs.

    `truth` is what the script did, as in `EXPECTED.json`. `per_turn`: the log has the tokens of a
    turn, not of each request. `inside`: subagents have no session of their own.
    """
    parts = (
        played_in_full(truth),
        _turns(truth, found) if per_turn else _requests(truth, found),
        _prompts(truth, found),
        _calls(truth, found),
        _interrupts(truth, found),
        _sessions(truth, found, inside),
        _lines(found),
    )
    return [difference for part in parts for difference in part]


def played_in_full(truth: dict[str, Any]) -> Iterator[Difference]:
    """Yield a difference unless the agent asked for every reply of the script, and no more."""
    if truth["skipped"]:
        yield Difference("script", f"{truth['skipped']} replies of the script were not asked for")
    if truth["over"]:
        yield Difference("script", f"{truth['over']} requests came after the end of the script")


def _of_groups(truth: dict[str, Any], groups: tuple[str, ...]) -> list[dict[str, Any]]:
    return [request for request in truth["requests"] if request["group"] in groups]


def _tokens(request: dict[str, Any]) -> dict[str, int]:
    return {name: count for name, count in request["tokens"].items() if name != "total"}


def _requests(truth: dict[str, Any], found: FoundInLogs) -> Iterator[Difference]:
    """Compare the tokens and model of each request that was answered in full.

    A request is found in the log by its id, or by its tokens if the log has no ids.
    """
    left = list(found.usage)
    missing: Counter[str] = Counter()
    for request in _of_groups(truth, (*TALK, *SIDE)):
        group, usage = request["group"], _taken(left, request)
        if usage is None:
            missing[group] += 1
        elif buckets(usage) != _tokens(request):
            wrong = _changed(_tokens(request), buckets(usage))
            # An agent may log the tokens of an answer and not how many of them were reasoning.
            is_part = not usage.reasoning_tokens and _alike(buckets(usage), _tokens(request))
            name = "reasoning" if is_part and group in TALK else "tokens"
            yield Difference(_key(group, name), f"request {request['seq']}: {wrong}")
        elif usage.model != request["model"]:
            name = f"{usage.model} instead of {request['model']}"
            yield Difference("model", f"request {request['seq']}: {name}")
    for group, count in missing.items():
        yield Difference(_key(group, "requests"), f"{count} answered requests are not in the log")
    broken = {one["message_id"] for one in _of_groups(truth, ("incomplete",))}
    if partial := [usage for usage in left if usage.usage_id in broken]:
        yield Difference(
            "incomplete", f"{len(partial)} requests count that were not answered in full"
        )
    if left := [usage for usage in left if usage.usage_id not in broken]:
        named = ", ".join(sorted(usage.usage_id for usage in left)[:3])
        yield Difference("extra", f"usage of {len(left)} requests that nobody made: {named}")


def _key(group: str, name: str) -> str:
    return name if group in TALK else f"{group} {name}"


def _taken(left: list[Usage], request: dict[str, Any]) -> Usage | None:
    """Remove the usage of a request from ``left`` and return it; None if ``left`` has none."""
    match = [usage for usage in left if usage.usage_id == request["message_id"]]
    match = match or [usage for usage in left if buckets(usage) == _tokens(request)]
    match = match or [usage for usage in left if _alike(buckets(usage), _tokens(request))]
    if not match:
        return None
    left.remove(match[0])
    return match[0]


def _alike(one: dict[str, int], other: dict[str, int]) -> bool:
    """Whether two counts are equal except for the reasoning, which is a part of the output."""
    return {**one, "reasoning": 0} == {**other, "reasoning": 0}


def _changed(expected: dict[str, int], found: dict[str, int]) -> str:
    names = [name for name in expected if expected[name] != found[name]]
    return ", ".join(f"{name} {found[name]} instead of {expected[name]}" for name in names)


def _turns(truth: dict[str, Any], found: FoundInLogs) -> Iterator[Difference]:
    """Compare the sum of tokens of each session, for an agent that logs tokens per turn."""
    expected: dict[str, Counter[str]] = {}
    for request in _of_groups(truth, TALK):
        expected.setdefault(request["session"], Counter()).update(_tokens(request))
    sessions: dict[str, list[Usage]] = {}
    for usage in found.usage:
        sessions.setdefault(usage.session_uid, []).append(usage)
    have = [sum_of(usages) for usages in sessions.values()]
    for session, tokens in expected.items():
        if +tokens in have:
            have.remove(+tokens)
        else:
            closest = min(have, key=lambda one: abs(one.total() - tokens.total()), default=None)
            seen = "nothing" if closest is None else _changed(dict(tokens), Counter(closest))
            yield Difference("tokens", f"{session}: {seen}")
    if count := len(_of_groups(truth, SIDE)):
        yield Difference("side requests", f"{count} requests are not in the log")


def _prompts(truth: dict[str, Any], found: FoundInLogs) -> Iterator[Difference]:
    # An event shows only the first words of its prompt, on one line.
    expected = Counter(one_line(prompt) for prompt in truth["prompts"])
    have = Counter(event.summary.strip().strip('"') for event in found.of_kind("user_msg"))
    for name, texts in (("missing", expected - have), ("not sent", have - expected)):
        if texts:
            yield Difference("prompts", f"{name}: {'; '.join(sorted(texts))[:200]}")


def _calls(truth: dict[str, Any], found: FoundInLogs) -> Iterator[Difference]:
    """Compare the calls, and which of them failed: their number, and their ids if they have any."""
    calls = [call for request in _of_groups(truth, TALK) for call in request["tools"]]
    made, failed = found.of_kind("tool_call"), found.of_kind("tool_result")
    failed = [event for event in failed if event.is_error]
    wrong = [call for call in calls if call["fails"]]
    for key, expected, events in (("calls", calls, made), ("tool errors", wrong, failed)):
        if len(expected) != len(events):
            names = Counter(call["name"] for call in expected)
            names.subtract(str(event.tool) for event in events)
            differing = {name: count for name, count in names.items() if count}
            yield Difference(key, f"{len(events)} instead of {len(expected)} {differing}")
        elif all(call["id"] for call in expected):
            ids = {call["id"] for call in expected} ^ {event.call_id for event in events}
            if ids:
                yield Difference(key, f"other ids: {', '.join(sorted(map(str, ids)))[:200]}")


def _interrupts(truth: dict[str, Any], found: FoundInLogs) -> Iterator[Difference]:
    # A prompt that corrects the agent is a human_intervention as well, but no interrupt.
    kind = "human_intervention"
    seen = [event for event in found.of_kind(kind) if not event.is_a("user_msg")]
    if truth["truth"]["interrupted"] and not seen:
        yield Difference("interrupt", "no event says that the user stopped the agent")
    elif seen and not truth["truth"]["interrupted"] and not truth["truth"]["denied"]:
        kinds = ", ".join(sorted({str(event.native_kind) for event in seen}))
        yield Difference("interrupt", f"nobody stopped the agent, but there is {kinds}")


def _sessions(truth: dict[str, Any], found: FoundInLogs, inside: bool) -> Iterator[Difference]:
    """Compare the number of sessions, forks and subagents, and check their parents."""
    relations = Counter(session.relation for session in found.sessions)
    expected = {
        None: 1,
        "subagent": 0 if inside else truth["truth"]["subagents"],
        "fork": truth["truth"]["forks"],
    }
    for relation in {*expected, *relations}:
        if relations[relation] != expected.get(relation, 0):
            name = f"{relation} sessions" if relation else "sessions without a parent"
            count = f"{relations[relation]} instead of {expected.get(relation, 0)}"
            yield Difference("sessions", f"{count} {name}")
    # A subagent may be that of a fork.
    parents = {one.session_uid for one in found.sessions if one.relation in (None, _FORK)}
    for session in found.sessions:
        if session.relation is not None and session.parent_uid not in parents:
            yield Difference("parents", f"{session.session_uid} has parent {session.parent_uid}")
    yield from _owners(truth, found, _MAIN if inside else "subagent")


def _owners(truth: dict[str, Any], found: FoundInLogs, of_subagents: str) -> Iterator[Difference]:
    """Check that each request counts for the session that made it."""
    by_uid: dict[str, Session] = {one.session_uid: one for one in found.sessions}
    owner = {usage.usage_id: by_uid[usage.session_uid] for usage in found.usage}
    for request in _of_groups(truth, TALK):
        session = owner.get(request["message_id"])
        named = _NAMED.fullmatch(request["session"])
        kind = named[1] if named else of_subagents
        if session is not None and (session.relation or _MAIN) != kind:
            relation = session.relation or _MAIN
            text = f"request {request['seq']} counts for the {relation} session, not the {kind}"
            yield Difference("owners", text)


def _lines(found: FoundInLogs) -> Iterator[Difference]:
    if found.problems:
        yield Difference("problems", "; ".join(found.problems)[:300])
    if found.unaccounted:
        yield Difference("lines", f"{found.unaccounted} lines became nothing")
