"""Training examples: attempts that a run verified, and sessions with evidence of success.

Every example names its source. A session that gives none is counted with the reason.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from session_memory.core.errors import ArchiveError, InvalidRecord, SessionEvicted
from session_memory.core.ids import fit_native_id
from session_memory.core.schema import Attempt, Entry, Session, SessionEvent
from session_memory.core.skills import FLAVOR, entry_of, verdict_of
from session_memory.core.text import escaped
from session_memory.derive.archived import readable_store
from session_memory.derive.bodies import Bodies
from session_memory.derive.raw_source import RawSource
from session_memory.learn.digest import Digest
from session_memory.learn.digests import digest_of
from session_memory.learn.train import gate
from session_memory.learn.train.duplicates import overlap
from session_memory.learn.train.gate import ProjectNames
from session_memory.store.store import Store

SFT, CHAT, DPO = "sft", "chat", "dpo"
KINDS = (SFT, CHAT, DPO)

NOT_VERIFIED = "no attempt was verified"
NO_FAILURE = "no attempt that failed beside it"
ALIKE = "chosen and rejected are alike"
NOT_ANALYZED = "not analyzed yet"
NO_SUCCESS = "no evidence of success"
OF_ANOTHER = "part of another session"
NO_CONVERSATION = "no question with an answer"
EVICTED = "evicted, and its archive cannot be read"
LONGEST_OUTPUT = 4000


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a data set. ``text`` is compared for duplicates; ``origin`` decides the split."""

    kind: str
    row: dict[str, Any]
    score: int
    origin: str
    text: str
    session_uid: str
    event_uids: tuple[str, ...] = ()


class RefusedExample(msgspec.Struct, frozen=True):
    kind: str
    reason: str


class ExampleFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which kinds of examples to make, and their maximum size."""

    kinds: tuple[str, ...] = KINDS
    tools: bool = True
    most_characters: int = gate.MOST_CHARACTERS


def examples(
    store: Store, session: Session, options: ExampleFilter
) -> Iterator[Example | RefusedExample]:
    """The examples of one session, and the refused ones."""
    if session.flavor == FLAVOR:
        for entry in entries(store, session):
            yield from _of_entry(session, entry, options)
    elif CHAT in options.kinds:
        yield _of_session(store, session, options)


def entries(store: Store, session: Session) -> Iterator[Entry]:
    """The entries of a skill session, read from the stored logs.

    Invalid lines and lines of other sessions are skipped.
    """
    row = store.sessions.row(session.session_uid)
    for source in store.sources.read_by(row.id) if row is not None else ():
        with RawSource(store, source).open(0) as file:
            for line in file:
                try:
                    entry = entry_of(line, session.native_session_id)
                except InvalidRecord:
                    continue
                if fit_native_id(escaped(entry.session_id))[0] == session.native_session_id:
                    yield entry


def _of_entry(
    session: Session, entry: Entry, options: ExampleFilter
) -> Iterator[Example | RefusedExample]:
    verified = next((attempt for attempt in entry.attempts if attempt.verified), None)
    kinds = [kind for kind in (SFT, DPO) if kind in options.kinds]
    if verified is None:
        yield from (RefusedExample(kind, NOT_VERIFIED) for kind in kinds)
        return
    root = entry.project_root
    names = ProjectNames(root, root.rstrip("/").rpartition("/")[2], session.host or "")
    prompt = gate.clean(prompt_of(entry), names)
    for kind in kinds:
        make = _taught if kind == SFT else _compared
        made = make(entry, verified, prompt, names, options)
        if isinstance(made, RefusedExample):
            yield made
        else:
            row, score = made
            yield Example(
                kind=kind,
                row=row,
                score=score,
                origin=names.repo or session.session_uid,
                text="\n".join(row.values()),
                session_uid=session.session_uid,
            )


def prompt_of(entry: Entry) -> str:
    """The prompt of a skill call: its name, phase and input."""
    make = entry.input
    asked = make if isinstance(make, str) else json.dumps(make, ensure_ascii=False, indent=1)
    head = f"Skill: {entry.skill}" + (f"\nPhase: {entry.phase}" if entry.phase else "")
    return f"{head}\n\n{asked}" if make not in (None, "") else head


Made = tuple[dict[str, str], int] | RefusedExample


def _taught(
    entry: Entry, verified: Attempt, prompt: str, names: ProjectNames, options: ExampleFilter
) -> Made:
    answer = gate.clean(verified.output_summary, names)
    reason = gate.refusal(prompt, (answer,), names, options.most_characters)
    if reason is not None:
        return RefusedExample(SFT, reason)
    tries = 1 + entry.attempts.index(verified)
    return {"prompt": prompt, "completion": answer}, gate.attempt_score(prompt, answer, tries)


def _compared(
    entry: Entry, verified: Attempt, prompt: str, names: ProjectNames, options: ExampleFilter
) -> Made:
    before = entry.attempts[: entry.attempts.index(verified)]
    failed = [attempt for attempt in before if attempt.output_summary and _is_failure(attempt)]
    if not failed:
        return RefusedExample(DPO, NO_FAILURE)
    chosen = gate.clean(verified.output_summary, names)
    rejected = gate.clean(failed[-1].output_summary, names)
    reason = gate.refusal(prompt, (chosen, rejected), names, options.most_characters)
    alike = overlap(chosen, rejected)
    if reason is not None or alike > gate.MOST_ALIKE:
        return RefusedExample(DPO, reason or ALIKE)
    score = gate.pair_score(alike, verified.model == failed[-1].model)
    return {"prompt": prompt, "chosen": chosen, "rejected": rejected}, score


def _is_failure(attempt: Attempt) -> bool:
    """Whether there is evidence that the attempt failed, not only no proof of success."""
    said_no = verdict_of(attempt.verdict or "") == "fail"
    return not attempt.verified and bool(said_no or attempt.runner_output or attempt.feedback)


def _of_session(store: Store, session: Session, options: ExampleFilter) -> Example | RefusedExample:
    if session.relation in ("subagent", "fork", "resume"):
        return RefusedExample(CHAT, OF_ANOTHER)
    digest = digest_of(store, session.session_uid)
    if digest is None:
        return RefusedExample(CHAT, NOT_ANALYZED)
    if not digest.outcome.is_proved_success:
        return RefusedExample(CHAT, NO_SUCCESS)
    names = ProjectNames(session.cwd or "", session.repo or "", session.host or "")
    try:
        store = readable_store(store, session.session_uid)
    except (ArchiveError, SessionEvicted):
        return RefusedExample(CHAT, EVICTED)
    talk = Conversation(store, names, tools=options.tools)
    messages = talk.of(session)
    if not messages:
        return RefusedExample(CHAT, NO_CONVERSATION)
    answers = tuple(message["content"] for message in messages[1:] if message["content"].strip())
    reason = gate.refusal(messages[0]["content"], (talk.text,), names, options.most_characters)
    if reason is not None or not answers:
        return RefusedExample(CHAT, reason or NO_CONVERSATION)
    return Example(
        kind=CHAT,
        row={"messages": messages},
        score=_score(digest),
        origin=session.repo or session.cwd or session.session_uid,
        text=talk.text,
        session_uid=session.session_uid,
        event_uids=digest.outcome.evidence,
    )


def _score(digest: Digest) -> int:
    return gate.session_score(
        digest.outcome.reason,
        errors=digest.markers.error,
        retries=digest.markers.retry,
        interventions=len(digest.interventions),
        undone=len(digest.undone),
        calls=sum(tool.calls for tool in digest.tools.values()),
    )


class Conversation:
    """A session as chat messages: prompts, answers, and with ``tools`` also calls and results.

    Every message has the same fields, so that all rows have the same columns. Abandoned branches,
    thinking and injected texts are left out.
    """

    def __init__(self, store: Store, names: ProjectNames, *, tools: bool) -> None:
        self._store = store
        self._bodies = Bodies(store)
        self._names = names
        self._tools = tools
        self._messages: list[dict[str, Any]] = []
        self._called: dict[str, str] = {}

    def of(self, session: Session) -> list[dict[str, Any]]:
        """The messages, from the first prompt to the last answer; empty without both."""
        row = self._store.sessions.row(session.session_uid)
        for event in self._store.events.each_of(row.id, session.session_uid) if row else ():
            if not event.is_sidechain and event.branch is None:
                self._add(event)
        while self._messages and not self._is_answer(self._messages[-1]):
            self._messages.pop()
        return self._messages

    @property
    def text(self) -> str:
        calls = (
            call["function"]["arguments"]
            for message in self._messages
            for call in message.get("tool_calls", ())
        )
        return "\n".join((*(message["content"] for message in self._messages), *calls))

    @staticmethod
    def _is_answer(message: dict[str, Any]) -> bool:
        return message["role"] == "assistant" and bool(message["content"].strip())

    def _add(self, event: SessionEvent) -> None:
        if event.is_a("tool_call"):
            if self._tools and self._messages:
                self._call(event)
        elif event.is_a("tool_result"):
            if self._tools and event.call_id in self._called:
                text = self._clean(event, LONGEST_OUTPUT)
                self._say("tool", text, name=self._called[event.call_id])
        elif event.role == "user" and (event.is_a("user_msg") or _is_plan(event)):
            self._say("user", self._clean(event))
        elif event.is_a("assistant_msg") and self._messages:
            self._answer(self._clean(event))

    def _clean(self, event: SessionEvent, most: int | None = None) -> str:
        text = self._bodies.of(event).text
        if most is not None and len(text) > most:
            # Mask before cutting, because half a secret would not be recognized.
            half = most // 2
            clean = gate.clean(text, self._names)
            return f"{clean[:half]}\n…\n{clean[-half:]}" if len(clean) > most else clean
        return gate.clean(text, self._names)

    def _say(self, role: str, content: str, name: str = "") -> None:
        message: dict[str, Any] = {"role": role, "content": content}
        if self._tools:
            message |= {"name": name, "tool_calls": []}
        self._messages.append(message)

    def _answer(self, text: str) -> None:
        last = self._messages[-1]
        if last["role"] == "assistant" and not last.get("tool_calls"):
            last["content"] = "\n\n".join(filter(None, (last["content"], text)))
        else:
            self._say("assistant", text)

    def _call(self, event: SessionEvent) -> None:
        if self._messages[-1]["role"] != "assistant":
            self._say("assistant", "")
        body, name = self._bodies.of(event), event.tool or "tool"
        make = body.arguments if isinstance(body.arguments, dict) else {"input": body.text}
        arguments = json.dumps(make, ensure_ascii=False, sort_keys=True, default=str)
        self._called[event.call_id or ""] = name
        function = {"name": name, "arguments": gate.clean(arguments, self._names)}
        self._messages[-1]["tool_calls"].append({"type": "function", "function": function})


def _is_plan(event: SessionEvent) -> bool:
    """Whether the agent was given a plan that a person accepted."""
    return (event.native_kind or "").endswith("/plan")
