"""The tool ``recall``: find sessions about a task, and events that contain its words."""

import re
from typing import TYPE_CHECKING, Any

from session_memory.core.schema import Session
from session_memory.core.text import below_repo
from session_memory.learn.digests import digest_of
from session_memory.mcp.asking import Question
from session_memory.mcp.session_line import event_ref, head_line, shown_path
from session_memory.search.query import parse
from session_memory.search.recall_terms import terms_in
from session_memory.store.word_query import WordQuery
from session_memory.views.choices import ChosenAnswer, choices_in
from session_memory.views.current_repository import FileThen
from session_memory.views.indexed_sessions import sessions_with_words
from session_memory.views.short_names import short_names

if TYPE_CHECKING:
    from session_memory.views.how import TaskSession
    from session_memory.views.search import ShownHit

# Measured on real sessions: with a fit below LEAST, a session is about something else. With a fit
# below WEAK, it often is.
LEAST, WEAK = 0.15, 0.35
# A session whose fit is less than this share of the best fit is left out.
SHARE = 0.25
MOST_FILES = 3
MOST_COMMANDS = 2
MOST_WORDS = 4
# At most this many parts of a session (title, prompt, …) are named for a matched word.
MOST_FIELDS = 3
# A hash, a name in code or a path. Whoever asks for one wants to see an event that contains it.
_IDENTIFIER = re.compile(r"\S*(?:[A-Za-z]\d|\d[A-Za-z]|[a-z][A-Z]|\w[_./:]\w)\S*")
_WORD = re.compile(r"\w+(?:[./-]+\w+)*")
_HASH = re.compile(r"(?=.*\d)[0-9a-f]{7,40}")
MOST_MAKERS = 20
LONGEST_CHOICE = 300


def write(question: Question, arguments: dict[str, Any]) -> None:
    query, k = arguments["query"], arguments["k"]
    is_exact = _IDENTIFIER.fullmatch(query.strip()) is not None
    maker = _commit(question, query.strip()) if _HASH.fullmatch(query.strip()) else None
    hits = (
        [one for one in _hits(question, query, k) if one.session_uid != maker] if is_exact else []
    )
    for hit in hits[: 0 if maker else 1]:
        _hit(question, hit)
    found = _fitting(question.memory.how(query, repo=question.repo, limit=k).sessions)
    if found and found[0].fit < WEAK:
        question.answer.say("weak matches only, with few of the words:")
    records = [question.memory.session(one.session_uid).record for one in found]
    files = [_paths(one, record) for one, record in zip(found, records, strict=True)]
    states = question.changes(
        (one.repo, one.ended_at, paths) for one, paths in zip(found, files, strict=True)
    )
    for place, (one, record, paths) in enumerate(zip(found, records, files, strict=True)):
        _session(question, one, record, query, rank=place)
        for path, shown in paths.items():
            state = states.get(FileThen(path, one.ended_at or 0))
            label = f"edited ({state})" if state else "edited"
            question.answer.quote(label, shown, place + 3, most=120)
    if not found:
        for hit in hits[0 if maker else 1 :] if is_exact else _hits(question, query, k):
            hits.append(hit)
            _hit(question, hit)
    if not (found or hits or maker):
        question.nothing("nothing found")


def _commit(question: Question, number: str) -> str | None:
    """Show the session that made a commit, and return its uid."""
    store = question.memory.store
    named = [one for one in sessions_with_words(store, number) if question.admits(one.repo)]
    # A commit is made before others mention it.
    named.sort(key=lambda one: (one.started_at or 0, one.uid))
    for one in named[:MOST_MAKERS]:
        digest = digest_of(store, one.uid)
        for commit in digest.commits if digest else ():
            logged = commit.text.partition(" ")[0]
            if _HASH.fullmatch(logged) and (logged.startswith(number) or number.startswith(logged)):
                record = question.memory.session(one.uid).record
                ref = event_ref(question, one.uid, commit.event_uid)
                question.answer.say(head_line(question, ref, record, record.outcome))
                question.answer.quote("made this commit", commit.text)
                return one.uid
    return None


def _fitting(found: "list[TaskSession]") -> "list[TaskSession]":
    """Leave out sessions that only share a common word with the question."""
    best = max((one.fit for one in found), default=0.0)
    return [one for one in found if one.fit >= max(LEAST, SHARE * best)]


def _hits(question: Question, query: str, most: int) -> "list[ShownHit]":
    """Return the best events with all words of the query, at most one of each session."""
    # Only plain words are searched: a colon or a minus in a question makes no filter. If a word is
    # not in the index, nothing is searched, because looking for the word inside other words would
    # read the whole index.
    words = " ".join(_WORD.findall(query))
    if not _has_event(question, words):
        return []
    best: dict[str, ShownHit] = {}
    for hit in question.memory.search(words, repo=question.repo, limit=4 * most).hits:
        best.setdefault(hit.session_uid, hit)
    return list(best.values())[:most]


def _has_event(question: Question, words: str) -> bool:
    terms = tuple((word,) for term in parse(words).positive for word in term.words)
    return bool(terms and question.memory.store.index.find(WordQuery(terms), limit=1))


def _session(
    question: Question, found: "TaskSession", record: Session, query: str, rank: int
) -> None:
    answer, repo = question.answer, found.repo
    choice = _choice(question, found.session_uid, query)
    answer.say(head_line(question, found.name, record, found.outcome), rank=rank)
    if found.title:
        answer.quote("title", found.title, rank + 1)
    fields = {one.found: one.fields[:MOST_FIELDS] for one in reversed(found.words[:MOST_WORDS])}
    words = [f"{word} ({', '.join(some)})" for word, some in reversed(fields.items())]
    if words:
        answer.quote("matched", ", ".join(words), rank + 3)
    shown = f"{found.title or ''} {found.answer}"
    if choice is not None:
        answer.quote("decided", str(choice), rank + 1, most=LONGEST_CHOICE)
    elif found.excerpt is not None and found.excerpt.text[:60] not in shown:
        answer.quote(found.excerpt.field, found.excerpt.text, rank + 2)
    if found.answer:
        answer.quote("answered", found.answer, rank + 1)
    for commit in found.commits[:1]:
        answer.quote("commit", commit, rank + 2)
    for command in found.commands[:MOST_COMMANDS]:
        answer.quote("ran", below_repo(command, repo), rank + 4, most=120)


def _choice(question: Question, uid: str, query: str) -> ChosenAnswer | None:
    """Return what a person chose, if the agent asked nearly the same question as the query."""
    digest, asked = digest_of(question.memory.store, uid), set(terms_in(query))
    every = [one for each in (digest.decisions if digest else ()) for one in choices_in(each.text)]
    shared = [len(asked.intersection(terms_in(one.asked))) for one in every]
    most = max(shared, default=0)
    return every[shared.index(most)] if most >= 2 and 2 * most >= len(asked) else None


def _paths(found: "TaskSession", record: Session) -> dict[str, str]:
    """Return edited files of the repository with their short paths, by path.

    Files elsewhere, such as notes in the agent's own directory, are left out.
    """
    shown = ((path, shown_path(path, record)) for path in found.files)
    inside = [(path, short) for path, short in shown if not short.startswith("/")]
    return dict(inside[:MOST_FILES])


def _hit(question: Question, hit: "ShownHit") -> None:
    memory = question.memory
    record = memory.session(hit.session_uid).record
    name = short_names(memory.store, [hit.session_uid])[hit.session_uid]
    ref = name if hit.seq is None else f"{name}#{hit.seq}"
    question.answer.say(head_line(question, ref, record, record.outcome), rank=2)
    question.answer.quote("found", hit.snippet.text, rank=3)
