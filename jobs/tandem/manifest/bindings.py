"""Which names a module binds when it is imported, as far as its text says. It is not run."""

import ast
from collections.abc import Iterator, Sequence
from typing import Final

Function = ast.FunctionDef | ast.AsyncFunctionDef
UNKNOWN: Final = "*"
"""Stands for names that only running the module shows: those of `import *`, and what code sets by name."""

_SETS_BY_NAME: Final = frozenset({"exec", "globals", "locals", "vars", "setattr"})
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def module_names(tree: ast.Module) -> dict[str, list[ast.AST]]:
    """Each name that the module may bind at its top level, and what binds it: in the text's order, in whatever blocks."""
    bound: dict[str, list[ast.AST]] = {}
    for node in _below(tree.body):
        for name in _names_of(node):
            bound.setdefault(name, []).append(node)
    for node in ast.walk(tree):  # in functions, too
        names: Sequence[str] = node.names if isinstance(node, ast.Global) else ()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SETS_BY_NAME:
            names = (UNKNOWN,)
        for name in names:
            bound.setdefault(name, []).append(node)
    return bound


def gives_something(function: Function) -> bool:
    """Whether a function may return a value: it has a `return` with one, or is a generator."""
    inside = _below(function.body)
    return _is_stub(function) or any(isinstance(one, ast.Yield | ast.YieldFrom) or _returns(one) for one in inside)


def _returns(node: ast.AST) -> bool:
    is_none = isinstance(node, ast.Return) and isinstance(node.value, ast.Constant) and node.value.value is None
    return isinstance(node, ast.Return) and node.value is not None and not is_none


def _is_stub(function: Function) -> bool:
    return all(isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) for one in function.body)


def _below(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes of a body but those of scopes within it, whose own node comes."""
    nodes: list[ast.AST] = list(reversed(body))
    while nodes:
        node = nodes.pop()
        yield node
        if not isinstance(node, _SCOPES):
            nodes.extend(reversed(list(ast.iter_child_nodes(node))))


def _names_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name
