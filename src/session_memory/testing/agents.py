"""Replace the installed adapters by others while a test runs, or add some."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from unittest.mock import patch

from session_memory.adapters import registry
from session_memory.adapters.agent import Agent


@contextmanager
def installed(
    *agents: Agent, beside_ours: bool = False, broken: dict[str, Exception] | None = None
) -> Iterator[None]:
    """Within this context, exactly the adapters of these agents are installed. With
    ``beside_ours``, the adapters that were installed before stay, too.

    ``broken`` maps flavors to exceptions. Loading the adapter of such a flavor raises the
    exception, as for a plugin that cannot be imported.
    """
    found = dict(registry.loaders()) if beside_ours else {}
    for agent in agents:
        found[agent.flavor] = _returning(agent)
    for flavor, error in (broken or {}).items():
        found[flavor] = _raising(error)
    registry.forget_loaded()
    with patch.object(registry, "loaders", cache(lambda: found)):
        try:
            yield
        finally:
            registry.forget_loaded()
    registry.forget_loaded()


def _returning(agent: Agent) -> Callable[[], Any]:
    return lambda: agent


def _raising(error: Exception) -> Callable[[], Any]:
    def load() -> Any:
        raise error

    return load
