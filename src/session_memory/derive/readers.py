"""Choose who reads a stored source: its agent's adapter, or a substitute if the adapter cannot.

A store outlives the adapters that filled it. An adapter may be uninstalled, may fail to load, or
may be older than the one that wrote the events. Then the text of records is read by a neutral
substitute, and what was derived from the source stays as it is.
"""

from functools import cache
from weakref import WeakKeyDictionary

from session_memory.adapters.agent import Agent
from session_memory.adapters.neutral import substitute
from session_memory.adapters.registry import agent_or_substitute
from session_memory.core.errors import AdapterUnusable
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store

_SUBSTITUTED: WeakKeyDictionary[Store, dict[str, str]] = WeakKeyDictionary()


def reader_of(row: SourceRow) -> Agent:
    """The agent that reads a stored source. If it is a substitute, its ``problem`` says why."""
    return _reader(row.flavor, row.adapter_version)


def _reader(flavor: str, needed: int) -> Agent:
    found = agent_or_substitute(flavor)
    if found.problem or needed <= found.version:
        return found
    return _instead_of_older(flavor, found.version, needed)


@cache
def _instead_of_older(flavor: str, installed: int, needed: int) -> Agent:
    problem = f"version {installed} of its adapter is installed, version {needed} read them"
    return substitute(flavor, problem)


def refuse_unusable(row: SourceRow) -> Agent:
    """The agent that reads a stored source; raises ``AdapterUnusable`` when there is none."""
    reader = reader_of(row)
    if reader.problem:
        raise AdapterUnusable(row.flavor, reader.problem)
    return reader


def unusable_flavors(store: Store) -> dict[str, str]:
    """Each flavor in the store whose events cannot be derived anew, with the reason."""
    newest = store.sources.newest_adapters()
    readers = [_reader(flavor, version) for flavor, version in newest.items()]
    return {reader.flavor: reader.problem for reader in readers if reader.problem}


def note_substitute(store: Store, flavor: str, problem: str) -> None:
    """Remember that records of ``flavor`` were read without their adapter."""
    _SUBSTITUTED.setdefault(store, {})[flavor] = problem


def substituted(store: Store) -> dict[str, str]:
    """Each flavor whose records were read without their adapter since the store was opened."""
    return _SUBSTITUTED.get(store, {})
