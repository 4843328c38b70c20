"""The shell commands that sessions ran: how each ended, and how long it took."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from session_memory.derive.archived import readable_store
from session_memory.derive.bodies import Bodies
from session_memory.derive.detecting import command_of, is_shell
from session_memory.store import Store
from session_memory.store.statistics import Statistics
from session_memory.views.calls import calls_of


class CommandRun(msgspec.Struct, frozen=True, kw_only=True):
    """One command. ``state`` is ``ok``, ``failed``, or ``open`` if the log has no result."""

    session_uid: str
    event_uid: str | None
    seq: int
    ts: str | None
    tool: str
    command: str
    state: str
    exit_code: int | None = None
    duration_ms: int | None = None
    is_test: bool = False


class CommandList(msgspec.Struct, frozen=True):
    """Commands, and how many match in all.

    ``total`` is exact if all commands were read. Otherwise it is the number of calls of shell tools
    or, for a search by text, one more than the number listed. ``evicted`` counts the sessions that
    were not read because their logs were moved to the archive.
    """

    commands: list[CommandRun]
    total: int
    total_exact: bool = True
    evicted: int = 0

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.to_builtins(self)
        if not self.evicted:
            del found["evicted"]
        return found


def list_commands(
    store: Store,
    uids: Iterable[str],
    *,
    state: str | None = None,
    text: str | None = None,
    limit: int = 0,
    from_archive: bool = False,
) -> CommandList:
    """List the shell commands of the sessions ``uids``, in order.

    ``text`` matches anywhere in a command. Every command is read from the stored logs, so reading
    stops when ``limit`` commands are found. Evicted sessions are only counted, unless
    ``from_archive`` is set.
    """
    asked = Statistics(store.db)
    counted = asked.called([name for name in asked.names() if is_shell(name)], state)
    gone, wanted = store.retention.evicted_uids(), list(uids)
    evicted = 0 if from_archive else sum(uid in gone for uid in wanted)
    matching = [uid for uid in wanted if uid in counted or (from_archive and uid in gone)]
    found = (
        ran
        for uid in matching
        for ran in _ran(store, uid, state)
        if text is None or text.casefold() in ran.command.casefold()
    )
    kept = list(islice(found, limit)) if limit else list(found)
    if not limit or len(kept) < limit or next(found, None) is None:
        return CommandList(kept, len(kept), evicted=evicted)
    known = sum(counted.get(uid, 0) for uid in matching) if text is None else 0
    return CommandList(kept, max(known, len(kept) + 1), total_exact=False, evicted=evicted)


def _ran(store: Store, uid: str, state: str | None) -> Iterator[CommandRun]:
    bodies = Bodies(readable_store(store, uid))
    for call in calls_of(store, uid):
        event = call.event
        if state not in (None, call.state) or not is_shell(event.tool or ""):
            continue
        body = bodies.of(event)
        command = command_of(event.tool or "", body.arguments)
        if command is None:
            continue
        yield CommandRun(
            session_uid=uid,
            event_uid=event.event_uid,
            seq=event.seq,
            ts=event.ts,
            tool=event.tool or "",
            command=command,
            state=call.state,
            exit_code=None if call.result is None else call.result.exit_code,
            duration_ms=call.duration_ms,
            is_test=event.is_a("test_run"),
        )
