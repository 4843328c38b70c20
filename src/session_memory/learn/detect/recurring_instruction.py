"""Detect instructions that a person gave in several sessions. An instruction file needs them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from session_memory.learn.detector import FleetDetector
from session_memory.learn.digest.wishes import Wish
from session_memory.learn.fleet import Fleet
from session_memory.learn.recurring_wishes import (
    MOST_COMPARED,
    SessionWish,
    recurring_wishes,
)
from session_memory.learn.signal import Signal
from session_memory.store.digests import DigestRow

DAY_MS = 86_400_000
# If several sessions have the same longer text, it is one task that was started again.
_LONG = 120
# If two prompts have so many wishes in common, word for word, nobody typed them twice.
_EQUAL = 3
_MOST_PROMPTS = 100


def recurring_instruction(fleet: Fleet) -> Iterator[Signal]:
    for asked in _by_repo(fleet).values():
        for group in recurring_wishes(asked):
            by_session: dict[str, list[str]] = {}
            for one in group.wishes:
                by_session.setdefault(one.session_uid, []).append(one.wish.event_uid)
            for session, events in by_session.items():
                yield fleet.signal(
                    session,
                    "recurring_instruction",
                    locus=" ".join(group.words),
                    magnitude=len(events),
                    detail=group.text,
                    evidence=tuple(events[:5]),
                )


def _by_repo(fleet: Fleet) -> dict[str | None, list[SessionWish]]:
    """Return the newest wishes (things that a person asked for) of each repository, oldest first.

    At most about `MOST_COMPARED` of each repository are read, because no more are compared.
    """
    # An agent wrote a subagent's prompts, not a person.
    own = [session for session in fleet.sessions if session.relation != "subagent"]
    own.sort(key=lambda session: (session.started_at or 0, session.session_uid))
    by_repo: dict[str | None, list[DigestRow]] = defaultdict(list)
    for session in own:
        by_repo[session.repo].append(session)
    return {repo: list(_newest_wishes(sessions)) for repo, sessions in by_repo.items()}


def _newest_wishes(sessions: list[DigestRow]) -> Iterator[SessionWish]:
    newest: list[tuple[DigestRow, list[Wish]]] = []
    count = 0
    for session in reversed(sessions):
        newest.append((session, msgspec.json.decode(session.directives, type=list[Wish])))
        count += len(newest[-1][1])
        if count >= MOST_COMPARED:
            break
    first_in: dict[str, str] = {}
    templates = _in_templates([(row.session_uid, wishes) for row, wishes in newest])
    for session, wishes in reversed(newest):
        for wish in wishes:
            first = first_in.setdefault(wish.text, session.session_uid)
            if (wish.event_uid, wish.text) in templates:
                continue
            if len(wish.text) <= _LONG or first == session.session_uid:
                day = (session.started_at or 0) // DAY_MS
                yield SessionWish(session.session_uid, day, wish)


def _in_templates(sessions: Iterable[tuple[str, list[Wish]]]) -> set[tuple[str, str]]:
    """Return the wishes, by prompt and text, that prompts of two sessions have word for word.

    A person who types a wish again words it in another way. So many equal wishes are the text of a
    command, of a template or of one task that was started again.
    """
    prompts: dict[tuple[str, str], set[str]] = defaultdict(set)
    for session, wishes in sessions:
        for wish in wishes:
            prompts[session, wish.event_uid].add(wish.text)
    prompts = {prompt: texts for prompt, texts in prompts.items() if len(texts) >= _EQUAL}
    with_text: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for prompt, texts in prompts.items():
        for text in texts:
            if len(with_text[text]) < _MOST_PROMPTS:
                with_text[text].append(prompt)
    found: set[tuple[str, str]] = set()
    for prompt, texts in prompts.items():
        shared: dict[tuple[str, str], set[str]] = defaultdict(set)
        for text in texts:
            for other in with_text[text]:
                if other[0] != prompt[0]:
                    shared[other].add(text)
        for equal in shared.values():
            if len(equal) >= _EQUAL and sum(map(len, equal)) >= _LONG:
                # A template has places to fill in, so its other wishes may differ.
                is_most = 2 * len(equal) >= len(texts)
                found.update((prompt[1], text) for text in (texts if is_most else equal))
    return found


DETECTOR = FleetDetector(
    type="recurring_instruction",
    title="The same instruction in session after session",
    advice="Put it into the agent's instruction file: {detail}",
    find=recurring_instruction,
)
