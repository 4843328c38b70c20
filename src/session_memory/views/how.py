"""How a task was done before: sessions about it, with their commands and edited files."""

from typing import Any

import msgspec

from session_memory.core.text import one_line
from session_memory.derive.detecting import Program, programs
from session_memory.learn.digest import CommandUse, Digest
from session_memory.learn.recall import RecalledSession, recall
from session_memory.pricing import Amount, session_amounts
from session_memory.redact import mask_cut
from session_memory.store import Store
from session_memory.store.recall import Recall
from session_memory.views.matched_words import Excerpt, MatchedWord, best_excerpt, matched_words
from session_memory.views.short_names import short_names

DEFAULT_LIMIT = 5
MOST_COMMANDS = 6
MOST_FILES = 8
MOST_COMMITS = 3
LONGEST = 400
LEAST = 0.05
# Commands that only look at things. They do not show how the task was done.
_LOOKERS = """
    cat head tail less more ls ll tree pwd cd echo printf which type file stat wc find fd grep rg ag
    sed awk sort uniq cut tr jq diff env date true false sleep test read history
"""
_LOOKING = frozenset(_LOOKERS.split())
_GIT_LOOKS = frozenset({"status", "log", "diff", "show", "branch", "blame", "ls-files", "remote"})


class TaskSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session about the task. ``fit`` is 0 to 1. ``answer`` is the beginning of its last answer.
    Commands, files, commits and texts are empty unless ``is_analyzed``."""

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
    """``evicted`` is the number of evicted sessions that were found by their titles only."""

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
    """Sessions about the task, those that fit best first. ``limit`` 0 means all."""
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
        commands=_commands(digest) if digest else (),
        files=_files(digest) if digest else (),
        commits=tuple(_shown(one.text) for one in digest.commits[:MOST_COMMITS]) if digest else (),
        answer=_answer(digest) if digest else "",
        microdollars=amount.microdollars,
        unpriced_tokens=amount.unpriced_tokens,
        is_analyzed=digest is not None,
    )


def _answer(digest: Digest) -> str:
    """The first line of the last answer, without Markdown."""
    text = digest.last_answer.text if digest.last_answer else ""
    lines = (line.strip(" #*->`|") for line in text.splitlines())
    return one_line(mask_cut(next((line for line in lines if line), "")), LONGEST)


def _commands(digest: Digest) -> tuple[str, ...]:
    """Commands that succeeded and did more than look, most runs first."""
    worked = [one for one in digest.commands if one.failures < one.runs and not _only_looks(one)]
    worked.sort(key=lambda one: (-one.runs, one.text))
    return tuple(_shown(one.text) for one in worked[:MOST_COMMANDS])


def _shown(text: str) -> str:
    return mask_cut(text)[:LONGEST]


def _only_looks(command: CommandUse) -> bool:
    return all(map(_looks, programs(command.text)))


def _looks(program: Program) -> bool:
    if program.name != "git":
        return program.name in _LOOKING
    return next((word for word in program.arguments if word[:1] != "-"), "status") in _GIT_LOOKS


def _files(digest: Digest) -> tuple[str, ...]:
    edited = [file for file in digest.files if file.edits]
    edited.sort(key=lambda file: (-file.edits, file.path))
    return tuple(mask_cut(file.path) for file in edited[:MOST_FILES])
