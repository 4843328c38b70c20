"""Find sources: the logs, documents and databases of every enabled agent, below its roots."""

import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from session_memory.adapters.agent import Agent
from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.guarded import (
    adapter_failing,
    forget_failure,
    guarded_items,
    note_failure,
)
from session_memory.adapters.references import (
    absolute_path,
    checked_path,
    checked_reference,
    checked_unlisted,
)
from session_memory.adapters.registry import (
    agent,
    agent_or_substitute,
    agents,
    flavors,
    plugin_problems,
)
from session_memory.config import Config, home
from session_memory.core.errors import AdapterFailed, ConfigError, SourceUnreadable
from session_memory.core.text import short_repr
from session_memory.store.private_files import is_unfinished

# The function of an adapter that finds sources.
DISCOVER = "discover"


class Root(msgspec.Struct, frozen=True):
    """A directory that is searched for the logs of one agent."""

    flavor: str
    path: Path
    exists: bool
    is_default: bool


class Discovered(msgspec.Struct, frozen=True):
    """A source that was found, or (`Unlisted`) a path that cannot be read as one, with the
    reason."""

    flavor: str
    ref: SourceRef | Unlisted


def roots(
    config: Config,
    given: tuple[Path, ...] = (),
    only: tuple[str, ...] = (),
    environ: Mapping[str, str] = os.environ,
) -> list[Root]:
    """Return the directories to search: ``given``, else the configured ones, else the agents'
    own."""
    _refuse_unknown(config)
    for root in given:
        if not root.exists():
            hint = "Name a directory that exists, or see where logs are: session-memory config"
            raise SourceUnreadable(str(root), "there is no such directory", hint)
    found = []
    for flavor in only or loadable_flavors():
        source = config.source(flavor)
        if not source.enabled and not only:
            continue
        named = given or tuple(Path(root).expanduser() for root in source.roots)
        for place in _distinct(named or default_roots(agent(flavor), environ)):
            found.append(Root(flavor, _plain(place), place.exists(), not named))
    return found


def outside_roots(where: list[Root]) -> list[Root]:
    """Return the directories outside of ``where`` in which agents have more sources, as roots."""
    return [
        Root(root.flavor, _plain(place), True, root.is_default)
        for root in where
        for place in agent_or_substitute(root.flavor).outside(root.path)
    ]


def _plain(place: Path) -> Path:
    """Return the absolute path without ``..``: a log has one path, however its root was written."""
    return place.resolve() if ".." in place.parts else place.absolute()


def _distinct(places: Sequence[Path]) -> Sequence[Path]:
    """Return each directory once. If a link gives it two names, the first name stays."""
    if len(places) < 2:
        return places
    once = {place.resolve(): place for place in reversed(places)}
    return list(reversed(once.values()))


def _refuse_unknown(config: Config) -> None:
    """Raise if the configuration has settings for an agent that does not exist.

    Such settings have no effect: an agent that the user wanted to disable would still be read. If a
    plugin cannot be loaded, nothing is raised, because the settings may be about its agent.
    """
    if plugin_problems():
        return
    for flavor in config.sources:
        if flavor not in flavors():
            hint = (
                f"The agents are: {', '.join(flavors())}. Correct the name or remove the section;"
                " an agent of another package needs that package."
            )
            raise ConfigError(f"sources.{flavor} is about an unknown agent", hint)


def default_roots(adapter: Agent, environ: Mapping[str, str]) -> list[Path]:
    """Return the directories where an agent keeps its logs; none if its adapter fails."""
    try:
        return declared_roots(adapter, environ)
    except AdapterFailed:
        # `adapter_problems` reports it.
        return []


def declared_roots(adapter: Agent, environ: Mapping[str, str]) -> list[Path]:
    """Return the directories where an agent keeps its logs. Raises ``AdapterFailed``."""
    with adapter_failing(adapter.flavor, function="roots"):
        found: Any = adapter.roots(environ, home(environ))
        if found is None or isinstance(found, (str, Path)):
            raise TypeError(f"it returned {short_repr(found)}, not a list of paths")
        return [checked_path("a root", place) for place in found]


def loadable_flavors() -> list[str]:
    """Every flavor whose adapter can be loaded."""
    return [adapter.flavor for adapter in agents()]


def discover(config: Config, where: list[Root]) -> Iterator[Discovered]:
    """Yield each source below ``where`` once, except those that the configuration excludes.

    If an adapter describes a source wrongly, its path is yielded with the reason. If an adapter
    fails, the search below this root ends, and the root is yielded with the reason.
    """
    seen: set[str] = set()
    for root in where:
        forget_failure(root.flavor, DISCOVER)
    for root in where:
        if not root.exists:
            continue
        try:
            for ref in _below(config, root, seen):
                yield Discovered(root.flavor, ref)
        except AdapterFailed as failure:
            note_failure(failure)
            yield Discovered(root.flavor, Unlisted(root.path / "*", str(failure)))


def _below(config: Config, root: Root, seen: set[str]) -> Iterator[SourceRef | Unlisted]:
    glob = config.source(root.flavor).glob
    adapter = agent(root.flavor)
    for ref in _found(adapter, root.path):
        path = str(ref.path)
        if path not in seen and not config.excludes(path, adapter.directory_fits):
            seen.add(path)
            if _fits(path, glob) and not is_unfinished(ref.path.name):
                yield _without_unfinished(ref)


def _without_unfinished(ref: SourceRef | Unlisted) -> SourceRef | Unlisted:
    """Return the source without unfinished files that a killed ``restore-native`` left."""
    if isinstance(ref, Unlisted) or not any(is_unfinished(c.path.name) for c in ref.companions):
        return ref
    whole = tuple(one for one in ref.companions if not is_unfinished(one.path.name))
    return msgspec.structs.replace(ref, companions=whole)


def _found(adapter: Agent, root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield the checked sources that an adapter finds below a root. Raises ``AdapterFailed``."""
    call, checked = partial(adapter.discover, root), partial(_checked, adapter.flavor)
    return guarded_items(call, checked, adapter.flavor, str(root), DISCOVER)


def _checked(flavor: str, ref: Any) -> SourceRef | Unlisted:
    """Check what an adapter found. A wrong description becomes an `Unlisted` with the reason."""
    if isinstance(ref, Unlisted):
        return checked_unlisted(ref)
    if not isinstance(ref, SourceRef):
        raise TypeError(f"it found {short_repr(ref)}, which is not a SourceRef")
    try:
        return checked_reference(ref)
    except (TypeError, ValueError) as error:
        path = absolute_path("path", ref.path)
        failure = AdapterFailed(flavor, error, str(path), DISCOVER)
        note_failure(failure)
        return Unlisted(path, str(failure))


def present_paths(config: Config, where: list[Root]) -> set[Path]:
    """The paths of all sources that the agents have now."""
    found = (each.ref for each in discover(config, where))
    refs = [ref for ref in found if isinstance(ref, SourceRef)]
    return {part.path for ref in refs for part in (ref, *ref.companions)}


def is_wanted(config: Config, flavor: str, path: str) -> bool:
    """Whether the configuration lets a source of ``flavor`` be read."""
    fits = agent_or_substitute(flavor).directory_fits
    try:
        is_excluded = config.excludes(path, fits)
    except AdapterFailed:
        # The next search below its root reports the failure.
        return False
    return not is_excluded and _fits(path, config.source(flavor).glob)


def _fits(path: str, glob: str) -> bool:
    return glob == "*" or fnmatchcase(path, glob)
