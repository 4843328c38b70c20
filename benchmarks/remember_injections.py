"""Injections: how often would a hook give the model something that does not help?

The hook ``failure`` itself is asked with every failed call of the replayed sessions, in order.
What it gives is useful if it names what resolved one of the errors of that call this time. All else
is false: another fix, a fix of an error that went away by itself, or that was never resolved.
The hook ``prompt`` is asked with the first prompt of each session that edited files. The session
that it gives is useful if it edited the same files.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from remember_recall import AskedPrompt
from remember_replay import Past, PastSession, Replay
from remember_rules import CHANGES, edited, first_useful
from remember_tables import Cell, Row, Table, middle

from session_memory.hooks import failure, prompting
from session_memory.hooks.agents import AGENTS
from session_memory.hooks.hook_input import HookInput
from session_memory.learn.digest import ErrorSnippet, Resolution

# An agent whose plugin calls the hook with plain names.
AGENT = AGENTS["opencode"]
_REF = re.compile(r'ref="([^"#]+)')
_KINDS = {"edited | ": "edit", "ran | ": "command", "ran instead | ": "instead"}


class FailedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A failed call with its errors, and what the hook gave, or None."""

    session: PastSession
    errors: list[ErrorSnippet]
    given: str | None

    @property
    def is_resolved(self) -> bool:
        return any(one.resolution and one.resolution.kind in CHANGES for one in self.errors)

    @property
    def is_useful(self) -> bool:
        """Whether the given fix is what resolved one of the errors."""
        offered = [given_fix(self.given)] if self.given else []
        return any(first_useful(one.resolution, offered) is not None for one in self.errors)


class HookedPrompt(msgspec.Struct, frozen=True):
    """A first prompt, and what the hook gave, or None."""

    asked: AskedPrompt
    given: str | None

    @property
    def is_useful(self) -> bool:
        """Whether the given session edited the same files."""
        ref = _REF.search(self.given or "")
        return ref is not None and any(
            ref[1] in (uid[: len(ref[1])], uid.partition(":")[2][: len(ref[1])])
            for uid in self.asked.relevant
        )


def given_fix(text: str) -> Resolution | None:
    """The fix in an injected text, as the model reads it."""
    for line in text.splitlines():
        for label, kind in _KINDS.items():
            if line.startswith(label):
                return Resolution(kind, line.removeprefix(label).rstrip("…"), (), "")
    return None


@contextmanager
def hooks_at(store: Path, home: Path) -> Iterator[None]:
    """Hooks read this store, and keep their own files below ``home``."""
    names = {"SESSION_MEMORY_STORE": str(store), "HOME": str(home), "XDG_STATE_HOME": str(home)}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def calls_asked(past: Past, replay: Replay, one: PastSession, home: Path) -> Iterator[FailedCall]:
    """Every failed call of the session in its order, given to the hook."""
    calls: dict[str, list[ErrorSnippet]] = {}
    for error in one.digest.error_snippets:
        if error.origin == "call":
            for event in error.event_uids:
                calls.setdefault(event, []).append(error)
    events = [(past.event(one.uid, uid), errors) for uid, errors in calls.items()]
    checkout = _checkout(home, one)
    known = [(event, errors) for event, errors in events if event is not None]
    with hooks_at(replay.path, home):
        for event, errors in sorted(known, key=lambda each: each[0].seq):
            values = {
                "session_id": one.uid.partition(":")[2],
                "cwd": str(checkout),
                "command": past.command(event),
                "output": past.text(event) or errors[0].sample,
                "exit": 1,
            }
            given = failure.answer(HookInput(AGENT, values), str(replay.path))
            yield FailedCall(session=one, errors=errors, given=given)


def prompt_hooked(replay: Replay, asked: AskedPrompt, home: Path) -> HookedPrompt:
    values = {
        "session_id": asked.session.uid.partition(":")[2],
        "cwd": str(_checkout(home, asked.session)),
        "prompt": asked.prompt,
    }
    with hooks_at(replay.path, home):
        given = prompting.answer(
            HookInput(AGENT, values), str(replay.path), asked.session.began / 1000
        )
    return HookedPrompt(asked, given)


def _checkout(home: Path, one: PastSession) -> Path:
    """An empty directory that is a checkout of the session's repository by its name."""
    place = home / (one.repo or "none")
    (place / ".git").mkdir(parents=True, exist_ok=True)
    return place


def table(calls: Sequence[FailedCall], prompts: Sequence[HookedPrompt]) -> Table:
    judged = [one for one in prompts if edited(one.asked.session.digest)]
    rows = [
        _row("hook failure, of failed calls", calls),
        _row("  of these, resolved later by a change", [one for one in calls if one.is_resolved]),
        _row("hook prompt, of first prompts", judged),
    ]
    every = [one.asked for one in judged if one.asked.found]
    right = sum(one.found[0] in one.relevant for one in every)
    rows.append(Row("  if it always gave the best session", _cells(len(judged), len(every), right)))
    return Table("D. injections", rows, [*_misses([one for one in calls if one.given])])


def _row(name: str, asked: Sequence[FailedCall] | Sequence[HookedPrompt]) -> Row:
    given = [one for one in asked if one.given]
    cells = _cells(len(asked), len(given), sum(one.is_useful for one in given))
    cells["tokens"] = middle([len(one.given or "") // 4 for one in given])
    return Row(name, cells)


def _cells(asked: int, given: int, useful: int) -> dict[str, Cell]:
    return {
        "asked": asked,
        "injected": given,
        "useful": useful,
        "false": given - useful,
        "false/100": round(100 * (given - useful) / asked, 1) if asked else None,
        "precision": round(useful / given, 4) if given else None,
    }


def _misses(given: Sequence[FailedCall]) -> Iterator[str]:
    for one in given:
        if not one.is_useful:
            yield f"{one.session.uid} {one.session.repo} {one.errors[0].call[:120]!r}"
            for error in one.errors[:4]:
                how = error.resolution
                true = f"{how.kind} {how.text[:120]!r}" if how else "never resolved"
                yield f"    {error.sample[:100]!r}: {true}"
            yield from (f"    > {line}" for line in (one.given or "").splitlines())
