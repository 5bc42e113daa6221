"""Expressions of xacro files, evaluated so that an untrusted file can compute values and do nothing else.

``${…}`` and ``$(eval …)`` hold Python expressions. xacro evaluates them with ``eval`` and refuses some names; this is not
sufficient, because every Python object leads to all others through its attributes. Here an attribute is looked up only on
numbers, texts, lists, tables and xacro's own namespaces, no name begins with two underscores, and the only builtins are
those that compute values.
"""

from __future__ import annotations

import ast
import string
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from types import CodeType
from typing import Any

from dalembert.errors import RobotError

LONGEST = 100_000  # characters
PLAIN = (bool, int, float, complex, str, list, tuple, dict, set, frozenset)  # types whose public methods may be called
REFUSED = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
BUILTINS = (
    bool, int, float, str, list, dict, tuple, set, map, filter, zip, len, min, max, sum, abs, round, range, sorted, any, all,
    enumerate, reversed, divmod,
)  # fmt: skip
LOOKUP = "__attribute_of"  # no expression has a name like this
UNSAFE = ("vars", "type")  # xacro's namespace "python" has these, which lead to attributes past every check


def evaluate(expression: str, names: MutableMapping[str, Any]) -> Any:
    """The value of a Python expression with these names, which are xacro's own table of symbols.

    >>> evaluate("[2 * x for x in (1, radius)]", {"radius": 0.5})
    [2, 1.0]
    >>> evaluate("[x.__class__ for x in [()]]", {})
    Traceback (most recent call last):
    dalembert.errors.RobotError: the expression "[x.__class__ for x in [()]]" uses '__class__', which robot files may not use
    """
    code = _checked(expression)
    names.update({"__builtins__": {}, LOOKUP: _lookup(expression)})
    return eval(code, names)  # type: ignore[arg-type]


def evaluate_among(expression: str, names: Mapping[str, Any]) -> Any:
    """The value of a Python expression with these names and the builtins that compute."""
    builtins = {function.__name__: function for function in BUILTINS}
    code = _checked(expression)
    return eval(code, {"__builtins__": builtins, LOOKUP: _lookup(expression)}, names)


def _checked(expression: str) -> CodeType:
    """The code of an expression whose attributes are looked up by :func:`_lookup`."""
    if len(expression) > LONGEST:
        raise RobotError(f"an expression has {len(expression)} characters; at most {LONGEST} are allowed")
    tree = ast.parse(expression.strip(), "<expression>", "eval")
    for node in ast.walk(tree):
        name = _name(node)
        attribute = isinstance(node, ast.Attribute) and (name.startswith("_") or not isinstance(node.ctx, ast.Load))
        if attribute or name.startswith("__") or isinstance(node, REFUSED):
            raise _refused(expression, name or type(node).__name__.lower())
    return compile(ast.fix_missing_locations(_Lookups().visit(tree)), "<expression>", "eval")


def _name(node: ast.AST) -> str:
    """The identifier that a node of an expression has, if any."""
    return next((x for x in (getattr(node, key, None) for key in ("id", "attr", "arg")) if isinstance(x, str)), "")


class _Lookups(ast.NodeTransformer):
    """Every ``x.name`` becomes a call of the function that looks it up."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """x.name as __attribute_of(x, "name")."""
        value = self.visit(node.value)
        call = ast.Call(ast.Name(LOOKUP, ast.Load()), [value, ast.Constant(node.attr)], [])
        return ast.copy_location(call, node)


def _lookup(expression: str) -> Callable[[Any, str], Any]:
    def attribute_of(value: Any, name: str) -> Any:
        if isinstance(value, str) and name in ("format", "format_map"):
            return _Formatter(value, expression)
        if isinstance(value, PLAIN):  # of xacro's: namespaces, and YAML with dots
            return getattr(value, name)
        raise _refused(expression, name)

    return attribute_of


class _Formatter(string.Formatter):
    """``str.format`` without the fields that look up attributes."""

    def __init__(self, text: str, expression: str) -> None:
        self.text, self.expression = text, expression

    def __call__(self, *args: Any, **kwargs: Any) -> str:
        return self.format(self.text, *args, **kwargs)

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The value of a field, which is a number or a name."""
        if "." in field_name or "[" in field_name:
            raise _refused(self.expression, field_name)
        return super().get_field(field_name, args, kwargs)


def _refused(expression: str, name: str) -> RobotError:
    shown = expression if len(expression) <= 60 else f"{expression[:57]}…"
    return RobotError(f"the expression \"{shown}\" uses '{name}', which robot files may not use")
