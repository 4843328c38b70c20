"""The tool ``show``: a session in short, the events around one event, or one event in full."""

from typing import Any

from session_memory.core.text import below_repo
from session_memory.learn.digest import Digest, Statement
from session_memory.learn.digests import digest_of
from session_memory.mcp.asking import Question
from session_memory.mcp.session_line import head_line, shown_path
from session_memory.memory.session import StoredSession
from session_memory.views.choices import choices_in
from session_memory.views.current_repository import FileThen
from session_memory.views.event_lookup import find_event
from session_memory.views.short_names import short_names
from session_memory.views.transcript_items import TranscriptEvent

MOST_PROMPTS, MOST_DECISIONS, MOST_ERRORS, MOST_FILES, MOST_COMMITS = 6, 3, 3, 5, 3


def write(question: Question, arguments: dict[str, Any]) -> None:
    given, _, event = arguments["ref"].strip().strip("[]").partition("#")
    session = question.memory.session(given)
    name = short_names(question.memory.store, [session.uid])[session.uid]
    if not event:
        _session(question, session, name)
        return
    seq = find_event(question.memory.store, session.uid, event)
    head = head_line(question, f"{name}#{seq}", session.record, session.outcome)
    question.answer.say(head)
    if arguments["around"]:
        _around(question, session, seq, arguments["around"])
    else:
        _detail(question, session, name, seq)


def _session(question: Question, session: StoredSession, name: str) -> None:
    answer, repo = question.answer, session.repo
    answer.say(head_line(question, name, session.record, session.outcome))
    answer.quote("title", session.title, rank=1)
    digest = digest_of(question.memory.store, session.uid)
    if digest is None:
        answer.say(f'not analyzed yet; its events: show("{name}#10", around=10)')
        return
    seqs = _seqs(question, session)
    _statements(question, "asked", digest.prompts[:MOST_PROMPTS], seqs, rank=3)
    _decisions(question, digest, seqs)
    for error in digest.error_snippets[:MOST_ERRORS]:
        label = f"error{_place(error.event_uids[:1], seqs)}"
        answer.quote(label, error.sample, rank=5, most=120)
        if error.resolution is not None:
            where = _place(error.resolution.event_uids[:1], seqs)
            how = error.resolution
            is_path = how.kind in ("edit", "look")
            text = shown_path(how.text, session.record) if is_path else below_repo(how.text, repo)
            answer.quote(f"resolved{where}, {error.resolution.kind}", text, rank=5, most=120)
    _files(question, session, digest)
    _statements(question, "commit", digest.commits[:MOST_COMMITS], seqs, rank=2)
    if digest.last_answer is not None:
        last = digest.last_answer
        answer.quote(f"answered{_place((last.event_uid,), seqs)}", last.text, rank=1, most=500)
    answer.say(f'one event: show("{name}#NUMBER")', rank=1)


def _statements(
    question: Question,
    label: str,
    some: tuple[Statement, ...],
    seqs: dict[str, int],
    rank: int,
) -> None:
    for one in some:
        where = _place((one.event_uid,), seqs)
        question.answer.quote(f"{label}{where}", one.text, rank, most=160)


def _decisions(question: Question, digest: Digest, seqs: dict[str, int]) -> None:
    choices = [(one, each) for one in digest.decisions for each in choices_in(one.text)]
    # Answers to questions come first: they say more than an accepted plan or a mode.
    choices.sort(key=lambda pair: not pair[1].asked)
    for one, choice in choices[:MOST_DECISIONS]:
        where = _place((one.event_uid,), seqs)
        question.answer.quote(f"decided{where}", str(choice), rank=2, most=200)


def _files(question: Question, session: StoredSession, digest: Digest) -> None:
    edited = sorted((one for one in digest.files if one.edits), key=lambda one: -one.edits)
    paths = [one.path for one in edited[:MOST_FILES]]
    ended = question.moment(digest.ended_at)
    states = question.changes([(digest.repo, ended, paths)])
    for path in paths:
        known = states.get(FileThen(path, ended or 0))
        state = f" ({known})" if known else ""
        question.answer.quote(f"edited{state}", shown_path(path, session.record), rank=4, most=120)


def _seqs(question: Question, session: StoredSession) -> dict[str, int]:
    row = question.memory.store.sessions.row(session.uid)
    if row is None:
        return {}
    chain = question.memory.store.events.chain(row.id)
    return {event_uid: seq for seq, _, _, event_uid, _ in chain}


def _place(event_uids: tuple[str, ...], seqs: dict[str, int]) -> str:
    found = next((seqs[uid] for uid in event_uids if uid in seqs), None)
    return "" if found is None else f" #{found}"


def _around(question: Question, session: StoredSession, seq: int, around: int) -> None:
    first, last = max(seq - around, 0), seq + around
    for item in session.transcript(first=first, last=last, children=False):
        if isinstance(item, TranscriptEvent):
            rank = abs(item.seq - seq)
            text = item.command or item.text or item.title
            label = f"#{item.seq} {_sort(item)}"
            most = 240 if item.seq == seq else 140
            question.answer.quote(label, below_repo(text, session.repo), rank, most=most)
    question.answer.say("whole text of one event: around=0", rank=1)


def _detail(question: Question, session: StoredSession, name: str, seq: int) -> None:
    for item in session.transcript("full", first=seq, last=seq, children=False, everything=True):
        if isinstance(item, TranscriptEvent):
            lines = [line for change in item.changes for line in change.lines]
            text = item.command or "\n".join(lines) or item.text or item.title
            left = question.answer.quote_lines(_sort(item), text)
            if left:
                question.answer.say(f"{left:,} more characters; ask with more tokens")


def _sort(item: TranscriptEvent) -> str:
    tool = f" {item.event.tool}" if item.event.tool and item.event.tool.isidentifier() else ""
    bad = " failed" if item.event.is_error else ""
    return f"{item.sort}{tool}{bad}"
