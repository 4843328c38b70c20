"""The changes that ``mutate.py`` tries: each gives a whole module with one thing changed."""

import ast
import copy
from collections.abc import Iterator

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_PLAIN_TESTS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def of(source: str) -> Iterator[tuple[int, str, ast.Module]]:
    """``(line, what was changed, the module)`` for every change of a source text."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    left_out = _never_run(tree)
    for number, node in enumerate(nodes):
        if id(node) in left_out:
            continue
        if not isinstance(node, ast.expr | ast.stmt) or not _can_change(node):
            continue
        changed = copy.deepcopy(tree)
        # A copy is walked in the same order.
        twin = list(ast.walk(changed))[number]
        before = ast.unparse(_shown(node))
        after = ast.unparse(_shown(_change(twin)))
        ast.fix_missing_locations(changed)
        yield node.lineno, f"{_short(before)}  ->  {_short(after)}", changed


def _never_run(tree: ast.Module) -> set[int]:
    """Annotations, docstrings and what only type checkers read."""
    roots: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            roots += [part for part in (node.returns,) if part]
        elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            roots.append(node.annotation)
        elif _is_docstring(node) or _is_for_type_checkers(node):
            roots.append(node)
    return {id(part) for root in roots for part in ast.walk(root)}


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _can_change(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[op]):
            return type(op) in _COMPARED
        case ast.BoolOp():
            return True
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BinOp(op=op) | ast.AugAssign(op=op):
            return type(op) in _CALCULATED
        case ast.Constant(value=bool() | int()):
            return True
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            return isinstance(test, _PLAIN_TESTS)
        case ast.Return(value=ast.expr() as value):
            return not (isinstance(value, ast.Constant) and value.value is None)
        case ast.Expr(value=ast.Call()):
            return True
        case ast.Break() | ast.Continue():
            return True
    return False


def _change(node: ast.AST) -> ast.AST:
    """Change a node of the copy in place."""
    match node:
        case ast.Compare(ops=[op]):
            node.ops = [_COMPARED[type(op)]()]
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.UnaryOp():
            # "not not x" is x, as a truth value.
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        case ast.BinOp() | ast.AugAssign():
            node.op = _CALCULATED[type(node.op)]()
        case ast.Constant(value=bool() as value):
            node.value = not value
        case ast.Constant(value=int() as value):
            node.value = value + 1
        case ast.If() | ast.While() | ast.IfExp():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.Return():
            node.value = ast.Constant(None)
        case ast.Expr():
            node.value = ast.Constant(None)
        case ast.Break():
            node.__class__ = ast.Continue  # type: ignore[assignment]
        case ast.Continue():
            node.__class__ = ast.Break  # type: ignore[assignment]
    return node


def _shown(node: ast.AST) -> ast.AST:
    return node.test if isinstance(node, ast.If | ast.While) else node


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
