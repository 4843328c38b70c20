"""Examples to learn from: attempts that a run proved, and sessions that evidence says succeeded.

Every example says where it came from. What cannot be used is a reason, and is counted.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from session_memory.core.errors import InvalidRecord
from session_memory.core.schema import Attempt, Entry, Session, SessionEvent
from session_memory.core.skills import FLAVOR, verdict_of
from session_memory.derive.bodies import Bodies
from session_memory.derive.raw_source import RawSource
from session_memory.learn.digest import Digest
from session_memory.learn.digests import digest_of
from session_memory.learn.train import gate
from session_memory.learn.train.duplicates import overlap
from session_memory.learn.train.gate import Names
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
LONGEST_OUTPUT = 4000


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a data set; ``text`` is what it is compared by, ``origin`` what splits go by."""

    kind: str
    row: dict[str, Any]
    score: int
    origin: str
    text: str
    session_uid: str
    event_uids: tuple[str, ...] = ()


class Refused(msgspec.Struct, frozen=True):
    kind: str
    reason: str


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which examples, and how large one may be."""

    kinds: tuple[str, ...] = KINDS
    tools: bool = True
    most_characters: int = gate.MOST_CHARACTERS


def examples(store: Store, session: Session, wanted: Wanted) -> Iterator[Example | Refused]:
    """What one session gives, usable or not."""
    if session.flavor == FLAVOR:
        for entry in entries(store, session):
            yield from _of_entry(session, entry, wanted)
    elif CHAT in wanted.kinds:
        yield _of_session(store, session, wanted)


# ------------------------------------------------------------ attempts


def entries(store: Store, session: Session) -> Iterator[Entry]:
    """The entries of a skill session, out of the raw; what is none is a problem elsewhere."""
    row = store.sessions.row(session.session_uid)
    for source in store.sources.read_by(row.id) if row is not None else ():
        with RawSource(store, source).open(0) as file:
            for line in file:
                try:
                    yield Entry.from_json(line.lstrip(b"\0"))
                except InvalidRecord:
                    continue


def _of_entry(session: Session, entry: Entry, wanted: Wanted) -> Iterator[Example | Refused]:
    proved = next((attempt for attempt in entry.attempts if attempt.verified), None)
    kinds = [kind for kind in (SFT, DPO) if kind in wanted.kinds]
    if proved is None:
        yield from (Refused(kind, NOT_VERIFIED) for kind in kinds)
        return
    root = entry.project_root
    names = Names(root, root.rstrip("/").rpartition("/")[2], session.host or "")
    prompt = gate.clean(prompt_of(entry), names)
    for kind in kinds:
        given = _taught if kind == SFT else _compared
        made = given(entry, proved, prompt, names, wanted)
        if isinstance(made, Refused):
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
    """What the skill was asked: its name, its phase and its input."""
    given = entry.input
    asked = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, indent=1)
    head = f"Skill: {entry.skill}" + (f"\nPhase: {entry.phase}" if entry.phase else "")
    return f"{head}\n\n{asked}" if given not in (None, "") else head


Made = tuple[dict[str, str], int] | Refused


def _taught(entry: Entry, proved: Attempt, prompt: str, names: Names, wanted: Wanted) -> Made:
    answer = gate.clean(proved.output_summary, names)
    reason = gate.refusal(prompt, (answer,), names, wanted.most_characters)
    if reason is not None:
        return Refused(SFT, reason)
    tries = 1 + entry.attempts.index(proved)
    return {"prompt": prompt, "completion": answer}, gate.attempt_score(prompt, answer, tries)


def _compared(entry: Entry, proved: Attempt, prompt: str, names: Names, wanted: Wanted) -> Made:
    before = entry.attempts[: entry.attempts.index(proved)]
    failed = [attempt for attempt in before if attempt.output_summary and _is_failure(attempt)]
    if not failed:
        return Refused(DPO, NO_FAILURE)
    chosen = gate.clean(proved.output_summary, names)
    rejected = gate.clean(failed[-1].output_summary, names)
    reason = gate.refusal(prompt, (chosen, rejected), names, wanted.most_characters)
    alike = overlap(chosen, rejected)
    if reason is not None or alike > gate.MOST_ALIKE:
        return Refused(DPO, reason or ALIKE)
    score = gate.pair_score(alike, proved.model == failed[-1].model)
    return {"prompt": prompt, "chosen": chosen, "rejected": rejected}, score


def _is_failure(attempt: Attempt) -> bool:
    """Not only without proof that it works: something said that it does not."""
    said_no = verdict_of(attempt.verdict or "") == "fail"
    return not attempt.verified and bool(said_no or attempt.runner_output or attempt.feedback)


# ------------------------------------------------------------ sessions


def _of_session(store: Store, session: Session, wanted: Wanted) -> Example | Refused:
    if session.relation in ("subagent", "fork", "resume"):
        return Refused(CHAT, OF_ANOTHER)
    digest = digest_of(store, session.session_uid)
    if digest is None:
        return Refused(CHAT, NOT_ANALYZED)
    if digest.outcome.outcome != "success":
        return Refused(CHAT, NO_SUCCESS)
    names = Names(session.cwd or "", session.repo or "", session.host or "")
    talk = Conversation(store, names, tools=wanted.tools)
    messages = talk.of(session)
    if not messages:
        return Refused(CHAT, NO_CONVERSATION)
    said = tuple(message["content"] for message in messages[1:] if message["content"].strip())
    reason = gate.refusal(messages[0]["content"], (talk.text,), names, wanted.most_characters)
    if reason is not None or not said:
        return Refused(CHAT, reason or NO_CONVERSATION)
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
    """A session as messages: what was asked, what was answered, and with ``tools`` what was done.

    Every message has the same fields, so that they are columns of one type. What was left behind
    on a branch, thoughts, and what the agent told itself are no part of it.
    """

    def __init__(self, store: Store, names: Names, *, tools: bool) -> None:
        self._store = store
        self._bodies = Bodies(store)
        self._names = names
        self._tools = tools
        self._messages: list[dict[str, Any]] = []
        self._called: dict[str, str] = {}

    def of(self, session: Session) -> list[dict[str, Any]]:
        """Begins with a question and ends with an answer; nothing where there are none."""
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
        elif event.role == "user" and event.is_a("user_msg"):
            self._say("user", self._clean(event))
        elif event.is_a("assistant_msg") and self._messages:
            self._answer(self._clean(event))

    def _clean(self, event: SessionEvent, most: int | None = None) -> str:
        text = self._bodies.of(event).text
        if most is not None and len(text) > most:
            # Masked before it is cut: half a secret would not be known for one.
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
        given = body.arguments if isinstance(body.arguments, dict) else {"input": body.text}
        arguments = json.dumps(given, ensure_ascii=False, sort_keys=True, default=str)
        self._called[event.call_id or ""] = name
        function = {"name": name, "arguments": gate.clean(arguments, self._names)}
        self._messages[-1]["tool_calls"].append({"type": "function", "function": function})
