"""The tool ``sessions``: list past sessions by repository, file, time or id, newest first."""

from typing import Any

from session_memory.core.schema import Session
from session_memory.learn.digests import digest_of
from session_memory.mcp.asking import Question
from session_memory.mcp.session_line import head_line
from session_memory.search.question import concepts_in
from session_memory.search.ranking import rank
from session_memory.store.hits import Hits, HitSession
from session_memory.store.index import CALL
from session_memory.views.indexed_sessions import sessions_with_words
from session_memory.views.session_labels import session_labels

SHOWN = 20
# The index has no calls of evicted sessions. So the sessions that fit the words of a path best are
# candidates, too. The digests of all candidates are then searched for the path itself.
BEST = 30
MOST_READ = 60


def write(question: Question, arguments: dict[str, Any]) -> None:
    memory, answer = question.memory, question.answer
    if arguments["uuid"]:
        found = [memory.session(arguments["uuid"]).record]
        total = 1
    elif arguments["file"]:
        found = _with_file(question, arguments["file"], arguments["since"])
        total = len(found)
    else:
        query = memory.sessions(
            repo=question.repo, since=arguments["since"], folded=True, limit=SHOWN
        )
        listing = query.listing()
        found, total = listing.sessions, listing.total
    if not found:
        question.nothing("no such session")
        return
    where = question.repo or "all repositories"
    answer.say(f"{total:,} sessions of {where}, newest first:" if total > 1 else "1 session:")
    labels = session_labels(memory.store, [one.session_uid for one in found])
    for place, session in enumerate(found):
        uid = session.session_uid
        answer.say(head_line(question, labels.name(uid), session, session.outcome), rank=place)
        answer.quote("", labels.title(uid), rank=place, most=100)
    answer.say("more: show(ref)", rank=0)


def _with_file(question: Question, path: str, since: str | None) -> list[Session]:
    """Return the newest sessions whose digest has a file with this path or this end of a path."""
    memory = question.memory
    end = "/" + path.strip().removeprefix("./").lstrip("/")
    admitted = None
    if since is not None:
        query = memory.sessions(repo=question.repo, since=since)
        admitted = {one.uid for one in query}
    found: list[Session] = []
    possible = [
        one.uid
        for one in _candidates(question, end.rpartition("/")[2])
        if (admitted is None or one.uid in admitted) and question.admits(one.repo)
    ]
    for uid in possible[:MOST_READ]:
        digest = digest_of(memory.store, uid)
        if digest and any(f"/{file.path}".endswith(end) for file in digest.files):
            found.append(memory.session(uid).record)
        if len(found) == SHOWN:
            break
    return found


def _candidates(question: Question, name: str) -> list[HitSession]:
    """Return the sessions that may have used a file with this name, newest first."""
    store = question.memory.store
    ranked = rank(store, concepts_in(name), repo=question.repo)[:BEST]
    named = Hits(store.db, store.names).sessions_named([one.uid for one in ranked])
    called = sessions_with_words(store, name, text_class=CALL)
    by_uid = {one.uid: one for one in (*named.values(), *called)}
    return sorted(by_uid.values(), key=lambda one: (-(one.ended_at or 0), one.uid))
