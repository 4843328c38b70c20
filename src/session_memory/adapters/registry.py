"""Find and load adapters: the packages below ``adapters``, and plugins from other packages.

Plugins are announced in the entry-point group ``session_memory.adapters``. An adapter that cannot
be loaded does not stop a command: `agent_or_substitute` always returns an agent, and
`broken_adapters` returns what is wrong with each broken one.
"""

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from session_memory import adapters
from session_memory.adapters.agent import Agent
from session_memory.adapters.declared import checked_agent
from session_memory.adapters.guarded import (
    adapter_failing,
    forget_failures,
    guarded,
    noted_failures,
    try_out,
)
from session_memory.adapters.plugins import Plugins, find_plugins
from session_memory.core.errors import AdapterFailed, UnknownFlavor

# Packages below ``adapters`` that are no agents but code that several agents share.
SHARED = frozenset({"detectors", "editor_tasks"})
NOT_INSTALLED = "no adapter is installed for it"


@cache
def loaders() -> dict[str, Callable[[], Any]]:
    """Return for each flavor the function that imports its adapter, our own flavors first. No
    adapter is imported yet."""
    own = {flavor: _importer(f"{adapters.__name__}.{flavor}") for flavor in _built_in()}
    return own | _plugins().loaders


@cache
def _built_in() -> tuple[str, ...]:
    found = iter_modules(adapters.__path__)
    return tuple(one.name for one in found if one.ispkg and one.name not in SHARED)


@cache
def _plugins() -> Plugins:
    return find_plugins(_built_in())


def _importer(module: str) -> Callable[[], Any]:
    return lambda: import_module(module)


def flavors() -> tuple[str, ...]:
    """Return the flavor of every installed adapter, even of broken ones; our own come first."""
    return tuple(loaders())


@cache
def agent(flavor: str) -> Agent:
    """Return the agent of ``flavor``.

    Raises ``UnknownFlavor`` if none is installed, and ``AdapterFailed`` if its adapter is broken.
    """
    load = loaders().get(flavor)
    if load is None:
        from difflib import get_close_matches  # noqa: PLC0415

        raise UnknownFlavor(flavor, near=get_close_matches(flavor, flavors(), n=1))
    with adapter_failing(flavor):
        return guarded(checked_agent(flavor, load()))


@cache
def agent_or_substitute(flavor: str) -> Agent:
    """Return the agent of ``flavor``, or a substitute whose ``problem`` says why it is needed."""
    try:
        return agent(flavor)
    except UnknownFlavor:
        return _substitute(flavor, NOT_INSTALLED)
    except AdapterFailed as failure:
        return _substitute(flavor, str(failure))


def _substitute(flavor: str, problem: str) -> Agent:
    # The neutral reader is needed for missing adapters only, and most stores have none.
    from session_memory.adapters.neutral import substitute  # noqa: PLC0415

    return substitute(flavor, problem)


def agents() -> tuple[Agent, ...]:
    """Return every agent whose adapter can be loaded."""
    found = (agent_or_substitute(flavor) for flavor in flavors())
    return tuple(one for one in found if not one.problem)


# For fields that many commands read: the flavors of our own adapters that declare them. Loading
# every adapter instead would take longer than listing sessions. A test compares this table with the
# declarations.
DECLARED_BY = {
    "model_prefix": frozenset({"claude", "gemini"}),
    "has_statusline": frozenset({"claude"}),
}


def declaring(name: str) -> Iterator[Agent]:
    """Yield the agents whose field ``name`` is set. Only adapters that may set it are loaded."""
    for flavor in flavors():
        if flavor in DECLARED_BY[name] or flavor not in _built_in():
            one = agent_or_substitute(flavor)
            if not one.problem and getattr(one, name):
                yield one


def broken_adapters() -> dict[str, str]:
    """Return what is wrong with installed adapters: the reason for each flavor that cannot be
    loaded, and for each package whose announcement is not used."""
    found = (agent_or_substitute(flavor) for flavor in flavors())
    return plugin_problems() | {one.flavor: one.problem for one in found if one.problem}


def plugin_problems() -> dict[str, str]:
    """Return the packages whose announced adapter is not used, each with the reason."""
    return _plugins().problems


def failing_functions() -> dict[str, str]:
    """Return the flavors with functions that failed, each with the reasons.

    Functions of plugins are called to find out. For built-in adapters, only failures that happened
    before are known.
    """
    for one in agents():
        if one.flavor not in _built_in():
            try_out(one)
    return noted_failures()


@cache
def own_directories() -> frozenset[str]:
    """Return the names of directories that belong to an agent, such as ``.claude``."""
    return frozenset(name for one in agents() for name in one.directories)


@cache
def worktree_places() -> tuple[str, ...]:
    """Return the directories in which agents create git worktrees, as parts of a path, such as
    ``/.claude/worktrees/``."""
    return tuple(place for one in agents() for place in one.worktrees)


@cache
def model_prefixes() -> tuple[str, ...]:
    """Return the prefixes of model names, such as ``claude-``, that tables leave out to save
    space."""
    return tuple(one.model_prefix for one in declaring("model_prefix"))


@cache
def instruction_files() -> tuple[str, ...]:
    """Return the name of each agent's main instruction file, such as ``CLAUDE.md``; each name
    once."""
    first = (one.instruction_files[0] for one in agents() if one.instruction_files)
    return tuple(dict.fromkeys(first))


@cache
def all_instruction_files() -> frozenset[str]:
    """Return the names of all instruction files of all agents, in lower case."""
    return frozenset(name.lower() for one in agents() for name in one.instruction_files)


def forget_loaded() -> None:
    """Empty the caches of this module, so that newly installed or removed adapters are noticed."""
    for remembered in (
        *(_plugins, loaders, agent, agent_or_substitute),
        *(own_directories, worktree_places, model_prefixes),
        *(instruction_files, all_instruction_files),
    ):
        remembered.cache_clear()
    forget_failures()
