"""A function whose statement changes sessions, usage or events marks the session it changes.

Kept figures of a session without a mark are taken as right (decision 0008). This test reads the
code of the store: it sees statements in constants and in functions, and inserts into a table that
is named. It does not see a statement whose table is a placeholder, as in `retention_forget.delete`.
"""

import ast
import re
from collections.abc import Iterator

import pytest
from parsed import trees

# No store is opened.
pytestmark = pytest.mark.only("sqlite")

TABLES = ("sessions", "usage", "events")
CHANGE = re.compile(rf"(?:update|insert into|delete from) (?:{'|'.join(TABLES)})(?![a-z_])")
MARKS = ("_marks.add(", "mark_outcome(", "figures.discard(")

# Functions that change such a table and mark nothing, with the reason why they need no mark.
# An entry that is no longer needed fails the test: delete it.
SAVED = "its callers in derive save the session afterwards, in the same transaction"
WITHOUT_A_MARK = {
    "event_writing.py:_insert": SAVED,
    "event_writing.py:amend": SAVED,
    "event_writing.py:undo": SAVED,
    "event_writing.py:set_branches": SAVED,
    "event_writing.py:drop": "its callers save, freeze or delete the session",
    "given_names.py:set": "no figure depends on names or on the column revision",
    "sessions.py:drop_derived": "its callers save or delete the session",
    "sessions.py:mark_stale": "no figure depends on the column stale",
    "turns.py:set_own": "its caller saves the session for which the usage counts",
    "turns.py:set_tokens": "its caller saves the session for which the usage counts",
    "usage.py:replace": SAVED,
    "usage.py:move": SAVED,
    "usage.py:set_owner": "its callers save both owners, or call add_to_sums, which marks them",
    "usage.py:give_report": "its caller saves both owners",
}


def text_of(node: ast.AST) -> str:
    """The text of a literal, with ``?`` for what a placeholder puts into it."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or "?" for part in node.values)
    return ""


def store_modules() -> dict[str, ast.Module]:
    """The modules of the store: no other room has SQL (test_layers.py)."""
    return {
        name.removeprefix("store/"): tree
        for name, tree in trees().items()
        if name.startswith("store/") and "/steps/" not in name
    }


def changes(node: ast.AST) -> bool:
    """Whether a statement in the code below ``node`` changes one of the tables."""
    return any(CHANGE.search(text_of(inner)) for inner in ast.walk(node))


def inserts(function: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("insert", "insert_one")
        and bool(node.args)
        and text_of(node.args[0]) in TABLES
        for node in ast.walk(function)
    )


def constants(tree: ast.Module) -> set[str]:
    """The names of a module's constants that hold such a statement."""
    return {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and changes(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from (inner for inner in node.body if isinstance(inner, ast.FunctionDef))


def unmarked(modules: dict[str, ast.Module]) -> Iterator[str]:
    """``module:function`` of each function that changes one of the tables and marks nothing."""
    known = {name: constants(tree) for name, tree in modules.items()}
    of_all = {constant for names in known.values() for constant in names}
    for module, tree in modules.items():
        imported = {
            alias.asname or alias.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.name in of_all
        }
        for function in functions(tree):
            used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
            is_changing = used & (known[module] | imported) or changes(function)
            if (is_changing or inserts(function)) and not any(
                mark in ast.unparse(function) for mark in MARKS
            ):
                yield f"{module}:{function.name}"


def test_a_statement_that_changes_a_session_marks_it() -> None:
    found = set(unmarked(store_modules()))
    new = sorted(found - WITHOUT_A_MARK.keys())
    assert not new, (
        f"{new} change sessions, usage or events and mark no session. Call FigureMarks.add with its"
        " id in the same function (docs/decisions/0008-kept-figures.md). If the caller marks it, or"
        " no figure depends on it, add the function to WITHOUT_A_MARK with that reason."
    )
    repaired = sorted(WITHOUT_A_MARK.keys() - found)
    assert not repaired, f"delete these exceptions, they are repaired: {repaired}"


CODE = """
_NAME = f"update sessions set {COLUMN} = :name"
_READ = "select 1 from usage"

class Names:
    def rename(self, name):
        self._db.execute(_NAME, {"name": name})

    def rename_and_mark(self, session, name):
        self._db.execute(_NAME, {"name": name})
        self._marks.add(session)

    def add(self, rows):
        self._db.insert("usage", COLUMNS, rows)

    def read(self):
        return self._db.all(_READ)

def forget(db):
    db.execute("delete from events where seq = 1")
"""
OTHER = """
from names import _NAME as rename

def other(db):
    db.execute(rename)
"""


def test_a_statement_is_found_wherever_it_stands() -> None:
    modules = {"names.py": ast.parse(CODE), "other.py": ast.parse(OTHER)}
    assert set(unmarked(modules)) == {
        *("names.py:rename", "names.py:add", "names.py:forget"),
        "other.py:other",
    }
