"""A session's events, one after the other, into its digest: one pass, memory bounded."""

from collections import Counter
from collections.abc import Iterable, Sequence

from session_memory.core.schema import Session
from session_memory.learn.digest import Context, Digest, Markers, Spent
from session_memory.learn.digest_calls import Commands, Commits, Files, Lost, Outputs, Tests, Tools
from session_memory.learn.digest_errors import Errors
from session_memory.learn.digest_people import Clock, People
from session_memory.learn.outcome import Ending
from session_memory.learn.steps import Calls, Done, Tokens
from session_memory.learn.texts import Texts
from session_memory.redact import mask_values
from session_memory.store.brief_events import BriefEvent

GROWTH = 20
MOST_WORDS = 100
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


class Used:
    """What a session's responses used: ``(seq, model, tokens, context)`` each, in order."""

    def __init__(self, rows: Sequence[tuple[int, str, int, int]]) -> None:
        self._rows = [(seq, tokens) for seq, _, tokens, _ in rows]
        self._contexts = [context for _, _, _, context in rows]
        self._models: Counter[str] = Counter()
        for _, model, tokens, _ in rows:
            self._models[model] += tokens

    def tokens(self, prompts: int, calls: int) -> Tokens:
        """A turn with a call takes two responses: fewer than that, and usage is that of turns."""
        return Tokens(self._rows, spread=bool(calls) and len(self._rows) <= max(1, prompts))

    @property
    def models(self) -> dict[str, int]:
        return dict(sorted(_most(self._models)))

    def context(self, compactions: int) -> Context:
        sizes = self._contexts
        if not sizes:
            return Context(compactions=compactions)
        steps = min(GROWTH, len(sizes))
        growth = tuple(
            sizes[place * (len(sizes) - 1) // max(1, steps - 1)] for place in range(steps)
        )
        return Context(sizes[0], sizes[-1], max(sizes), compactions, growth)


class Reading:
    """Everything the digest gathers, fed with one event at a time."""

    def __init__(self, session: Session, texts: Texts) -> None:
        self._session = session
        self._texts = texts
        # All that a subagent does is beside the main line, seen from its parent.
        self._is_aside = session.relation == "subagent"
        self._calls = Calls()
        self._kinds: Counter[str] = Counter()
        self._marks: Counter[str] = Counter()
        self._events = self._compactions = 0
        self.ending, self.people, self.clock = Ending(), People(), Clock()
        self.tools, self.files, self.commands = Tools(), Files(), Commands()
        self.tests, self.outputs, self.commits = Tests(), Outputs(), Commits()
        self.errors, self.lost = Errors(), Lost()

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
        if kind in _COMPACTED:
            self._compactions += 1
        elif event.role == "user" and kind.endswith(("subagent_prompt", "/prompt")):
            self.people.asked(event, self._texts)
            self.ending.asked(event)

    def _call(self, event: BriefEvent, kinds: tuple[str, ...]) -> None:
        self._calls.opened(event, kinds)
        self.tools.call(event)
        self.clock.add(event, "model")
        self.errors.answered(event)
        if self._counts(event):
            self.ending.call(event)

    def _result(self, event: BriefEvent, kinds: tuple[str, ...]) -> None:
        self.clock.add(event, "tools")
        if (done := self._calls.closed(event)) is not None:
            self._done(done)
        if "decision" in kinds:
            self.people.decisions.add(event, self._texts.words(event))
        if "human_intervention" in kinds:
            self.people.interventions.add(event, self._texts.words(event))
            if self._counts(event):
                self.ending.stepped_in(event)

    def _done(self, done: Done) -> None:
        self.tools.done(done)
        self.files.done(done)
        self.commands.done(done)
        self.outputs.done(done)
        self.errors.done(done, self._texts)
        self.lost.done(done, self._texts)
        run = self.tests.done(done)
        has_committed = self.commits.done(done, self._texts)
        if self._counts(done.result):
            self.ending.done(done)
            if run is not None:
                self.ending.tested(run)
            if has_committed:
                self.ending.committed(done)

    def _person(self, event: BriefEvent, kinds: tuple[str, ...]) -> None:
        self.clock.add(event, "person")
        text = self._texts.words(event)
        is_prompt = "user_msg" in kinds
        if is_prompt:
            self.people.prompt(event, text)
        if "decision" in kinds:
            self.people.decisions.add(event, text)
        if "human_intervention" in kinds:
            self.people.interventions.add(event, text)
        if self._counts(event):
            if is_prompt:
                self.ending.prompt(event, text)
            elif "human_intervention" in kinds:
                self.ending.stepped_in(event)

    def _model(self, event: BriefEvent, kinds: tuple[str, ...]) -> None:
        self.clock.add(event, "model")
        is_error = "error" in kinds
        if is_error:
            self.errors.lonely(event, self._texts)
        if "human_intervention" in kinds:
            self.people.interventions.add(event, self._texts.words(event))
        if "assistant_msg" in kinds and not is_error:
            self.errors.answered(event)
        if self._counts(event):
            self._end(event, kinds, is_error)

    def _end(self, event: BriefEvent, kinds: tuple[str, ...], is_error: bool) -> None:
        if "human_intervention" in kinds:
            self.ending.stepped_in(event)
        elif is_error:
            self.ending.broke(event)
        elif "assistant_msg" in kinds:
            self.ending.answer(event)

    def _counts(self, event: BriefEvent) -> bool:
        """Whether an event may prove how the session ended."""
        return event.branch is None and (self._is_aside or not event.is_sidechain)

    def digest(self, used: Used, cost: Spent) -> Digest:
        self.errors.end()
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
            outcome=self.ending.told(self._calls.left()),
            cost=cost,
            events=self._events,
            kinds=dict(sorted(_most(self._kinds))),
            tools=self.tools.found(),
            markers=Markers(
                marks["error"],
                marks["retry"],
                marks["test_run"],
                marks["edit"],
                marks["human_intervention"],
            ),
            files=self.files.found(),
            commands=self.commands.found(),
            tests=tuple(self.tests.runs),
            error_snippets=tuple(self.errors.snippets(tokens)),
            repeats=tuple(self.errors.repeats(tokens)),
            outputs=self.outputs.found(self._texts),
            undone=self.lost.found(tokens),
            commits=tuple(self.commits.made),
            prompts=self.people.prompts.found(),
            interventions=self.people.interventions.found(),
            decisions=self.people.decisions.found(),
            time=self.clock.found(),
            context=used.context(self._compactions),
            basis="estimated" if tokens.spread else "measured",
        )
        # Signals, patterns and lessons are made of it: none of them ever sees a secret.
        masked: Digest = mask_values(whole)
        return masked


def _most(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_WORDS]


def digest_events(
    session: Session, events: Iterable[BriefEvent], texts: Texts, used: Used, cost: Spent
) -> Digest:
    """The digest of a session from its own events in order."""
    reading = Reading(session, texts)
    for event in events:
        reading.add(event)
    return reading.digest(used, cost)
