"""Build a session's digest from its events in one pass, with bounded memory."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from session_memory.core.schema import Session
from session_memory.core.skills import ATTEMPT
from session_memory.core.skills import FLAVOR as SKILL
from session_memory.derive.agents import about
from session_memory.learn.digest import ContextSize, Digest, Markers, SessionCost
from session_memory.learn.digest.calls import (
    CommandCounts,
    FileCounts,
    LargeOutputs,
    TestRuns,
    ToolCounts,
)
from session_memory.learn.digest.commits import CommitList
from session_memory.learn.digest.deliveries import COMMIT, deliveries
from session_memory.learn.digest.errors import ErrorGroups
from session_memory.learn.digest.harmless import asks_memory
from session_memory.learn.digest.outcome import Ending
from session_memory.learn.digest.people import People, TimeSplitter
from session_memory.learn.digest.recall import RecallTexts, recall_terms
from session_memory.learn.digest.steps import CallCounter, FinishedCall, OpenCalls, TokenSums
from session_memory.learn.digest.texts import LONGEST, Texts, has_beginning
from session_memory.learn.digest.undone import UndoneEdits
from session_memory.redact import mask, mask_together
from session_memory.store.brief_events import BriefEvent

GROWTH = 20
MOST_WORDS = 100
MOST_COUNTED = 20
_COMPACTED = frozenset(
    (
        "system/compact_boundary",
        "compacted",
        "auto_compact_completed",
        "compaction",
        "compact",
        "fold",
    )
)


class ResponseUsage:
    """The tokens of a session's responses, in order: ``(seq, model, tokens, context)`` of each.

    ``context`` is the number of tokens that were sent to the model, ``tokens`` this number plus the
    tokens of the response.
    """

    def __init__(self, rows: Sequence[tuple[int, str, int, int]]) -> None:
        self._rows = [(seq, tokens) for seq, _, tokens, _ in rows]
        self._contexts = [context for _, _, _, context in rows]
        self._models: Counter[str] = Counter()
        for _, model, tokens, _ in rows:
            self._models[model] += tokens

    def tokens(self, prompts: int, calls: int) -> TokenSums:
        """Return sums of tokens between two events of the session.

        ``prompts`` and ``calls`` are the numbers of prompts and tool calls of the session. A turn
        with a tool call takes at least two responses. So if a session with tool calls has no more
        rows of usage than prompts, its agent logs usage for whole turns. Then the tokens of a turn
        are spread over its events.
        """
        return TokenSums(self._rows, spread=bool(calls) and len(self._rows) <= max(1, prompts))

    @property
    def models(self) -> dict[str, int]:
        return dict(sorted(_most(self._models)))

    def context(self, compactions: int) -> ContextSize:
        sizes = self._contexts
        if not sizes:
            return ContextSize(compactions=compactions)
        steps = min(GROWTH, len(sizes))
        growth = tuple(
            sizes[place * (len(sizes) - 1) // max(1, steps - 1)] for place in range(steps)
        )
        return ContextSize(sizes[0], sizes[-1], max(sizes), compactions, growth)


class DigestBuilder:
    """Collects what a digest needs. Call `add` for each event in order, then `digest`."""

    def __init__(self, session: Session, texts: Texts, counters: Mapping[str, CallCounter]) -> None:
        self._session = session
        self._texts = texts
        # All events of a subagent are marked as a sidechain of its parent, which says nothing here.
        self._is_subagent = session.relation == "subagent"
        self._calls = OpenCalls()
        self._kinds: Counter[str] = Counter()
        self._marks: Counter[str] = Counter()
        self._events = self._compactions = 0
        self._after_plan = False
        self._is_last_prompt_undone = False
        self._agent = about(session.flavor)
        self.ending, self.people, self.clock = Ending(texts), People(), TimeSplitter()
        self.tools, self.files, self.commands = ToolCounts(), FileCounts(), CommandCounts()
        self.tests, self.outputs, self.commits = TestRuns(), LargeOutputs(), CommitList()
        self.errors = ErrorGroups(session.session_uid, is_skill=session.flavor == SKILL)
        self.undone, self.recall = UndoneEdits(), RecallTexts(texts)
        self._counters = counters

    def add(self, event: BriefEvent) -> None:
        kinds = (event.kind, *event.marks)
        self._events += 1
        self._kinds[event.kind] += 1
        for mark in event.marks:
            self._marks[mark] += 1
        if event.kind == "lifecycle":
            self._bookkeeping(event)
        elif "tool_call" in kinds:
            self._call(event, kinds)
        elif "tool_result" in kinds:
            self._result(event, kinds)
        elif event.role == "user":
            self._person(event, kinds)
        else:
            self._model(event, kinds)

    def _bookkeeping(self, event: BriefEvent) -> None:
        kind = event.native_kind or ""
        if event.role == "user":
            self.clock.add(event, (), "idle")
        if kind in _COMPACTED:
            self._compactions += 1
        elif event.role == "user" and kind.endswith(("subagent_prompt", "/prompt", "/plan")):
            self._calls.begin_turn()
            self.people.asked(event, self._texts)
            if kind.endswith("/plan"):
                self.errors.reported(event, self._texts)
            self.ending.asked(event)
            if kind.endswith("/plan"):
                self.recall.plan(event)

    def _call(self, event: BriefEvent, kinds: tuple[str, ...]) -> None:
        self._calls.opened(event, kinds)
        self.tools.call(event)
        self.clock.add(event, kinds, "model")
        self.errors.answered(event)
        if self._counts(event):
            self.ending.call(event)

    def _result(self, event: BriefEvent, kinds: tuple[str, ...]) -> None:
        self.clock.add(event, kinds, "tools")
        if (finished := self._calls.closed(event)) is not None:
            self._done(finished)
            self._after_plan = self._is_accepted_plan(finished)
        if "decision" in kinds:
            text = self._texts.words(event)
            if finished is not None and self._after_plan:
                text = f"accepted the plan: {self._texts.words(finished.call)}"
            self.people.decisions.add(event, text)
        if "human_intervention" in kinds:
            self.people.interventions.add(event, self._texts.words(event))
            if self._counts(event):
                self.ending.intervened(event)

    def _done(self, finished: FinishedCall) -> None:
        self.tools.add(finished)
        self.files.add(finished)
        self.commands.add(finished, self._texts)
        self.outputs.add(finished)
        for counter in self._counters.values():
            counter.add(finished)
        if asks_memory(finished):
            # The answer of Session Memory quotes earlier sessions, so it is no evidence here.
            return
        if not self._is_accepted_plan(finished):
            self.errors.add(finished, self._texts)
        self.undone.add(finished, self._texts)
        run = self.tests.add(finished)
        delivered = deliveries(finished, self._texts)
        self.commits.add(finished, delivered, self._texts)
        if any(one.kind == COMMIT and one.arrived for one in delivered):
            self.recall.commit(finished.call)
        if finished.call.tool in self._agent.plan_tools:
            self.recall.plan(finished.call)
        if self._counts(finished.result):
            self.ending.add(finished)
            self.ending.delivered(delivered, finished)
            if run is not None:
                self.ending.tested(run, finished)
            if self._is_accepted_plan(finished):
                self.ending.plan_handed_over(finished)

    def _is_accepted_plan(self, finished: FinishedCall) -> bool:
        """Whether the call showed a plan and the person accepted it.

        An agent may log the call as refused although the plan was accepted, to be carried out in a
        new session. A real refusal says what to change, and is marked as an intervention.
        """
        if finished.call.tool not in self._agent.plan_tools:
            return False
        return "human_intervention" not in (finished.result.kind, *finished.result.marks)

    def _person(self, event: BriefEvent, kinds: tuple[str, ...]) -> None:
        self.clock.add(event, kinds, "person")
        text = self._agent.readable(self._texts.words(event))
        if len(text) >= LONGEST and not has_beginning(event.summary, text):
            # What an editor put in front of the prompt is longer than what was read of it.
            text = event.summary
        is_prompt = "user_msg" in kinds
        if is_prompt:
            self._calls.begin_turn()
            self._is_last_prompt_undone = event.branch is not None
            self.people.prompt(event, text)
            self.errors.reported(event, self._texts)
            self.tests.person()
        if "decision" in kinds:
            self.people.decisions.add(event, text)
        if "human_intervention" in kinds and (is_prompt or not self._after_plan):
            self.people.interventions.add(event, text)
        self._after_plan = False
        if self._counts(event):
            if is_prompt:
                self.ending.prompt(event, text)
            elif "human_intervention" in kinds and self._is_last_prompt_undone:
                self.ending.went_back(event)
            elif "human_intervention" in kinds:
                self.ending.intervened(event)

    def _model(self, event: BriefEvent, kinds: tuple[str, ...]) -> None:
        self.clock.add(event, kinds, "model")
        is_error = "error" in kinds
        if event.native_kind == ATTEMPT and self._session.flavor == SKILL:
            self.errors.add_attempt(event, self._texts)
        elif is_error:
            self.errors.add_model_error(event, self._texts)
        if "human_intervention" in kinds:
            self.people.interventions.add(event, self._texts.words(event))
        if "assistant_msg" in kinds and not is_error:
            self.errors.answered(event)
            self.errors.message(event)
            self.recall.answer(event)
        elif "decision" in kinds:
            self.recall.plan(event)
        if self._counts(event):
            self._end(event, kinds, is_error)

    def _end(self, event: BriefEvent, kinds: tuple[str, ...], is_error: bool) -> None:
        if "human_intervention" in kinds:
            self.ending.intervened(event)
        elif event.kind == "completion":
            self.ending.turn_ended()
        elif is_error:
            self.ending.model_failed(event)
        elif "assistant_msg" in kinds:
            self.ending.answer(event)

    def _counts(self, event: BriefEvent) -> bool:
        """Whether the event is evidence for the outcome.

        Events on abandoned branches are no evidence. Events of a sidechain are evidence only in the
        subagent's own session.
        """
        return event.branch is None and (self._is_subagent or not event.is_sidechain)

    def digest(self, used: ResponseUsage, cost: SessionCost) -> Digest:
        self.errors.end(self._texts)
        session, marks = self._session, self._kinds + self._marks
        tokens = used.tokens(marks["user_msg"], marks["tool_call"])
        whole = Digest(
            session_uid=session.session_uid,
            flavor=session.flavor,
            repo=session.repo,
            git_branch=session.git_branch,
            model=session.model,
            parent_uid=session.parent_uid,
            relation=session.relation,
            title=session.title,
            started_at=session.started_at,
            ended_at=session.ended_at,
            first_request=self.people.first_request,
            outcome=self.ending.result(self._calls.left()),
            cost=cost,
            events=self._events,
            kinds=dict(sorted(_most(self._kinds))),
            tools=self.tools.result(),
            markers=Markers(
                marks["error"],
                marks["retry"],
                marks["test_run"],
                marks["edit"],
                marks["human_intervention"],
            ),
            files=self.files.result(),
            commands=self.commands.result(),
            tests=tuple(self.tests.runs),
            error_snippets=tuple(self.errors.snippets(tokens)),
            repeats=tuple(self.errors.repeats(tokens)),
            outputs=self.outputs.result(self._texts),
            undone=self.undone.result(tokens),
            commits=tuple(self.commits.made),
            prompts=self.people.prompts.result(),
            interventions=self.people.interventions.result(),
            decisions=self.people.decisions.result(),
            plans=self.recall.shown_plans,
            last_answer=self.recall.last_answer,
            time=self.clock.result(),
            context=used.context(self._compactions),
            basis="estimated" if tokens.spread else "measured",
            counted={
                name: found
                for name, counter in self._counters.items()
                if (found := tuple(islice(counter.result(), MOST_COUNTED)))
            },
        )
        # Signals, patterns and lessons are made from the digest, so no secret may be in it.
        masked: Digest = mask_together(whole, _masked)
        return masked


@lru_cache(maxsize=1 << 12)
def _masked(text: str) -> str:
    """Mask a text. Results are cached, because many sessions have the same tools and commands."""
    return mask(text)


def _most(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_WORDS]


class ReadSession(NamedTuple):
    """The results of reading one session: its digest and its search terms."""

    digest: Digest
    terms: dict[str, int]
    """The search terms of the session, by which ``how`` and ``similar`` find it, with weights."""


def digest_events(
    session: Session,
    events: Iterable[BriefEvent],
    texts: Texts,
    used: ResponseUsage,
    cost: SessionCost,
    counters: Mapping[str, CallCounter],
) -> ReadSession:
    """Make the digest and the search terms of a session.

    ``events`` are the session's own events in order, without those that it inherited. ``counters``
    are those of the detectors, by type.
    """
    reading = DigestBuilder(session, texts, counters)
    for event in events:
        reading.add(event)
    digest = reading.digest(used, cost)
    return ReadSession(digest, recall_terms(digest, reading.recall))
