"""Find logs that agents keep in each repository instead of in one place.

The directories in which collected sessions worked are searched, and those above them up to the top
of the repository.
"""

from collections.abc import Iterator
from pathlib import Path

from session_memory.adapters.agent import Agent
from session_memory.adapters.registry import agents
from session_memory.collect.discover import Root
from session_memory.config import Config
from session_memory.store.session_ids import SessionIds
from session_memory.store.store import Store

# A working directory is seldom deeper below the top of its repository.
MOST_ABOVE = 6


def repository_roots(store: Store, config: Config, only: tuple[str, ...] = ()) -> list[Root]:
    """Return the directories in known repositories that hold logs, as roots.

    The agents are those in ``only``, else all enabled ones. An agent is left out if the
    configuration names the directories of its logs.
    """
    wanted = [one for one in agents() if one.in_repositories and _is_wanted(one, config, only)]
    if not wanted:
        return []
    tops = list(_tops(SessionIds(store.db).directories()))
    return [
        Root(agent.flavor, place, True, True)
        for agent in wanted
        for top in tops
        for place in (top / below for below in agent.in_repositories)
        if place.exists()
    ]


def _is_wanted(agent: Agent, config: Config, only: tuple[str, ...]) -> bool:
    source = config.source(agent.flavor)
    is_named = agent.flavor in only if only else source.enabled
    return is_named and not source.roots


def _tops(directories: list[str]) -> Iterator[Path]:
    """Yield each directory, and those above it up to the one with ``.git``, each once."""
    seen: set[Path] = set()
    for name in directories:
        path = Path(name)
        if not path.is_absolute() or "\0" in name:
            continue
        for place in (path, *path.parents[:MOST_ABOVE]):
            if place in seen:
                break
            seen.add(place)
            yield place
            if (place / ".git").exists():
                break
