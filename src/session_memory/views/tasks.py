"""Tasks: the issues, pull requests and tickets that sessions worked on.

A task has one name in all answers: ``shop#12`` for the issue ``#12`` of the repository ``shop``, in
whatever form the session's logs name it. A subagent without a task has the one of its parent.
"""

from typing import Any

import msgspec

from session_memory.core.errors import InvalidRecord
from session_memory.core.text import short_repr
from session_memory.core.time import format_time
from session_memory.pricing import Amount, session_amounts
from session_memory.store import Store
from session_memory.store.tasks import SessionTask
from session_memory.views.matching import is_like

LONGEST = 200
DEEPEST = 100


class TaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """A task with its sessions. ``amount`` is their cost, subagents included."""

    task: str
    repo: str | None
    sessions: tuple[str, ...]
    ended_at: int | None
    amount: Amount

    def to_dict(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "repo": self.repo,
            "sessions": list(self.sessions),
            "ended_at": None if self.ended_at is None else format_time(self.ended_at),
            **msgspec.to_builtins(self.amount),
        }


class TaskList(msgspec.Struct, frozen=True):
    """The tasks, the newest first."""

    tasks: list[TaskRow]
    total: int

    def to_dict(self) -> dict[str, Any]:
        return {"tasks": [task.to_dict() for task in self.tasks], "total": self.total}


def list_tasks(
    store: Store, *, task: str | None = None, repo: str | None = None, limit: int = 0
) -> TaskList:
    """List every task with its sessions, the newest first; ``limit`` 0 means all."""
    with store.db.snapshot():
        known, names = store.tasks.of_sessions(), task_names(store)
        parts: dict[str, list[SessionTask]] = {}
        for uid, name in names.items():
            if is_task(name, task) and is_like(known[uid].repo, repo):
                parts.setdefault(name, []).append(known[uid])
        newest = {name: max(one.ended_at or 0 for one in some) for name, some in parts.items()}
        order = sorted(parts, key=lambda name: (-newest[name], name))
        listed = order[:limit] if limit else order
        amounts = session_amounts(store, [one.uid for name in listed for one in parts[name]])
    rows = [
        TaskRow(
            task=name,
            repo=next((one.repo for one in parts[name] if one.repo), None),
            sessions=tuple(sorted(one.uid for one in parts[name])),
            ended_at=newest[name] or None,
            amount=sum((amounts[one.uid] for one in parts[name]), Amount()),
        )
        for name in listed
    ]
    return TaskList(rows, len(order))


def checked_task(task: str | None) -> str | None:
    """Check the name of a task that a person gave: one short line. ``12`` becomes ``#12``."""
    if task is None:
        return None
    task = task.strip()
    if len(task) > LONGEST or not task.isprintable():
        hint = "Give one line, such as #12, mira/shop#12 or SHOP-12."
        raise InvalidRecord(f"{short_repr(task)} is no name of a task", hint, field="task")
    return f"#{task}" if task.isdecimal() else task


def task_names(store: Store) -> dict[str, str]:
    """Return the name of the task of every session that has one, by uid."""
    known = store.tasks.of_sessions()
    named = {uid: _task_of(one, known) for uid, one in known.items()}
    return {uid: name for uid, name in named.items() if name}


def sessions_with_task(store: Store, asked: str) -> list[int]:
    """Return the row ids of the sessions whose task matches ``asked``; see `is_task`."""
    known = store.tasks.of_sessions()
    return [known[uid].id for uid, name in task_names(store).items() if is_task(name, asked)]


def is_task(name: str, asked: str | None) -> bool:
    """Whether ``asked`` means the task ``name``. It may be written as ``shop#12``,
    ``mira/shop#12``, ``#12``, ``12`` or as a pattern such as ``SHOP-*``."""
    if asked is None:
        return True
    asked = f"#{asked}" if asked.isdecimal() else asked
    if asked[:1] in ("#", "!"):
        return is_like(name, f"*{asked}")
    return is_like(name, asked) or is_like(name, asked.rpartition("/")[2])


def _task_of(one: SessionTask, known: dict[str, SessionTask]) -> str | None:
    for _ in range(DEEPEST):
        if one.task:
            return _name(one.task, one.repo)
        if one.relation != "subagent" or one.parent_uid not in known:
            return None
        one = known[one.parent_uid]
    return None


def _name(task: str, repo: str | None) -> str:
    """Return the one name of a task: ``#12`` and ``mira/shop#12`` in the repository ``shop`` are
    both ``shop#12``."""
    mark = "#" if "#" in task else "!"
    named, is_number, number = task.rpartition(mark)
    if not is_number or not number.isdecimal() or repo is None:
        return task
    if not named or named.rpartition("/")[2].casefold() == repo.rpartition("/")[2].casefold():
        return f"{repo}{mark}{number}"
    return task
