"""What an agent declares about itself. Each adapter package exports one ``Agent`` as ``AGENT``.

Everything that is true of one agent and not of another is a field here, so that no other room
names an agent. A field with a default is optional. Heavy functions are given as
``lazy("module:function")``: asking for a fact must not import the code that reads logs.
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
    """The function at ``module:name``. Its module is imported when it is first called."""

    @cache
    def function() -> Callable[..., Any]:
        module, _, name = place.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), name)
        return found

    def call(*arguments: Any) -> Any:
        return function()(*arguments)

    return call


def no_roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """The function ``roots`` for an agent without files: no directories."""
    return []


def no_sources(root: Path) -> Iterator[SourceRef]:
    """The function ``discover`` for an agent without files: no sources."""
    return iter(())


def recognizes_nothing(head: bytes) -> bool:
    """The function ``recognizes`` for an agent without files: False."""
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
    """How a session of another agent becomes one of this agent.

    - ``tested``: the newest version that continued such a session.
    - ``tool(operation)``: the agent's own tool for an operation, and what it is given.
    - ``make(session, root)``: the files of the new session below a root of the agent. It writes
      nothing.
    - ``import_command``: for an agent that takes sessions in by itself: the words to which the
      file is added.
    """

    tested: str
    tool: "Callable[[Operation], tuple[str, dict[str, Any] | str]]"
    make: "Callable[[HandedSession, Path], TargetSession]"
    import_command: tuple[str, ...] = ()


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """One agent: how its logs are collected, and what others have to know about it.

    Collecting:

    - ``flavor``: the name of the agent, as in ``[sources.<flavor>]`` and ``<flavor>:<id>``.
    - ``version``: raise it whenever the same bytes give other events. Stores then offer a rebuild.
    - ``roots(environ, home)``: where the agent keeps its sessions, best first. They need not exist.
    - ``discover(root)``: every source below a root.
    - ``recognizes(head)``: whether the first bytes of a loose file look like this agent's log.
    - ``read(source, cursor)``: the records of a source after the cursor, each with its cursor.
    - ``texts(line)``: the text and the arguments of each event of a single line, the same that
      ``read`` gives, but faster; None for a line that ``read`` must read.
    - ``bookkeeping``: the kinds of records that give no events.
    - ``dump(database, ref)``: the rows of a database as lines, for an agent that keeps one.
    - ``rows(ref, cursor)``: the lines that follow the cursor, of a source that is a part of a
      database: one for each unit of rows that changed (`session_memory.adapters.row_journal`).

    Facts, all optional:

    - ``directories``: names of the agent's own directories, such as ``.claude``.
    - ``outside(root)``: directories outside of a root that have sources which ``discover(root)``
      finds, each a root by itself. `watch` follows them.
    - ``in_repositories``: logs that the agent keeps in each repository, below its top directory.
      They are looked for where collected sessions worked.
    - ``worktrees``: where the agent puts git worktrees, such as ``/.claude/worktrees/``.
    - ``directory_fits(name, pattern)``: whether a directory of logs is named after a repository
      that fits the pattern.
    - ``keeps_days(root)``: after how many days the agent deletes a log; None when it never does.
    - ``resume_command``: the program and options that resume a session; its id is added, unless
      ``resumes_without_id``: the agent continues what its directory has. ``resumable_ids``: how the
      ids begin that it can resume, if an older program of this flavor gave other ones.
    - ``copies_are_resumes(agent_version)``: whether a session that repeats another's history
      resumes it. Otherwise it is a fork.
    - ``instruction_files``: the files of a project that the agent reads, its main one first.
    - ``provider``: who sells the models that this agent uses, as the price table names it.
    - ``model_prefix``: a prefix of the names of its models that a table may leave out.
    - ``usage_note``: what its logs leave out of tokens and costs, as half a sentence after the
      agent's name: "logs no tokens". Reports of costs print it.
    - ``has_statusline``: whether the agent runs a program to fill its status line.
    - ``decision_tools``: tools whose result is a person's decision. ``plan_tools`` are those of
      them that accept or refuse a plan.
    - ``reason_follows``: in the result of a refused call, what stands before a person's reason.
    - ``changes_asked(arguments, text, path)``: the changes to files that a call asks for.
    - ``changes_noted(record)``: the changes to files that the record of a result reports.
    - ``log_at(path)`` and ``history(log, documents, name, uid)``: for a session that can continue
      as a live session. The first finds its log at a path that a user names. The second
      makes a history of the objects in the log and the bytes of the documents beside it; ``name``
      is the session's own, ``uid`` ours where it was collected.
    - ``histories(log, documents)``: the histories of all sessions, where one log has several.
    - ``settings(database)``: facts about the sessions of a database that are not collected and
      that only an import needs, by the names of the sessions: ``config`` and ``round_index``.
    - ``hidden_kinds``: native kinds of events that a reader does not want to see, such as changes
      of a mode. ``"attachment"`` also means every ``"attachment/…"``. `show --all` has them.
    - ``readable(text)``: the text that a person sees, without the tags that the agent adds.
    - ``handoff``: for an agent that can continue a session of another one.
    - ``preamble``: matches what the agent writes before a prompt. A title leaves it out.
    - ``problem``: why this is only a substitute for an agent; empty for a real one.
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
