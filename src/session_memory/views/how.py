"""How a task was done before: sessions about it, with their commands and edited files."""

from typing import Any

import msgspec

from session_memory.core.index_words import words_in
from session_memory.derive.detecting import Program, programs
from session_memory.learn.digest import CommandUse, Digest
from session_memory.learn.digest.similarity import content_words
from session_memory.learn.digests import digest_of
from session_memory.pricing import Amount, session_amounts
from session_memory.redact import mask_cut
from session_memory.search import Filters
from session_memory.search.similar import MOST_SHOWN
from session_memory.store import Store
from session_memory.views.evicted import count_evicted
from session_memory.views.search import search
from session_memory.views.short_names import short_names
from session_memory.views.similar import similar_to_text

DEFAULT_LIMIT = 5
CANDIDATES = 40
MOST_COMMANDS = 6
MOST_FILES = 8
LONGEST = 400
MOST_DEPTH = 10
LEAST = 0.15
# Commands that only look at things. They do not show how the task was done.
_LOOKERS = """
    cat head tail less more ls ll tree pwd cd echo printf which type file stat wc find fd grep rg ag
    sed awk sort uniq cut tr jq diff env date true false sleep test read history
"""
_LOOKING = frozenset(_LOOKERS.split())
_GIT_LOOKS = frozenset({"status", "log", "diff", "show", "branch", "blame", "ls-files", "remote"})
_ORDER = {"success": 0, "continued": 1, "unknown": 1, "abandoned": 2, "fail": 3}


class TaskSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session about the task. ``fit`` is 0 to 1. Commands, files and commits are empty unless
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
    commands: tuple[str, ...]
    files: tuple[str, ...]
    commits: tuple[str, ...]
    microdollars: int
    unpriced_tokens: int
    is_analyzed: bool

    @property
    def amount(self) -> Amount:
        return Amount(self.microdollars, self.unpriced_tokens)


class HowDone(msgspec.Struct, frozen=True):
    """``evicted`` is the number of evicted sessions. They were found by their titles only."""

    task: str
    sessions: list[TaskSession]
    evicted: int = 0

    def to_dict(self) -> dict[str, Any]:
        more = {"evicted": self.evicted} if self.evicted else {}
        return {"task": self.task, "sessions": msgspec.to_builtins(self.sessions), **more}


class _Fit(msgspec.Struct):
    score: float = 0.0
    why: list[str] = []


def how_done(
    store: Store,
    task: str,
    *,
    now: int,
    repo: str | None = None,
    limit: int = DEFAULT_LIMIT,
) -> HowDone:
    """Sessions about the task: successful ones first, then by fit. ``limit`` 0 means all."""
    fits = _fits(store, task, repo, now)
    amounts = session_amounts(store, list(fits))
    names = short_names(store, fits)
    sessions = [
        one
        for uid, fit in fits.items()
        if (one := _task_session(store, uid, fit, names.get(uid, uid), amounts[uid])) is not None
        and repo in (None, one.repo)
    ]
    sessions.sort(
        key=lambda d: (_ORDER.get(d.outcome, 1), -d.fit, -(d.ended_at or 0), d.session_uid)
    )
    return HowDone(task, sessions[: limit or None], count_evicted(store, _in_repo(repo)))


def _in_repo(repo: str | None) -> Filters:
    return Filters() if repo is None else Filters(repos=(repo,))


def _fits(store: Store, task: str, repo: str | None, now: int) -> dict[str, _Fit]:
    """Sessions that share distinctive words with the task, or have an event with all its words."""
    fits: dict[str, _Fit] = {}
    task_words = {word for word in words_in(task) if content_words(word)}
    for similar_sessions in similar_to_text(store, task, CANDIDATES).found:
        # Likeness ignores words that no session has. Here they lower the score.
        shared = [word for word in similar_sessions.words if word in task_words]
        score = similar_sessions.likeness * len(shared) / max(min(len(task_words), MOST_SHOWN), 1)
        if score >= LEAST:
            fit = fits.setdefault(_asked_in(store, similar_sessions.session.uid), _Fit())
            if score > fit.score:
                fit.score, fit.why = score, shared
    hits = search(store, task, _in_repo(repo), now=now, limit=CANDIDATES, snippets=False).hits
    best = max((hit.score for hit in hits), default=0.0)
    for hit in hits:
        fit = fits.setdefault(_asked_in(store, hit.session_uid), _Fit())
        gained = 0.5 + 0.5 * (hit.score / best if best > 0 else 0.0)
        if gained > fit.score:
            fit.score = gained
        if hit.why not in fit.why:
            fit.why = [hit.why, *fit.why][:6]
    return fits


def _asked_in(store: Store, uid: str) -> str:
    """The session that was asked for the task: for a subagent, the session that started it."""
    for _ in range(MOST_DEPTH):
        row = store.sessions.row(uid)
        if row is None or row.relation != "subagent" or row.parent_uid is None:
            break
        uid = row.parent_uid
    return uid


def _task_session(
    store: Store, uid: str, fit: _Fit, name: str, amount: Amount
) -> TaskSession | None:
    row, digest = store.sessions.row(uid), digest_of(store, uid)
    if row is None:
        return None
    asked = digest.first_request.text if digest and digest.first_request else None
    return TaskSession(
        session_uid=uid,
        name=name,
        flavor=row.flavor,
        repo=row.repo,
        title=mask_cut(row.title or asked or "") or None,
        ended_at=row.ended_at,
        outcome=digest.outcome.outcome if digest else row.outcome or "unknown",
        fit=round(fit.score, 4),
        why=tuple(fit.why),
        commands=_commands(digest) if digest else (),
        files=_files(digest) if digest else (),
        commits=tuple(_shown(one.text) for one in digest.commits[:3]) if digest else (),
        microdollars=amount.microdollars,
        unpriced_tokens=amount.unpriced_tokens,
        is_analyzed=digest is not None,
    )


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
