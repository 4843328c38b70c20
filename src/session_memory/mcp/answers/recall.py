"""``recall``: sessions about a task, and events with its words."""

import re
from typing import TYPE_CHECKING, Any

from session_memory.core.text import below_repo
from session_memory.mcp.asking import Question
from session_memory.mcp.session_line import head_line
from session_memory.search.query import parse
from session_memory.store.word_query import WordQuery
from session_memory.views.short_names import short_names

if TYPE_CHECKING:
    from session_memory.views.how import TaskSession
    from session_memory.views.search import ShownHit

MOST_FILES = 3
MOST_COMMANDS = 2
MOST_WORDS = 4
# Words in all parts of a session say nothing about where they stand.
MOST_FIELDS = 3
# A hash, a name of the code, a path: whoever asks for it wants the place where it stands.
_IDENTIFIER = re.compile(r"\S*(?:[A-Za-z]\d|\d[A-Za-z]|[a-z][A-Z]|\w[_./:]\w)\S*")
_WORD = re.compile(r"\w+(?:[./-]+\w+)*")


def write(question: Question, arguments: dict[str, Any]) -> None:
    query, k = arguments["query"], arguments["k"]
    exact = _other_hits(question, query, [], k) if _IDENTIFIER.fullmatch(query.strip()) else []
    for hit in exact[:1]:
        _hit(question, hit)
    found = question.memory.how(query, repo=question.repo, limit=k).sessions
    for place, session in enumerate(found):
        _session(question, session, rank=place)
    hits = exact[1:] if not found else _other_hits(question, query, found, k - len(found))
    for hit in hits:
        _hit(question, hit)
    if not (exact or found or hits):
        question.nothing("nothing found")


def _other_hits(
    question: Question, query: str, found: "list[TaskSession]", most: int
) -> "list[ShownHit]":
    """The best event with all words, of each session that was not found by its digest."""
    # A word of a question is never a field or an operator, and an unknown word is not looked for
    # inside of other words, because that reads the whole index.
    words = " ".join(_WORD.findall(query))
    if most <= 0 or not _has_event(question, words):
        return []
    known = {session.session_uid for session in found}
    best: dict[str, ShownHit] = {}
    for hit in question.memory.search(words, repo=question.repo, limit=4 * most).hits:
        if hit.session_uid not in known:
            best.setdefault(hit.session_uid, hit)
    return list(best.values())[:most]


def _has_event(question: Question, words: str) -> bool:
    terms = tuple((word,) for term in parse(words).positive for word in term.words)
    return bool(terms and question.memory.store.index.find(WordQuery(terms), limit=1))


def _session(question: Question, found: "TaskSession", rank: int) -> None:
    answer, repo = question.answer, found.repo
    record = question.memory.session(found.session_uid).record
    answer.say(head_line(question, found.name, record, found.outcome), rank=rank)
    if found.title:
        answer.quote("title", found.title, rank + 1)
    fields = {one.found: one.fields[:MOST_FIELDS] for one in reversed(found.words[:MOST_WORDS])}
    words = [f"{word} ({', '.join(some)})" for word, some in reversed(fields.items())]
    if words:
        answer.quote("matched", ", ".join(words), rank + 3)
    if found.excerpt is not None and found.excerpt.text[:60] not in (found.title or ""):
        answer.quote(found.excerpt.field, found.excerpt.text, rank + 2)
    if found.answer:
        answer.quote("answered", found.answer, rank + 1)
    for commit in found.commits[:1]:
        answer.quote("commit", commit, rank + 2)
    for command in found.commands[:MOST_COMMANDS]:
        answer.quote("ran", below_repo(command, repo), rank + 4, most=120)
    states = {}
    if question.is_here(repo):
        states = question.place.changes_since(found.files, found.ended_at)
    for path in found.files[:MOST_FILES]:
        state = f" ({states[path]})" if path in states else ""
        answer.quote(f"edited{state}", below_repo(path, repo), rank + 3, most=120)


def _hit(question: Question, hit: "ShownHit") -> None:
    memory = question.memory
    record = memory.session(hit.session_uid).record
    name = short_names(memory.store, [hit.session_uid])[hit.session_uid]
    ref = name if hit.seq is None else f"{name}#{hit.seq}"
    question.answer.say(head_line(question, ref, record, record.outcome), rank=2)
    question.answer.quote("found", hit.snippet.text, rank=3)
