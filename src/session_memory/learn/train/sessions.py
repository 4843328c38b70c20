"""Make training examples from sessions: conversations, turns with evidence, corrected calls."""

from collections.abc import Iterator
from typing import Any

from session_memory.core.errors import ArchiveError, SessionEvicted
from session_memory.core.schema import Session
from session_memory.derive.archived import readable_store
from session_memory.learn.digest import Digest
from session_memory.learn.digests import digest_of
from session_memory.learn.train import gate
from session_memory.learn.train.conversation import (
    CallPlace,
    Conversation,
    Message,
    Turn,
    with_tools,
)
from session_memory.learn.train.example import (
    CHAT,
    DPO,
    SFT,
    Example,
    ExampleFilter,
    RefusedExample,
)
from session_memory.store.store import Store

NOT_ANALYZED = "not analyzed yet"
NO_SUCCESS = "no evidence of success"
OF_ANOTHER = "part of another session"
NO_CONVERSATION = "no question with an answer"
EVICTED = "evicted, and its archive cannot be read"
NOT_CHANGED = "the call that succeeded is the same"
SCORE_OF_A_PAIR = 4


def of_session(
    store: Store, session: Session, options: ExampleFilter
) -> Iterator[Example | RefusedExample]:
    kinds = [kind for kind in (SFT, CHAT, DPO) if kind in options.kinds]
    if session.relation in ("subagent", "fork", "resume"):
        yield from (RefusedExample(kind, OF_ANOTHER) for kind in kinds)
        return
    digest = digest_of(store, session.session_uid)
    if digest is None:
        yield from (RefusedExample(kind, NOT_ANALYZED) for kind in kinds)
        return
    if not _is_promising(digest):
        yield from (RefusedExample(kind, NO_SUCCESS) for kind in kinds)
        return
    try:
        talk = Conversation(
            readable_store(store, session.session_uid), session, tools=options.tools
        )
    except (ArchiveError, SessionEvicted):
        yield from (RefusedExample(kind, EVICTED) for kind in kinds)
        return
    making = _Making(session, digest, talk, options)
    if SFT in kinds:
        yield from making.turns()
    if CHAT in kinds:
        yield making.whole()
    if DPO in kinds and options.tools:
        yield from making.pairs()


def _is_promising(digest: Digest) -> bool:
    """Whether the session may give an example, judged by its digest.

    The answer does not depend on the kinds of examples, so each kind has the same rows whether it
    is exported alone or with others.
    """
    has_fix = any(error.resolution is not None for error in digest.error_snippets)
    return digest.outcome.is_proved_success or has_fix


class _Making:
    def __init__(
        self, session: Session, digest: Digest, talk: Conversation, options: ExampleFilter
    ) -> None:
        self._session, self._digest = session, digest
        self._talk, self._options = talk, options

    def whole(self) -> Example | RefusedExample:
        """Make an example from the whole session, if it succeeded."""
        messages = self._talk.messages
        if not self._digest.outcome.is_proved_success:
            return RefusedExample(CHAT, NO_SUCCESS)
        if not messages:
            return RefusedExample(CHAT, NO_CONVERSATION)
        return self._example(CHAT, {"messages": messages}, messages, self._score())

    def turns(self) -> Iterator[Example | RefusedExample]:
        """Make an example from each complete turn with evidence: a passed test run or a commit."""
        found = False
        for turn in self._talk.turns:
            if turn.is_complete and self._has_evidence(turn):
                found = True
                row = {"prompt": turn.messages[:1], "completion": turn.messages[1:]}
                yield self._example(SFT, row, turn.messages, self._score(), turn.uids)
        if not found:
            yield RefusedExample(SFT, NO_SUCCESS)

    def pairs(self) -> Iterator[Example | RefusedExample]:
        """Make a preference pair from each call that failed and the changed call that succeeded."""
        for error in self._digest.error_snippets:
            how = error.resolution
            if how is None or not error.event_uids:
                continue
            failed = self._talk.calls.get(error.event_uids[0])
            fixed = self._talk.calls.get(how.succeeded)
            if failed is not None and fixed is not None:
                yield self._pair(failed, fixed)

    def _pair(self, failed: CallPlace, fixed: CallPlace) -> Example | RefusedExample:
        rejected, chosen = _answer(failed), _answer(fixed)
        one, other = _function(rejected), _function(chosen)
        if one["name"] != other["name"] or one["arguments"] == other["arguments"]:
            return RefusedExample(DPO, NOT_CHANGED)
        prompt = failed.turn.messages[: failed.message]
        row = {"prompt": prompt, "chosen": [chosen], "rejected": [rejected]}
        return self._example(DPO, row, [*prompt, chosen, rejected], SCORE_OF_A_PAIR)

    def _example(
        self,
        kind: str,
        row: dict[str, list[Message]],
        messages: list[Message],
        score: int,
        uids: set[str] | None = None,
    ) -> Example | RefusedExample:
        text, prompt = self._talk.texts.all_of(messages), messages[0]["content"]
        reason = gate.wrong_length(prompt, (text,), self._options.most_characters)
        if reason is None and self._talk.texts.name_a_project(messages):
            reason = gate.NAMES_A_PROJECT
        if reason is not None:
            return RefusedExample(kind, reason)
        evidence = self._evidence()
        return Example(
            kind=kind,
            row=with_tools(row, tools=self._options.tools),
            score=score,
            origin=self._session.repo or self._session.cwd or self._session.session_uid,
            text=text,
            session_uid=self._session.session_uid,
            event_uids=tuple(one for one in evidence if uids is None or one in uids),
        )

    def _evidence(self) -> tuple[str, ...]:
        passed = (run.result_uid for run in self._digest.tests if run.passed)
        commits = (commit.event_uid for commit in self._digest.commits)
        return tuple(dict.fromkeys((*self._digest.outcome.evidence, *passed, *commits)))

    def _has_evidence(self, turn: Turn) -> bool:
        """Whether the turn shows success: its last test run passed, something was committed in it,
        or it has the evidence of the session's success. False if its last test run failed."""
        runs = [run for run in self._digest.tests if run.result_uid in turn.uids]
        verdicts = [run.passed for run in runs if run.passed is not None]
        if verdicts and not verdicts[-1]:
            return False
        is_proven = bool(verdicts) or any(c.event_uid in turn.uids for c in self._digest.commits)
        ends_well = self._digest.outcome.is_proved_success
        return is_proven or (ends_well and not turn.uids.isdisjoint(self._digest.outcome.evidence))

    def _score(self) -> int:
        digest = self._digest
        return gate.session_score(
            digest.outcome.reason,
            errors=digest.markers.error,
            retries=digest.markers.retry,
            interventions=len(digest.interventions),
            undone=len(digest.undone),
            calls=sum(tool.calls for tool in digest.tools.values()),
        )


def _answer(place: CallPlace) -> Message:
    return place.turn.messages[place.message]


def _function(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = message["tool_calls"][0]["function"]
    return found
