"""Find adapters in other packages, which announce them in the entry-point group ``GROUP``.

``importlib.metadata`` takes longer to import than a short command takes to run. So it is imported
only if some installed package mentions the group.
"""

import re
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from session_memory.core.ids import FLAVOR
from session_memory.core.text import exception_text, short_repr, visible

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

GROUP = "session_memory.adapters"
_FILES = ("*.dist-info/entry_points.txt", "*.egg-info/entry_points.txt")


class Plugins(msgspec.Struct):
    """The adapters that other packages announce.

    ``loaders`` has the function that imports each adapter, by flavor. ``problems`` says, by the
    name of the package, which adapter is not used and why.
    """

    loaders: dict[str, Callable[[], Any]] = {}
    problems: dict[str, str] = {}

    def add_problem(self, package: str, reason: str) -> None:
        before = self.problems.get(package)
        self.problems[package] = f"{before}; {reason}" if before else reason


def find_plugins(built_in: Collection[str]) -> Plugins:
    """Return the adapters of other packages, sorted by flavor. An adapter becomes a problem instead
    if its flavor is in ``built_in``, is not valid, or belongs to an earlier package."""
    plugins = Plugins()
    if not _is_mentioned(plugins):
        return plugins
    users: dict[str, str] = {}
    for package, point in sorted(_announced(plugins), key=lambda one: (one[1].name, one[0])):
        name = point.name
        declares = f"the package {package} declares the adapter {short_repr(name)}"
        if not FLAVOR.fullmatch(name):
            reason = f"{declares}, but a name has lower-case letters, digits and _ only"
        elif name in built_in:
            reason = f"{declares}, which is built in; the built-in one is used"
        elif name in users:
            reason = f"{declares}, which {users[name]} has too; that one is used"
        else:
            users[name] = package
            plugins.loaders[name] = point.load
            continue
        plugins.add_problem(package, reason)
    return plugins


def _is_mentioned(plugins: Plugins) -> bool:
    """Whether a package on ``sys.path`` mentions the group.

    True if there is a zip file on the path: it may mention the group, and it is not opened.
    """
    is_mentioned = False
    for place in map(Path, sys.path):
        try:
            is_mentioned = is_mentioned or place.is_file()
            files = [file for pattern in _FILES for file in place.glob(pattern)]
        except OSError:
            # Python itself skips a directory of the path that it cannot read.
            continue
        for file in files:
            try:
                is_mentioned = GROUP in file.read_text("utf-8", "replace") or is_mentioned
            except OSError as error:
                package = file.parent.name.partition("-")[0]
                reason = error.strerror or str(error)
                plugins.add_problem(package, f"{file} cannot be read: {reason}")
    return is_mentioned


def _announced(plugins: Plugins) -> Iterator[tuple[str, "EntryPoint"]]:
    """Yield the name of a package and an entry point, for each announced adapter.

    If several packages have the same name, only the first one counts, as in Python.
    """
    from importlib.metadata import distributions  # noqa: PLC0415

    seen: set[str] = set()
    for package in distributions():
        try:
            if GROUP not in (package.read_text("entry_points.txt") or ""):
                continue
            points = list(package.entry_points.select(group=GROUP))
        except Exception as error:
            # The parser of entry points has no exception of its own.
            name = _name_of(package)
            reason = f"the entry points of {name} cannot be read: {exception_text(error)}"
            plugins.add_problem(name, reason)
            continue
        name = _name_of(package)
        plain = re.sub(r"[-_.]+", "-", name).lower()
        if plain not in seen:
            seen.add(plain)
            yield from ((name, point) for point in points)


def _name_of(package: "Distribution") -> str:
    try:
        return visible(str(package.metadata["Name"] or "without a name"))
    except Exception:
        # A package without metadata. Which exception that is depends on the version of Python.
        return "without a name"
