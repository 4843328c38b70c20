"""``recall``: sessions about a task, and events with its words."""

from typing import Any

from session_memory.core.text import below_repo
from session_memory.mcp.asking import Question
from session_memory.mcp.session_line import head_line
from session_memory.views.how import TaskSession
from session_memory.views.search import ShownHit
from session_memory.views.short_names import short_names

MOST_FILES = 3
MOST_COMMANDS = 2
MOST_WORDS = 4
# Words in all parts of a session say nothing about where they stand.
MOST_FIELDS = 3


def write(question: Question, arguments: dict[str, Any]) -> None:
    query, k = arguments["query"], arguments["k"]
    found = question.memory.how(query, repo=question.repo, limit=k).sessions
    for place, session in enumerate(found):
        _session(question, session, rank=place)
    hits = _other_hits(question, query, found, k - len(found))
    for hit in hits:
        _hit(question, hit)
    if not (found or hits):
        question.nothing("nothing found")


def _other_hits(
    question: Question, query: str, found: list[TaskSession], most: int
) -> list[ShownHit]:
    """The best event with all words, of each session that was not found by its digest."""
    if most <= 0:
        return []
    known = {session.session_uid for session in found}
    best: dict[str, ShownHit] = {}
    for hit in question.memory.search(query, repo=question.repo, limit=4 * most).hits:
        if hit.session_uid not in known:
            best.setdefault(hit.session_uid, hit)
    return list(best.values())[:most]


def _session(question: Question, found: TaskSession, rank: int) -> None:
    answer, repo = question.answer, found.repo
    record = question.memory.session(found.session_uid).record
    answer.say(head_line(question, found.name, record, found.outcome), rank=rank)
    if found.title:
        answer.quote("title", found.title, rank + 1)
    words = [
        f"{one.found} ({', '.join(one.fields[:MOST_FIELDS])})" for one in found.words[:MOST_WORDS]
    ]
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


def _hit(question: Question, hit: ShownHit) -> None:
    memory = question.memory
    record = memory.session(hit.session_uid).record
    name = short_names(memory.store, [hit.session_uid])[hit.session_uid]
    ref = name if hit.seq is None else f"{name}#{hit.seq}"
    question.answer.say(head_line(question, ref, record, record.outcome), rank=2)
    question.answer.quote("found", hit.snippet.text, rank=3)
