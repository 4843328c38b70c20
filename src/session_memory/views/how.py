"""Find how a task was done before: sessions about it, with their commands and edited files."""

from typing import Any

import msgspec

from session_memory.core.text import one_line
from session_memory.learn.digest import Digest
from session_memory.learn.recall import RecalledSession, recall
from session_memory.pricing import Amount, session_amounts
from session_memory.redact import mask_cut
from session_memory.search.recall_terms import terms_in
from session_memory.store import Store
from session_memory.store.recall import Recall
from session_memory.views.matched_words import Excerpt, MatchedWord, best_excerpt, matched_words
from session_memory.views.short_names import short_names
from session_memory.views.telling_commands import telling_commands

DEFAULT_LIMIT = 5
MOST_COMMANDS = 5
MOST_FILES = 8
MOST_COMMITS = 3
LONGEST = 400
ENOUGH = 80
LEAST = 0.02


class TaskSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session about the task. ``fit`` says how well it fits, from 0 to 1. ``answer`` is the
    beginning of its last answer. Excerpt, commands, files, commits and answer are empty unless
    ``is_analyzed``."""

    session_uid: str
    name: str
    flavor: str
    repo: str | None
    title: str | None
    ended_at: int | None
    outcome: str
    fit: float
    why: tuple[str, ...]
    words: tuple[MatchedWord, ...] = ()
    excerpt: Excerpt | None = None
    commands: tuple[str, ...]
    files: tuple[str, ...]
    commits: tuple[str, ...]
    answer: str = ""
    microdollars: int
    unpriced_tokens: int
    is_analyzed: bool

    @property
    def amount(self) -> Amount:
        return Amount(self.microdollars, self.unpriced_tokens)


class HowDone(msgspec.Struct, frozen=True):
    """The sessions about a ``task``. ``evicted`` is the number of evicted sessions in the store of
    which only the titles were searched."""

    task: str
    sessions: list[TaskSession]
    evicted: int = 0

    def to_dict(self) -> dict[str, Any]:
        more = {"evicted": self.evicted} if self.evicted else {}
        return {"task": self.task, "sessions": msgspec.to_builtins(self.sessions), **more}


def how_done(
    store: Store,
    task: str,
    *,
    repo: str | None = None,
    limit: int = DEFAULT_LIMIT,
) -> HowDone:
    """Find sessions about a task, the best fit first. ``limit`` 0 means all."""
    found = [one for one in recall(store, task, limit=limit, repo=repo) if one.fit >= LEAST]
    uids = [one.uid for one in found]
    amounts, names = session_amounts(store, uids), short_names(store, uids)
    sessions = [
        _task_session(store, task, one, names.get(one.uid, one.uid), amounts[one.uid])
        for one in found
    ]
    evicted = len(Recall(store.db).absent_evicted())
    return HowDone(task, [one for one in sessions if one is not None], evicted)


def _task_session(
    store: Store, task: str, found: RecalledSession, name: str, amount: Amount
) -> TaskSession | None:
    row, digest = store.sessions.row(found.uid), found.digest
    if row is None:
        return None
    asked = digest.first_request.text if digest and digest.first_request else None
    words = matched_words(task, found)
    return TaskSession(
        session_uid=found.uid,
        name=name,
        flavor=row.flavor,
        repo=row.repo,
        title=mask_cut(row.title or asked or "") or None,
        ended_at=row.ended_at,
        outcome=digest.outcome.outcome if digest else row.outcome or "unknown",
        fit=found.fit,
        why=tuple(map(str, words)),
        words=tuple(words),
        excerpt=best_excerpt(found),
        commands=telling_commands(digest, terms_in(task), MOST_COMMANDS) if digest else (),
        files=_files(digest) if digest else (),
        commits=tuple(_shown(one.text) for one in digest.commits[:MOST_COMMITS]) if digest else (),
        answer=_answer(digest) if digest else "",
        microdollars=amount.microdollars,
        unpriced_tokens=amount.unpriced_tokens,
        is_analyzed=digest is not None,
    )


def _answer(digest: Digest) -> str:
    """Return the beginning of the last answer, without Markdown.

    Lines are added until there is enough text, because a first line often only announces the next.
    """
    text = digest.last_answer.text if digest.last_answer else ""
    lines = [line.strip(" #*->|").replace("**", "").replace("`", "") for line in text.splitlines()]
    begun: list[str] = []
    for line in filter(None, lines):
        begun.append(line)
        if sum(map(len, begun)) >= ENOUGH:
            break
    return one_line(mask_cut(" ".join(begun)), LONGEST)


def _shown(text: str) -> str:
    return mask_cut(text)[:LONGEST]


def _files(digest: Digest) -> tuple[str, ...]:
    edited = [file for file in digest.files if file.edits]
    edited.sort(key=lambda file: (-file.edits, file.path))
    return tuple(mask_cut(file.path) for file in edited[:MOST_FILES])
