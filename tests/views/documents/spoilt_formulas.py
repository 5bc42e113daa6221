"""Rows with a spoilt formula: one symbol or one sign is changed at a time; a row that still held would prove nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.views.documents.rows import MapRow, Names, setting, symbol_value

PERTURBED = 1.01  # factor of a symbol of the formula


def spoilt(row: MapRow, names: Names | None = None) -> Iterator[tuple[str, Any]]:
    """The formula with one symbol 1 % larger, or one sign changed, at a time: the change, and the result."""
    names = _in_numbers(setting(row) if names is None else names)
    watched = _Watched(row.formula)
    formula = compile(watched.tree, row.place, "eval")
    for k, what in enumerate(watched.changes):
        changed = False

        def touched(at: int, x: Any, k: int = k) -> Any:
            nonlocal changed
            larger = _larger(x) if at == k else x
            changed = changed or larger is not x
            return larger

        def added(at: int, sign: int, x: Any, y: Any, k: int = k) -> Any:
            nonlocal changed
            changed = changed or at == k
            return x + y if (sign > 0) != (at == k) else x - y

        try:
            value = eval(formula, names | {"_touched": touched, "_added": added})
        except (DalembertError, IndexError, ValueError):  # a link or an instant that does not exist
            value = np.nan
        if changed:
            yield what, value


class _Watched(ast.NodeTransformer):
    """A formula in which every symbol and float is a call of ``_touched`` and every sum one of ``_added``, numbered."""

    def __init__(self, formula: str) -> None:
        self.changes: list[str] = []
        self.tree = ast.fix_missing_locations(self.visit(ast.parse(formula, mode="eval")))

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """The node, watched if it is one of these."""
        text = ast.unparse(node)
        super().generic_visit(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            sign = ast.Constant(1 if isinstance(node.op, ast.Add) else -1)
            return self._called("_added", f"the sign in '{text}'", sign, node.left, node.right)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            return self._called("_touched", f"'{text}'", node)
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            return self._called("_touched", f"'{text}'", node)
        return node

    def _called(self, name: str, what: str, *arguments: ast.expr) -> ast.expr:
        self.changes.append(what)
        return ast.Call(ast.Name(name, ast.Load()), [ast.Constant(len(self.changes) - 1), *arguments], [])


def _in_numbers(names: Names) -> Names:
    """The names with numbers for SymPy symbols, which does not affect whether a formula holds."""
    if "Matrix" not in names:
        return names
    letters = {name: symbol_value(x) for name, x in names.items() if getattr(x, "is_Symbol", False)}
    return names | letters | {"Matrix": lambda rows: np.array(rows, float)}


def _larger(x: Any) -> Any:
    if isinstance(x, list | tuple) and x and all(isinstance(y, float | np.ndarray) for y in x):
        return [y * PERTURBED for y in x]
    if isinstance(x, float | np.floating) or (isinstance(x, np.ndarray) and x.dtype.kind == "f"):
        return x * PERTURBED if np.any(x) else x + (PERTURBED - 1)
    return x * PERTURBED if hasattr(x, "free_symbols") and not isinstance(x, type) else x
