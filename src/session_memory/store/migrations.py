"""The tables, as a numbered list of steps; forward only, each recorded with its change.

Only ``packs``, ``dictionaries``, ``sources`` (their identity and cursor) and the watermarks of
``sessions`` hold anything that cannot be derived; every other row is rebuilt from the raw.
"""

import re

from session_memory.core.errors import NewerSchema, StoreError
from session_memory.store.database import Database
from session_memory.store.steps import (
    analysis,
    collected,
    learn,
    listing,
    live,
    retain,
    search,
    turns,
)

STEPS = (
    collected.SQL,
    turns.SQL,
    live.SQL,
    search.SQL,
    learn.SQL,
    retain.SQL,
    analysis.SQL,
    listing.SQL,
)
NEWEST = len(STEPS)
TABLES = tuple(re.findall(r"^create table (\w+)", "".join(STEPS), re.MULTILINE))

_LEDGER = """
create table if not exists schema_steps (step {int} not null unique, applied_at {int} not null)
"""
_APPLIED = "select coalesce(max(step), 0) from schema_steps"
_RECORD = "insert into schema_steps (step, applied_at) values (:step, :now)"


def version(db: Database) -> int:
    """The number of the last step applied; 0 for an empty database."""
    return int(db.value(_APPLIED)) if db.has_table("schema_steps") else 0


def migrate(db: Database, now: int, steps: tuple[str, ...] = STEPS) -> list[int]:
    """Bring the database up to date; refuses one that a newer release has written."""
    have = version(db)
    if have > len(steps):
        raise NewerSchema(db.name, found=have, known=len(steps))
    if not have and db.is_foreign(TABLES):
        hint = "Name another place in SESSION_MEMORY_STORE."
        raise StoreError(f"{db.name} is a database of another program", hint)
    # Only now: a file that is not for us stays as it is, to the byte.
    if not db.is_read_only:
        db.ready()
    if have == len(steps):
        return []
    if have:
        db.backup_before(have + 1, now)
    applied = []
    with db.transaction():
        # Another process may have migrated while this one waited for the lock.
        db.execute(_LEDGER.format(**db.types))
        for step in range(int(db.value(_APPLIED)) + 1, len(steps) + 1):
            for statement in (steps[step - 1] + db.also.get(step, "")).split(";\n"):
                if statement.strip():
                    db.execute(statement.format(**db.types))
            db.execute(_RECORD, {"step": step, "now": now})
            applied.append(step)
    return applied
