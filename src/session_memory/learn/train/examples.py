"""Make training examples from attempts that a run verified, and from successful sessions.

Every example names its source. A session or a call that gives no example gives a refused one with
the reason, so that an export can count the reasons.
"""

import json
from collections.abc import Iterator

from session_memory.core.errors import InvalidRecord
from session_memory.core.ids import fit_native_id
from session_memory.core.schema import Attempt, Entry, Session
from session_memory.core.skills import FLAVOR, entry_of, verdict_of
from session_memory.core.text import escaped
from session_memory.derive.raw_source import RawSource
from session_memory.learn.train import gate
from session_memory.learn.train.conversation import Message, text_of, with_tools
from session_memory.learn.train.duplicates import overlap
from session_memory.learn.train.example import DPO, SFT, Example, ExampleFilter, RefusedExample
from session_memory.learn.train.gate import ProjectNames
from session_memory.learn.train.sessions import of_session
from session_memory.store.store import Store

NOT_VERIFIED = "no attempt was verified"
NO_FAILURE = "no attempt that failed beside it"
ALIKE = "chosen and rejected are alike"


def examples(
    store: Store, session: Session, options: ExampleFilter
) -> Iterator[Example | RefusedExample]:
    """Yield the examples of one session, and the refused ones with their reasons."""
    if session.flavor == FLAVOR:
        for entry in entries(store, session):
            yield from _of_entry(session, entry, options)
    else:
        yield from of_session(store, session, options)


def entries(store: Store, session: Session) -> Iterator[Entry]:
    """Yield the entries (calls of a skill) of a skill session, read from the stored logs.

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
                row=with_tools(row, tools=options.tools),
                score=score,
                origin=names.repo or session.session_uid,
                text=text_of([message for part in row.values() for message in part]),
                session_uid=session.session_uid,
            )


def prompt_of(entry: Entry) -> str:
    """Return the prompt for a skill call: the skill's name, the phase and the input."""
    make = entry.input
    asked = make if isinstance(make, str) else json.dumps(make, ensure_ascii=False, indent=1)
    head = f"Skill: {entry.skill}" + (f"\nPhase: {entry.phase}" if entry.phase else "")
    return f"{head}\n\n{asked}" if make not in (None, "") else head


Made = tuple[dict[str, list[Message]], int] | RefusedExample


def _taught(
    entry: Entry, verified: Attempt, prompt: str, names: ProjectNames, options: ExampleFilter
) -> Made:
    answer = gate.clean(verified.output_summary, names)
    reason = gate.refusal(prompt, (answer,), names, options.most_characters)
    if reason is not None:
        return RefusedExample(SFT, reason)
    tries = 1 + entry.attempts.index(verified)
    row = {"prompt": _one_message("user", prompt), "completion": _one_message("assistant", answer)}
    return row, gate.attempt_score(prompt, answer, tries)


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
    row = {
        "prompt": _one_message("user", prompt),
        "chosen": _one_message("assistant", chosen),
        "rejected": _one_message("assistant", rejected),
    }
    return row, score


def _one_message(role: str, text: str) -> list[Message]:
    return [{"role": role, "content": text}]


def _is_failure(attempt: Attempt) -> bool:
    """Whether there is evidence that an attempt failed. A mere lack of success is not enough."""
    said_no = verdict_of(attempt.verdict or "") == "fail"
    return not attempt.verified and bool(said_no or attempt.runner_output or attempt.feedback)
