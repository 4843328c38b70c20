"""The modules of the package, parsed once for all tests that look at the code itself."""

import ast
import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import session_memory

ROOT = Path(session_memory.__file__).parent


@cache
def sources() -> dict[str, str]:
    """Every module of the package: path below the package → text."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for path in sorted(ROOT.rglob("*.py"))
    }


@cache
def trees() -> dict[str, ast.Module]:
    """Every module of the package: path below the package → its syntax."""
    # Millions of nodes that all stay: searching them for garbage would take longer than parsing.
    gc.disable()
    try:
        return {name: ast.parse(text) for name, text in sources().items()}
    finally:
        gc.enable()


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement below a node. Expressions, which hold no statement, are not visited."""
    left = [tree]
    while left:
        for node in ast.iter_child_nodes(left.pop()):
            if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
                yield node
                left.append(node)
