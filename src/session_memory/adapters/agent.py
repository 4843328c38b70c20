"""What an agent declares about itself. Each adapter package exports one ``Agent`` as ``AGENT``.

The code that collects, stores and shows sessions names no agent. It reads what differs between
agents from these fields. A field with a default is optional. Heavy functions are declared as
``lazy("module:function")``, because reading a field must not import the code that reads logs.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from session_memory.adapters.base import Cursor, Readable, Record, SourceRef, Unlisted

if TYPE_CHECKING:
    from session_memory.adapters.event_text import EventTexts
    from session_memory.core.changes import Change
    from session_memory.core.handing import HandedSession, Operation, TargetSession
    from session_memory.core.history import History

Dump = Callable[[Path, SourceRef], Iterator[bytes]]
Rows = Callable[[SourceRef, Cursor], Iterator[bytes]]


def lazy(place: str) -> Callable[..., Any]:
    """Return a function that calls ``place``, a text ``module:name``. Its first call imports it."""

    @cache
    def function() -> Callable[..., Any]:
        module, _, name = place.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), name)
        return found

    def call(*arguments: Any) -> Any:
        return function()(*arguments)

    return call


def no_roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return no directories: the function ``roots`` of an agent without files."""
    return []


def no_sources(root: Path) -> Iterator[SourceRef]:
    """Return no sources: the function ``discover`` of an agent without files."""
    return iter(())


def recognizes_nothing(head: bytes) -> bool:
    """Return False: the function ``recognizes`` of an agent without files."""
    return False


def _keeps_for_ever(root: Path) -> int | None:
    return None


def _nothing_outside(root: Path) -> list[Path]:
    return []


def _never_resumes(agent_version: str) -> bool:
    return False


def _no_changes(record: Any) -> "list[Change]":
    return []


_changes_asked = lazy("session_memory.adapters.edits:changes_asked")


class HandoffTarget(msgspec.Struct, frozen=True, kw_only=True):
    """How a handoff makes a session of this agent from a session of another agent.

    - ``tested``: the newest version of this agent that continued such a session in a test.
    - ``tool(operation)``: returns the name of the agent's own tool for an operation, such as
      reading a file, and the arguments of the call.
    - ``make(session, root)``: returns the files of the new session, below ``root``. It writes
      nothing.
    - ``import_command``: the command of the agent that imports a session file; empty if the agent
      has none. The path of the file is added as the last argument.
    """

    tested: str
    tool: "Callable[[Operation], tuple[str, dict[str, Any] | str]]"
    make: "Callable[[HandedSession, Path], TargetSession]"
    import_command: tuple[str, ...] = ()


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """One agent: the functions that read its logs, and facts that other modules need about it.

    Collecting:

    - ``flavor``: the name of the agent, as in ``[sources.<flavor>]`` and ``<flavor>:<id>``.
    - ``version``: the version of the adapter. Raise it whenever the same bytes give other events.
      Stores then offer a rebuild.
    - ``roots(environ, home)``: the directories in which the agent keeps its sessions. A handoff
      writes into the first one that exists. None of them needs to exist.
    - ``discover(root)``: every source (a log or document) below a root.
    - ``recognizes(head)``: whether a file whose first bytes are ``head`` looks like a log of this
      agent. ``discover`` calls it for files in a directory that may hold logs of other agents.
    - ``read(source, cursor)``: the records of a source after the cursor, each with the cursor
      from which the next reading continues.
    - ``texts(line)``: the text and the arguments of each event of one line. They are the same as
      those from ``read``, but ``texts`` is faster. None if only ``read`` can read this line.
    - ``bookkeeping``: the kinds of records that give no events.
    - ``dump(database, ref)``: all rows of a database as lines, for an agent that keeps a database.
    - ``rows(ref, cursor)``: for a source that is one session in a database: a line for each
      message, or other unit of rows, that is new or changed since the cursor
      (`session_memory.adapters.row_journal`).

    Facts, all optional:

    - ``directories``: names of the agent's own directories, such as ``.claude``.
    - ``outside(root)``: directories outside of a root in which ``discover(root)`` finds sources
      too. The command ``watch`` watches them as well.
    - ``in_repositories``: paths, relative to the top directory of a repository, at which the agent
      keeps logs. A sync looks for them in the repositories of the sessions in the store.
    - ``worktrees``: where the agent puts git worktrees, such as ``/.claude/worktrees/``.
    - ``directory_fits(name, pattern)``: whether a directory of logs is named after a repository
      that fits the pattern.
    - ``keeps_days(root)``: after how many days the agent deletes a log; None if it never does.
    - ``resume_command``: the program and options that resume a session. The session's id is added
      as the last argument.
    - ``resumes_without_id``: ``resume_command`` takes no id. The agent continues the session of the
      directory in which the command is started.
    - ``resumable_ids``: only sessions whose id begins with this text can be resumed. Sessions with
      other ids are from an older program of this flavor.
    - ``copies_are_resumes(agent_version)``: True if a session that begins with a copy of another
      session's history resumes that session, False if it is a fork.
    - ``instruction_files``: the files of a project with instructions for the agent, the main file
      first.
    - ``provider``: the seller of the models that this agent uses, as the price table names it.
    - ``model_prefix``: a prefix of the names of the agent's models. Tables leave it out to save
      space.
    - ``usage_note``: which tokens or costs the agent's logs lack. The text continues a sentence
      that begins with the agent's name: "logs no tokens". Reports of costs print it.
    - ``has_statusline``: whether the agent runs a program to fill its status line.
    - ``decision_tools``: tools whose result is a person's decision.
    - ``plan_tools``: those of ``decision_tools`` with which a person accepts or refuses a plan.
    - ``reason_follows``: the text before the person's reason in the result of a refused call.
    - ``changes_asked(arguments, text, path)``: the changes to files that a call asks for.
    - ``changes_noted(record)``: the changes to files that the record of a result reports.
    - ``log_at(path)``: the log at a path that a user names, for an agent whose sessions can
      continue as live sessions. None if ``path`` is no session of this agent.
    - ``history(log, documents, name, uid)``: the conversation of a session, for its import as a
      live session. ``log`` holds the objects in the log, ``documents`` the bytes of the documents
      beside the log. ``name`` is the agent's own name of the session, ``uid`` its uid in the store
      or None.
    - ``histories(log, documents)``: the conversations of all sessions in a log, for an agent whose
      log holds several sessions.
    - ``settings(database)``: ``config`` and ``round_index`` of each session of a database, by the
      session's native id. Only an import as live sessions needs them; they are not collected.
    - ``hidden_kinds``: native kinds of events that ``show`` leaves out and ``show --all`` shows,
      such as changes of a mode. ``"attachment"`` also means every ``"attachment/…"``.
    - ``readable(text)``: the text that a person sees, without the tags that the agent adds.
    - ``handoff``: how a handoff makes a session of this agent; None if the agent cannot continue a
      session of another agent.
    - ``preamble``: matches the text that the agent writes before a prompt. A title leaves it out.
    - ``problem``: the reason why the real adapter cannot be used, if this ``Agent`` is a substitute
      for it (`session_memory.adapters.neutral`); else "".
    """

    flavor: str
    version: int
    roots: Callable[[Mapping[str, str], Path], list[Path]]
    discover: Callable[[Path], Iterable[SourceRef | Unlisted]]
    recognizes: Callable[[bytes], bool]
    read: Callable[[Readable, Cursor], Iterator[tuple[Cursor, Record]]]
    texts: "Callable[[bytes], EventTexts | None] | None" = None
    bookkeeping: frozenset[str] = frozenset()
    dump: Dump | None = None
    rows: Rows | None = None
    directories: tuple[str, ...] = ()
    outside: Callable[[Path], list[Path]] = _nothing_outside
    in_repositories: tuple[str, ...] = ()
    worktrees: tuple[str, ...] = ()
    directory_fits: Callable[[str, str], bool] = fnmatchcase
    keeps_days: Callable[[Path], int | None] = _keeps_for_ever
    resume_command: tuple[str, ...] = ()
    resumes_without_id: bool = False
    resumable_ids: str = ""
    copies_are_resumes: Callable[[str], bool] = _never_resumes
    instruction_files: tuple[str, ...] = ("AGENTS.md", "AGENTS.override.md")
    provider: str | None = None
    model_prefix: str = ""
    usage_note: str = ""
    has_statusline: bool = False
    decision_tools: frozenset[str] = frozenset()
    plan_tools: frozenset[str] = frozenset()
    reason_follows: str = ""
    changes_asked: Callable[[Any, str, str | None], "list[Change]"] = _changes_asked
    changes_noted: Callable[[Any], "list[Change]"] = _no_changes
    log_at: Callable[[Path], SourceRef | None] | None = None
    history: "Callable[[Any, list[bytes], str | None, str | None], History] | None" = None
    histories: "Callable[[Any, list[bytes]], Iterator[History]] | None" = None
    settings: Callable[[Path], dict[str, dict[str, Any]]] | None = None
    hidden_kinds: frozenset[str] = frozenset()
    readable: Callable[[str], str] = str
    handoff: HandoffTarget | None = None
    preamble: re.Pattern[str] | None = None
    problem: str = ""
