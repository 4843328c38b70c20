"""The tool ``sessions``: list past sessions by repository, file, time or id, newest first."""

from typing import Any

from session_memory.core.schema import Session
from session_memory.learn.digests import digest_of
from session_memory.mcp.asking import Question
from session_memory.mcp.session_line import head_line
from session_memory.search.question import concepts_in
from session_memory.search.ranking import rank
from session_memory.views.session_labels import session_labels

SHOWN = 20
# The best sessions by the words of a path are looked at for the path itself.
LOOKED_AT = 30


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
    """Sessions whose digest has a file with this path or this end of a path."""
    memory = question.memory
    end = "/" + path.strip().lstrip("./")
    admitted = None
    if since is not None:
        query = memory.sessions(repo=question.repo, since=since)
        admitted = {one.uid for one in query}
    found = []
    ranked = rank(memory.store, concepts_in(end.rpartition("/")[2]), repo=question.repo)
    for one in ranked[:LOOKED_AT]:
        if admitted is not None and one.uid not in admitted:
            continue
        digest = digest_of(memory.store, one.uid)
        if digest and any(f"/{file.path}".endswith(end) for file in digest.files):
            found.append(memory.session(one.uid).record)
    return sorted(found, key=lambda record: record.ended_at or "", reverse=True)[:SHOWN]
