"""The asserts of the test modules, rewritten once and not once in each worker.

All workers of pytest-xdist collect all tests in the same order. In a new checkout each of them
would rewrite every module at the moment when the others do.
"""

import importlib.util
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any


class _NotRun(Exception):
    """Instead of the module's statements."""


class _Unrun(ModuleType):
    """A module that is loaded up to the moment when it would run. By then it is in the cache."""

    def __init__(self, path: Path, loader: Any) -> None:
        super().__init__(f"unrun {path.stem}")
        self.__spec__ = importlib.util.spec_from_file_location(self.__name__, path, loader=loader)

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        raise _NotRun


def share_the_rewriting(tests: Path, worker: str, workers: int) -> None:
    """Rewrite all test modules, each worker from another one on, until they meet."""
    loader: Any = next((one for one in sys.meta_path if hasattr(one, "mark_rewrite")), None)
    if loader is None:
        return  # pytest --assert=plain
    paths = sorted(tests.rglob("test_*.py"))
    first = len(paths) * int(worker.removeprefix("gw")) // workers
    for path in (*paths[first:], *paths[:first]):
        # What is wrong with a module is said when it is collected.
        with suppress(_NotRun, SyntaxError, ValueError):
            loader.exec_module(_Unrun(path, loader))
