"""Create and update the tables in numbered steps, forward only.

Each step and its record commit in one transaction. To add a step, add a module to ``steps``.
"""

import re
from functools import cache

from session_memory.core.errors import NewerSchema, StoreError
from session_memory.store.database import Database
from session_memory.store.index import VERSION as INDEX_VERSION
from session_memory.store.steps import load_steps, step_names

NEWEST = len(step_names())

_LEDGER = """
create table if not exists schema_steps (step {int} not null unique, applied_at {int} not null)
"""
_APPLIED = "select coalesce(max(step), 0) from schema_steps"
_RECORD = "insert into schema_steps (step, applied_at) values (:step, :now)"

_NEW_INDEX = "update search_state set value = :version where name = 'version'"


@cache
def all_steps() -> tuple[str, ...]:
    """The SQL of all steps. They are loaded when needed: a store is nearly always up to date."""
    return load_steps()


@cache
def all_tables() -> tuple[str, ...]:
    """The names of all tables, in the order in which the steps create them."""
    return tuple(re.findall(r"^create table (\w+)", "".join(all_steps()), re.MULTILINE))


def version(db: Database) -> int:
    """The number of the last applied step. 0 for an empty database."""
    return int(db.value(_APPLIED)) if db.has_table("schema_steps") else 0


def migrate(db: Database, now: int, steps: tuple[str, ...] | None = None) -> list[int]:
    """Apply the missing steps and return their numbers. Raises `NewerSchema` for a newer store.

    Tests give ``steps`` of their own.
    """
    have, newest = version(db), NEWEST if steps is None else len(steps)
    if have > newest:
        raise NewerSchema(db.name, found=have, known=newest)
    if not have and db.is_foreign(all_tables()):
        hint = "Set SESSION_MEMORY_STORE to another path or address."
        raise StoreError(f"{db.name} is a database of another program", hint)
    # `ready` may write to the file. So it is called only after the check above: the file of another
    # program must not change by a single byte.
    if not db.is_read_only:
        db.ready()
    if have == newest:
        return []
    if db.is_read_only:
        hint = "Let someone who may write it run any command once, such as: session-memory status"
        message = f"{db.name} has schema {have}, which has to be updated to {newest}"
        raise StoreError(f"{message}, but you may only read it", hint)
    if have:
        db.backup_before(have + 1, now)
    applied = []
    statements = all_steps() if steps is None else steps
    with db.transaction():
        # Another process may have migrated the database while this one waited for the lock.
        db.execute(_LEDGER.format(**db.types))
        for step in range(int(db.value(_APPLIED)) + 1, newest + 1):
            for statement in (statements[step - 1] + db.also.get(step, "")).split(";\n"):
                if statement.strip():
                    db.execute(statement.format(**db.types))
            db.execute(_RECORD, {"step": step, "now": now})
            applied.append(step)
        if 1 in applied and db.has_table("search_state"):
            # The index of a new store is empty, so it follows any version of the rule for words.
            db.execute(_NEW_INDEX, {"version": INDEX_VERSION})
        db.withhold_statistics()
    return applied
