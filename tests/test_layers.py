"""Imports go one way. The map below is the architecture; a new room gets a line here."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from parsed import statements, trees

PACKAGE = "session_memory"

BASE = {"core", "config", "store", "redact"}
MIDDLE = BASE | {"derive", "collect", "live", "search", "pricing"}
UPPER = MIDDLE | {"learn", "retain"}
SHOWING = UPPER | {"views", "render", "demo", "handoff"}
SURFACE = SHOWING | {"memory"}

# room -> the rooms it may import. Adapters never see the store, and the store never sees an
# adapter. Only derive and collect know both.
MAY_IMPORT: dict[str, set[str]] = {
    "core": set(),
    "demo": set(),
    "config": {"core"},
    "adapters": {"core"},
    "store": {"core"},
    "workers": {"core"},
    "redact": {"core"},
    "derive": BASE | {"adapters"},
    "collect": BASE | {"adapters", "derive", "workers"},
    "live": BASE,
    "search": BASE,
    # A model without a maker in its name is sold by the provider of its agent.
    "pricing": BASE | {"derive"},
    "learn": MIDDLE | {"workers"},
    "retain": MIDDLE,
    "views": UPPER,
    "render": {"core", "config", "redact", "pricing", "views"},
    "handoff": UPPER | {"views"},
    "memory": SHOWING,
    # Agents that know no MCP servers get the list of tools in a file.
    "install": BASE | {"mcp"},
    # Commands start the servers and hooks, and connect agents with them.
    "cli": SURFACE | {"mcp", "hooks", "install", "web", "conformance"},
    # The web server answers MCP clients too.
    "web": SURFACE | {"mcp"},
    # Some agents ask the server instead of starting a hook.
    "mcp": SURFACE | {"hooks"},
    "hooks": SURFACE,
    "integrations": SURFACE,
    # Contract suites run against anything below the surfaces; nothing in the package needs them.
    "testing": UPPER | {"views", "adapters"},
    # Drives real agents and compares what is read from their logs with the script.
    "conformance": BASE | {"adapters", "collect"},
    # The modules directly in the package.
    "__init__": BASE | {"live", "memory"},
    "__main__": {"start"},
    "start": {"cli", "mcp", "hooks"},
}

# A library that belongs to some rooms only: SQL stays in the store, the terminal in the cli.
ONLY_IN: dict[str, set[str]] = {
    "apsw": {"store", "adapters"},
    "psycopg": {"store"},
    "psycopg_pool": {"store"},
    "click": {"cli"},
    "rich": {"cli"},
    "jinja2": {"web", "testing"},
    "starlette": {"web"},
    "uvicorn": {"web"},
}


def room_of(module: str) -> str:
    """``session_memory.store.packs`` is in the room ``store``."""
    return module.removeprefix(PACKAGE).lstrip(".").split(".")[0] or "__init__"


def module_name(path: str) -> str:
    parts = Path(path).with_suffix("").parts
    return ".".join((PACKAGE, *parts)).removesuffix(".__init__")


def imports(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Every import with its line: at the top, in a function, or for type checking only."""
    for node in statements(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                up = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*up, base]).rstrip(".")
            # "from session_memory import store" imports a room, not a name of the package.
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def broken_rule(room: str, imported: str) -> str | None:
    """The rule this import breaks, as the end of a sentence; None when it is allowed."""
    top = imported.split(".")[0]
    if top != PACKAGE:
        if top in ONLY_IN and room not in ONLY_IN[top]:
            return f"{top} belongs to {' and '.join(sorted(ONLY_IN[top]))} alone"
        return None
    other = room_of(imported)
    if other in (room, "__init__", "__version__"):
        return None
    if other not in MAY_IMPORT:
        return f"{other} is neither a room nor __version__: import it from the room it lives in"
    allowed = MAY_IMPORT[room]
    return None if other in allowed else f"{room} may import {listed(allowed)}"


def listed(rooms: set[str]) -> str:
    return "only " + ", ".join(sorted(rooms)) if rooms else "no other room"


def violations(module: str, tree: ast.Module, *, is_package: bool = False) -> list[str]:
    room = room_of(module)
    if room not in MAY_IMPORT:
        return [f"{module} is in no room of the map: add {room} to MAY_IMPORT or move it"]
    package = module if is_package else module.rpartition(".")[0]
    return [
        f"{module}:{line} imports {imported}, but {rule}"
        for line, imported in imports(tree, package)
        if (rule := broken_rule(room, imported))
    ]


def test_imports_go_one_way() -> None:
    found = [
        sentence
        for path, tree in trees().items()
        for sentence in violations(module_name(path), tree, is_package=path.endswith("__init__.py"))
    ]
    assert not found, "\n" + "\n".join(found)


def test_the_map_has_no_circles() -> None:
    left = {room: set(allowed) for room, allowed in MAY_IMPORT.items()}
    while ready := {room for room, allowed in left.items() if not allowed & left.keys()}:
        left = {room: allowed for room, allowed in left.items() if room not in ready}
    assert not left, f"these rooms import each other in a circle: {sorted(left)}"


@pytest.mark.parametrize(
    ("source", "imported"),
    [
        ("import session_memory.store.packs", "session_memory.store.packs"),
        ("import session_memory.store as s", "session_memory.store"),
        ("from session_memory.store import open_store", "session_memory.store.open_store"),
        ("from session_memory import store", "session_memory.store"),
        ("from ..store import open_store", "session_memory.store.open_store"),
        ("from .. import store", "session_memory.store"),
        ("def late(): from ..store.packs import pack", "session_memory.store.packs.pack"),
        ("if TYPE_CHECKING: from ..store import Store", "session_memory.store.Store"),
    ],
)
def test_every_way_to_write_a_forbidden_import_is_seen(source: str, imported: str) -> None:
    assert violations("session_memory.adapters.claude", ast.parse(source)) == [
        f"session_memory.adapters.claude:1 imports {imported}, but adapters may import only core"
    ]


def test_allowed_imports_pass() -> None:
    source = "import json\nfrom . import jsonl\nfrom ..core.schema import Session\n"
    assert violations("session_memory.adapters.claude", ast.parse(source)) == []
    assert (
        violations("session_memory.cli", ast.parse("from session_memory import __version__")) == []
    )


def test_public_names_and_foreign_libraries_are_imported_where_they_belong() -> None:
    (name,) = violations(
        "session_memory.views.tree", ast.parse("from session_memory import Session")
    )
    assert "Session is neither a room" in name
    (library,) = violations("session_memory.views.tree", ast.parse("import apsw"))
    assert library.endswith("imports apsw, but apsw belongs to adapters and store alone")
