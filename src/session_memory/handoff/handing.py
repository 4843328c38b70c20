"""Make a new session of another agent from a stored session: its steps and its files."""

import os
import shlex
from collections.abc import Mapping as AnyMapping
from pathlib import Path
from typing import Any

import msgspec

from session_memory.core.errors import CannotHandOver, UnknownSession
from session_memory.core.handing import HandedSession, NewFile
from session_memory.core.schema import Session
from session_memory.derive.agents import Agent, about, handoff_targets
from session_memory.handoff.conversation import StoredConversation, StoredPrompt, conversation_of
from session_memory.handoff.folding import folded, split, tokens_of
from session_memory.handoff.mapping import Mapping
from session_memory.redact import mask
from session_memory.store import Store
from session_memory.views.figures import plural
from session_memory.views.learning import show_digest
from session_memory.views.session_titles import best_title


class HandoffOptions(msgspec.Struct, frozen=True, kw_only=True):
    """``last`` turns, or turns of about ``tokens`` tokens, are handed over whole. Older turns are
    folded into one message. ``cwd`` is the directory of the new session, by default that of the
    old one."""

    last: int | None = None
    tokens: int | None = None
    cwd: str | None = None


class Handoff(msgspec.Struct, frozen=True, kw_only=True):
    """A session made for another agent: its files, and the command that continues it.

    `session_memory.handoff.write` writes the files. ``calls`` is the number of calls that were
    handed over. ``without_tool`` counts the calls for which the target has no tool, by the name of
    their tool. ``images`` is the number of pictures that are left out, ``folded_turns`` the number
    of turns that became one message. ``tokens`` is about the size of the history that the target
    sends to its model.
    """

    origin: str
    target: str
    session: str
    cwd: str
    files: tuple[NewFile, ...]
    argv: tuple[str, ...]
    import_argv: tuple[str, ...] = ()
    prompts: int
    answers: int
    calls: int
    tokens: int
    without_tool: dict[str, int] = {}
    images: int = 0
    folded_turns: int = 0

    @property
    def session_uid(self) -> str:
        return f"{self.target}:{self.session}"

    @property
    def line(self) -> str:
        """The command that continues the session, as a line to paste into a shell."""
        return f"cd {shlex.quote(self.cwd)} && {shlex.join(self.argv)}"

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(
            {name: getattr(self, name) for name in self.__struct_fields__ if name != "files"}
        )
        values["argv"], values["import_argv"] = list(self.argv), list(self.import_argv)
        paths = [str(file.path) for file in self.files]
        return {**values, "session_uid": self.session_uid, "line": self.line, "files": paths}


def hand_over(
    store: Store,
    uid: str,
    to: str,
    options: HandoffOptions,
    at: int,
    environ: AnyMapping[str, str] = os.environ,
) -> Handoff:
    """Make a new session of the agent ``to`` from the session ``uid``. Nothing is written."""
    session, target = session_to_hand(store, uid), _target(to)
    cwd = _cwd(session, options)
    found = conversation_of(store, uid, mask)
    refuse_empty(session, found)
    before, kept = split(found.steps, options.last, options.tokens)
    steps = [step for turn in kept for step in turn]
    if before:
        steps.insert(0, folded(before, show_digest(store, uid).digest))
    title = mask(best_title(store, uid))
    empty = HandedSession(origin=uid, target=to, at=at, cwd=cwd, title=title, steps=())
    assert target.handoff is not None
    mapping = Mapping(target.handoff.tool, empty.new_id, cwd, session.flavor == to)
    handed = mapping.steps(steps)
    note = StoredPrompt(_note(session, mapping, found, len(before)))
    whole = msgspec.structs.replace(empty, steps=(*handed, *mapping.steps([note])))
    made = target.handoff.make(whole, _root(target, environ))
    return Handoff(
        origin=uid,
        target=to,
        session=made.session,
        cwd=cwd,
        files=made.files,
        argv=(*target.resume_command, made.session),
        import_argv=target.handoff.import_command,
        prompts=sum(isinstance(step, StoredPrompt) for step in steps),
        answers=sum(not isinstance(step, StoredPrompt) for step in steps),
        calls=mapping.calls,
        tokens=tokens_of(steps),
        without_tool=mapping.without_tool,
        images=found.images,
        folded_turns=len(before),
    )


def session_to_hand(store: Store, uid: str) -> Session:
    session = store.sessions.get(uid)
    if session is None:
        raise UnknownSession(uid)
    if session.relation == "subagent":
        raise CannotHandOver(
            f"{uid} is a subagent and cannot be continued alone",
            f"Hand over the session that started it: session-memory handoff {session.parent_uid}",
        )
    return session


def _target(to: str) -> Agent:
    target = about(to)
    if target.handoff is None:
        raise CannotHandOver(
            f"a session cannot be handed over to {to}",
            f"Agents that can continue one: {', '.join(handoff_targets())}. For any other, print"
            " the session as a text: --as text",
        )
    return target


def refuse_empty(session: Session, found: StoredConversation) -> None:
    if found.is_evicted:
        raise CannotHandOver(
            f"{session.session_uid} was evicted, and its archive cannot be read",
            f"Bring it back: session-memory restore {session.session_uid}",
        )
    if not found.steps:
        raise CannotHandOver(
            f"{session.session_uid} has nothing to hand over: no prompt and no answer",
            "List sessions: session-memory sessions",
        )


def _cwd(session: Session, options: HandoffOptions) -> str:
    """Return the directory of the new session.

    Agents use its name in paths of their own, so it must be absolute, printable and without "..".
    """
    cwd = options.cwd or session.cwd or ""
    if not cwd.startswith("/") or not cwd.isprintable() or ".." in cwd.split("/"):
        raise CannotHandOver(
            f"{session.session_uid} has no directory in which it could continue",
            "Name one: --cwd DIR",
        )
    return cwd.rstrip("/") or "/"


def _root(target: Agent, environ: AnyMapping[str, str]) -> Path:
    places = target.roots(environ, Path(environ.get("HOME") or Path.home()))
    return next((place for place in places if place.is_dir()), places[0])


def _note(session: Session, mapping: Mapping, found: StoredConversation, turns: int) -> str:
    """Return the last message: where the session comes from, and what is missing."""
    lines = [
        f"This session was handed over from {session.flavor} ({session.session_uid}). Files may"
        " have changed since."
    ]
    if turns:
        lines.append(f"The first message sums up {plural(turns, 'earlier turn')}.")
    if missing := sum(mapping.without_tool.values()):
        names = ", ".join(sorted(mapping.without_tool))
        lines.append(
            f"You have no tool for {plural(missing, 'call')} ({names}): they are written as"
            " comments in shell commands that were not run."
        )
    if found.images:
        lines.append(f"{plural(found.images, 'picture')} left out.")
    return " ".join(lines)
