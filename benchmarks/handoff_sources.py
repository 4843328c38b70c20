"""Sessions that `benchmarks/handoff.py` hands over: played, live, real and hostile ones."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

from session_memory import Memory
from session_memory.testing.hostile_session import CANARY, hostile_logs

LARGEST = 4 << 20
MOST_REAL = 12
_SIZES = """
    select s.uid, s.flavor, sum(x.size) as size, s.event_count
    from sessions s join session_sources b on b.session_id = s.id
    join sources x on x.id = b.source_id
    where s.relation is null and s.event_count > 8
    group by s.uid, s.flavor, s.event_count having sum(x.size) <= :most
    order by size desc, s.uid
"""


@dataclasses.dataclass(frozen=True)
class StoredSource:
    """A session in a store. ``name`` is that of its agent, or of the sort of source."""

    name: str
    scenario: str
    store: Path
    uid: str
    canary: str = ""


def live_source(scratch: Path) -> StoredSource:
    """A session that a program writes through the API while it works."""
    place = scratch / "sources" / "live" / "store.db"
    place.parent.mkdir(parents=True, exist_ok=True)
    with Memory(place) as memory:
        if not (known := [one.uid for one in memory.sessions()]):
            known = [f"live:{_write_live(memory)}"]
            memory.sync(roots=[place.parent])
    return StoredSource("live", "api", place, known[0])


def _write_live(memory: Memory) -> str:
    live = memory.live
    session = live.create_session()
    steps = (
        ("bash", {"command": "ls | wc -l"}, "7"),
        ("write_file", {"path": "notes.txt", "content": "first\nsecond\n"}, "written"),
        ("bash", {"command": "cat nothing.txt"}, "cat: nothing.txt: No such file or directory"),
    )
    live.append_message(session, role="user", content="Count the files and make a note.")
    for number, (name, given, result) in enumerate(steps):
        function = {"name": name, "arguments": json.dumps(given)}
        made = {"id": f"call_{number}", "type": "function", "function": function}
        live.append_message(
            session, role="assistant", content=f"This is step {number} of it.", tool_calls=[made]
        )
        live.append_message(session, role="tool", content=result, tool_call_id=f"call_{number}")
    live.append_message(session, role="assistant", content="Seven files, and there is a note.")
    return session


def real_sources(scratch: Path, home: Path) -> Iterator[StoredSource]:
    """Sessions of a home with logs, of each agent in it and of different sizes, up to 4 MB."""
    place = scratch / "sources" / "real" / "store.db"
    place.parent.mkdir(parents=True, exist_ok=True)
    with Memory(place) as memory:
        if not any(memory.sessions()):
            memory.sync(roots=[home])
        rows = memory.store.db.all(_SIZES, {"most": LARGEST})
    by_agent: dict[str, list[tuple[str, int]]] = {}
    for uid, flavor, size, _ in rows:
        by_agent.setdefault(flavor, []).append((uid, int(size)))
    # The largest of each agent, then those in the middle.
    chosen = [(flavor, *found[0]) for flavor, found in by_agent.items()]
    for part in (4, 2, 8, 16, 3):
        chosen += [(flavor, *found[len(found) // part]) for flavor, found in by_agent.items()]
    for flavor, uid, size in list(dict.fromkeys(chosen))[:MOST_REAL]:
        yield StoredSource(f"real-{flavor}", f"{size / 1e6:.2f}MB-{uid[-6:]}", place, uid)


def hostile_source(scratch: Path) -> StoredSource:
    """A session whose texts, names and paths try to be more than data."""
    place = scratch / "sources" / "hostile" / "store.db"
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists():
        logs = hostile_logs(place.parent / "home")
        with Memory(place) as memory:
            memory.sync(roots=[logs])
    return StoredSource("hostile", "all", place, "claude:evil", CANARY)
