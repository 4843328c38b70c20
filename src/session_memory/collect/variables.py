"""Find the environment variables that decide where agents keep their logs."""

import os
from collections.abc import Iterator, Mapping

from session_memory.adapters.registry import agents
from session_memory.collect.discover import default_roots


def deciding_variables(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that decide where agents keep their logs, if they are set; without HOME.

    Only the adapters know their names, so every variable that an adapter asks for is recorded.
    """
    asked = _RecordedEnvironment(environ)
    for agent in agents():
        default_roots(agent, asked)
    return {name: environ[name] for name in sorted(asked.names - {"HOME"}) if name in environ}


class _RecordedEnvironment(Mapping[str, str]):
    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        return self._environ[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._environ)

    def __len__(self) -> int:
        return len(self._environ)
