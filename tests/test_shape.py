"""The shape of the code: short modules, short functions, and names that exist once.

Each list of exceptions below may only shrink. An entry that is no longer needed fails the test, so
delete it together with the last offence. Never add one.
"""

import ast
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from parsed import sources, statements, trees

MEDIAN_MODULE_LINES = 120
MODULE_LINES = 450
FUNCTION_LINES = 60
FUNCTION_BRANCHES = 15

# A module with one of these names does not say what it is about, so each may exist once.
VAGUE_MODULES = ("values", "words")

LONG_MODULES_ALLOWED: set[str] = set()
LARGE_FUNCTIONS_ALLOWED: set[str] = set()
CLASS_NAMES_ALLOWED: set[str] = set()
VAGUE_MODULES_ALLOWED: set[str] = set()

BRANCHES = (
    ast.If,
    ast.IfExp,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.match_case,
)


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, int, int]]:
    """Every function of a module with its lines and its branches, inner functions included."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            branches = sum(isinstance(inner, BRANCHES) for inner in ast.walk(node))
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            yield f"{prefix}{node.name}", lines, branches
            yield from functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from functions(node, prefix)


def compare(offenders: dict[str, str], allowed: set[str]) -> None:
    """Fail for every offender that is not allowed, and for every exception that is not needed."""
    new = [reason for name, reason in sorted(offenders.items()) if name not in allowed]
    assert not new, "\n" + "\n".join(new)
    repaired = sorted(allowed - offenders.keys())
    assert not repaired, f"delete these exceptions, they are repaired: {repaired}"


def test_modules_are_short() -> None:
    sizes = {name: len(text.splitlines()) for name, text in sources().items()}
    assert statistics.median(sizes.values()) <= MEDIAN_MODULE_LINES
    compare(
        {
            name: f"{name} has {lines} lines, more than {MODULE_LINES}: split it"
            for name, lines in sizes.items()
            if lines > MODULE_LINES
        },
        LONG_MODULES_ALLOWED,
    )


def test_functions_are_short_and_have_few_branches() -> None:
    compare(
        {
            f"{module}:{name}": f"{module}: {name} has {lines} lines and {branches} branches, "
            f"more than {FUNCTION_LINES} or {FUNCTION_BRANCHES}: split it"
            for module, tree in trees().items()
            for name, lines, branches in functions(tree)
            if lines > FUNCTION_LINES or branches > FUNCTION_BRANCHES
        },
        LARGE_FUNCTIONS_ALLOWED,
    )


def test_a_class_name_exists_once() -> None:
    modules: dict[str, list[str]] = defaultdict(list)
    for module, tree in trees().items():
        for node in statements(tree):
            if isinstance(node, ast.ClassDef):
                modules[node.name].append(module)
    compare(
        {
            name: f"class {name} is defined in {', '.join(where)}: rename all but one"
            for name, where in modules.items()
            if len(where) > 1
        },
        CLASS_NAMES_ALLOWED,
    )


def test_a_vague_module_name_exists_once() -> None:
    stems = Counter(Path(module).stem for module in sources())
    compare(
        {
            name: f"{stems[name]} modules are called {name}.py: name each after what it does"
            for name in VAGUE_MODULES
            if stems[name] > 1
        },
        VAGUE_MODULES_ALLOWED,
    )


def test_lines_and_branches_are_counted() -> None:
    source = """
class Box:
    def open(self, key):
        if key:
            return [x for x in key]
        for _ in key:
            try:
                pass
            except ValueError:
                pass

        async def inner():
            return 1 if key else 2
"""
    assert list(functions(ast.parse(source))) == [("Box.open", 11, 4), ("Box.open.inner", 2, 1)]
