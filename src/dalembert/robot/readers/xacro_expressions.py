"""Expressions of xacro files, evaluated so that an untrusted file can compute values and do nothing else.

``${…}`` and ``$(eval …)`` hold Python expressions, but Python does not evaluate them here: the parsed tree is walked, and
only what this module names has a meaning. Values are numbers, texts, True, False, None, and lists, tuples, sets and
dictionaries of these. An attribute is an item of a dictionary or a namespace, or one of :data:`METHODS`; a function is one
of :data:`FUNCTIONS` or of the caller's. No other object can be reached, and the work and the size of every value are bounded.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import string
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from types import MappingProxyType
from typing import Any

from dalembert.errors import RobotError

LONGEST = 100_000  # characters of an expression
LARGEST = 100_000  # characters and elements of one value
DEEPEST = 50  # lists within lists
BITS = 4096  # of an integer
WORK = 2_000_000  # steps per file: a few seconds


Function = Callable[..., Any]
SCALARS = (bool, int, float, str, type(None))
CONTAINERS = (list, tuple, set, dict)

OPERATORS: dict[type, Function] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Invert: operator.invert, ast.Not: operator.not_,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.In: lambda x, y: x in y,
    ast.NotIn: lambda x, y: x not in y,
}  # fmt: skip
# what a list of elements becomes
COLLECTED: dict[type, Function] = {
    **dict.fromkeys((ast.List, ast.ListComp, ast.GeneratorExp), list),
    **dict.fromkeys((ast.Set, ast.SetComp), set),
    ast.Tuple: tuple,
}


class _Refused(Exception):
    """What an expression has or does that is not allowed, as the rest of a sentence."""


def _unknown(name: str) -> _Refused:
    return _Refused(f"uses '{name}', which robot files may not use")


def size(value: Any) -> int:
    """Characters and elements of a value, those of nested ones included; refused if it is not plain data or too large.

    >>> size(["ab", {"c": 1.0}])
    11
    """
    total, waiting = 0, [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        kind = type(item)
        if kind is int and item.bit_length() > BITS:
            raise _Refused(f"has an integer of more than {BITS} bits")
        if kind not in SCALARS and kind not in CONTAINERS:
            raise _Refused(f"has a value of type {kind.__name__}; only numbers, texts, lists and tables are allowed")
        total += 1 + (len(item) if kind is str or kind in CONTAINERS else 0)
        if total > LARGEST or depth > DEEPEST:
            raise _Refused(f"has a value of more than {LARGEST} characters and elements, or {DEEPEST} levels")
        if kind in CONTAINERS:
            waiting += [(x, depth + 1) for x in item]
            waiting += [(x, depth + 1) for x in item.values()] if kind is dict else []
    return total


def _room(count: int) -> None:
    """Refuse a result that would have more characters or elements than a value may have."""
    if count > LARGEST:
        raise _Refused(f"has a value of more than {LARGEST} characters and elements")


def _within(count: Function, function: Function) -> Function:
    """The function, refused before it is called if ``count`` of its arguments exceeds what a value may have."""

    def bounded(*arguments: Any, **options: Any) -> Any:
        _room(count(*arguments, **options))
        return function(*arguments, **options)

    return bounded


def _counted(*bounds: int) -> int:
    numbers = range(*bounds)
    return numbers[-1] // numbers.step - numbers.start // numbers.step if numbers else 0


def _sum(values: Sequence[float], start: float = 0) -> float:
    for x in (*values, start):
        if not isinstance(x, (int, float)):
            raise TypeError(f"sum adds numbers, not {x!r}")
    return sum(values, start)


FUNCTIONS: dict[str, Any] = {
    "bool": bool, "int": int, "float": float, "str": str, "len": len, "abs": abs, "min": min, "max": max, "any": any,
    "all": all, "ord": ord, "repr": repr, "dict": dict, "list": list, "tuple": tuple, "set": set, "divmod": divmod,
    "round": lambda number, ndigits=None: round(number, ndigits and max(-400, min(ndigits, 400))),
    "range": _within(_counted, lambda *bounds: list(range(*bounds))), "sum": _sum, "sorted": sorted, "map": map,
    "isinstance": isinstance, "zip": lambda *columns: list(zip(*columns, strict=False)),
    "enumerate": lambda values, start=0: list(enumerate(values, start)), "reversed": lambda values: list(reversed(values)),
}  # fmt: skip
MATH: dict[str, Any] = {
    **{name: value for name, value in vars(math).items() if not name.startswith("_") and name != "prod"},
    **{name: _within(lambda *n: max(map(abs, n)), getattr(math, name)) for name in ("factorial", "comb", "perm")},
}
TYPES = tuple(FUNCTIONS[name] for name in ("bool", "int", "float", "str", "dict", "list", "tuple", "set"))


class _Formatter(string.Formatter):
    """``str.format`` with plain fields and widths of at most three digits."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The value of a field, which is a number or a name."""
        if "." in field_name or "[" in field_name:
            raise _Refused(f"has the field '{field_name[:40]}' in a format; only numbers and names are allowed")
        return super().get_field(field_name, args, kwargs)

    def format_field(self, value: Any, format_spec: str) -> str:
        """The value as text."""
        if re.search(r"\d{4}", format_spec):
            raise _Refused(f"has the format '{format_spec[:40]}'; a width has at most three digits")
        return str(super().format_field(value, format_spec))


def _format(text: str, *arguments: Any, **names: Any) -> str:
    _room(text.count("{") * size([*arguments, *names.values()]))
    return _Formatter().format(text, *arguments, **names)


def _percent(text: str, values: Any) -> str:
    if re.search(r"\*|\d{4}", text):
        raise _Refused(f"has the format '{text[:40]}'; a width has at most three digits and is not '*'")
    _room(text.count("%") * size(values))
    return text % values


METHODS: dict[type, dict[str, Function]] = {
    str: {
        **{name: getattr(str, name) for name in (
            "capitalize", "count", "endswith", "find", "index", "isalnum", "isalpha", "isdecimal", "isdigit", "isidentifier",
            "islower", "isnumeric", "isspace", "istitle", "isupper", "lower", "lstrip", "partition", "removeprefix",
            "removesuffix", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip",
            "swapcase", "title", "upper",
        )},
        **{name: _within(lambda text, width, fill="": width, getattr(str, name)) for name in (
            "center", "ljust", "rjust", "zfill",
        )},
        "format": _format,
        "join": _within(lambda text, parts: len(text) * len(parts), str.join),
        "replace": _within(lambda text, old, new, count=-1: text.count(old) * len(new), str.replace),
    },
    list: {"count": list.count, "index": list.index},
    tuple: {"count": tuple.count, "index": tuple.index},
    dict: {
        "get": dict.get, "keys": lambda table: list(table), "values": lambda table: list(table.values()),
        "items": lambda table: list(table.items()),
    },
}  # fmt: skip


def _binary(kind: type, x: Any, y: Any) -> Any:
    """The value of x ∘ y, refused before it is computed if it would be huge."""
    if kind is ast.Pow and isinstance(x, int) and isinstance(y, int) and x.bit_length() * y > BITS:
        raise _Refused(f"has a power of more than {BITS} bits")
    if kind is ast.LShift and isinstance(y, int) and y > BITS:
        raise _Refused(f"shifts by more than {BITS} bits")
    if kind is ast.Mod and isinstance(x, str):
        return _percent(x, y)
    if kind is ast.Mult:
        for some, times in ((x, y), (y, x)):
            if isinstance(some, (str, list, tuple)) and isinstance(times, int):
                _room(len(some) * times)
    return OPERATORS[kind](x, y)


class Expressions:
    """Evaluates the expressions of one file, which share a bounded amount of work.

    ``functions`` are those of the caller, by name; a MappingProxyType is a namespace of functions. ``namespace`` is the caller's
    type of namespaces with values, whose items are attributes.

    >>> Expressions({}).evaluate("[2 * x for x in (1, radius)]", {"radius": 0.5})
    [2, 1.0]
    >>> Expressions({}).evaluate("[x.__class__ for x in [()]]", {})
    Traceback (most recent call last):
    dalembert.errors.RobotError: the expression "[x.__class__ for x in [()]]" uses '__class__', which robot files may not use
    """

    def __init__(self, functions: Mapping[str, Any], namespace: type = dict) -> None:
        spaces = {"python": MappingProxyType(FUNCTIONS), "math": MappingProxyType(MATH)}
        self.functions: Mapping[str, Any] = {**MATH, **FUNCTIONS, **spaces, **functions}
        self.namespace, self.left = namespace, WORK

    def evaluate(self, expression: str, names: MutableMapping[str, Any]) -> Any:
        """The value of an expression with these names."""
        if len(expression) > LONGEST:
            raise RobotError(f"an expression has {len(expression)} characters; at most {LONGEST} are allowed")
        try:
            tree = ast.parse(expression.strip(), "<expression>", "eval")
            return _Evaluation(self, names).value(tree.body)
        except _Refused as reason:
            raise RobotError(f'the expression "{_shown(expression)}" {reason}') from None
        except (RecursionError, MemoryError):
            raise RobotError(f'the expression "{_shown(expression)}" is nested too deeply') from None

    def spend(self, steps: int) -> None:
        """Count work."""
        self.left -= steps
        if self.left < 0:
            raise _Refused(f"exceeds the {WORK} steps that the expressions of one file may take; make the file simpler")


class _Evaluation:
    """One expression with its names."""

    def __init__(self, expressions: Expressions, names: MutableMapping[str, Any]) -> None:
        self.expressions, self.names = expressions, names

    def value(self, node: ast.AST) -> Any:
        """The value of a node: plain data, as :func:`size` checks."""
        return self.plain(self.reference(node))

    def plain(self, result: Any) -> Any:
        """The result, refused if it is not plain data."""
        self.expressions.spend(size(result))
        return result

    def reference(self, node: ast.AST) -> Any:
        """What a node stands for: a value, a function or a namespace; kinds of nodes that are not listed have no meaning."""
        self.expressions.spend(1)
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self.named(node.id)
            case ast.Attribute():
                return self.item(self.reference(node.value), node.attr)
            case ast.Subscript():
                return self.subscript(node)
            case ast.UnaryOp():
                return OPERATORS[type(node.op)](self.value(node.operand))
            case ast.BinOp() if type(node.op) in OPERATORS:
                return _binary(type(node.op), self.value(node.left), self.value(node.right))
            case ast.BoolOp():
                for operand in node.values[:-1]:
                    if bool(value := self.value(operand)) is isinstance(node.op, ast.Or):
                        return value
                return self.value(node.values[-1])
            case ast.Compare():
                left = self.value(node.left)
                for kind, operand in zip(node.ops, node.comparators, strict=True):
                    right = self.value(operand)
                    if not OPERATORS[type(kind)](left, right):
                        return False
                    left = right
                return True
            case ast.IfExp():
                return self.value(node.body if self.value(node.test) else node.orelse)
            case ast.List() | ast.Tuple() | ast.Set():
                return COLLECTED[type(node)](self.spread(node.elts))
            case ast.Dict() if None not in node.keys:
                return {self.value(key): self.value(x) for key, x in zip(node.keys, node.values, strict=True) if key}
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                return COLLECTED[type(node)](inner.value(node.elt) for inner in self.loop(node.generators))
            case ast.DictComp():
                return {inner.value(node.key): inner.value(node.value) for inner in self.loop(node.generators)}
            case ast.Call():
                return self.called(node)
        raise _unknown(type(node).__name__.lower())

    def named(self, name: str) -> Any:
        """What the file, or else this module or the caller, calls by this name."""
        if name.startswith("__"):
            raise _unknown(name)
        for place in (self.names, self.expressions.functions):
            if name in place:
                return place[name]
        raise NameError(f"name '{name}' is not defined")

    def item(self, owner: Any, name: str) -> Any:
        """What a dictionary or a namespace holds under this name."""
        if name.startswith("_") or type(owner) not in (dict, MappingProxyType, self.expressions.namespace):
            raise _unknown(name)
        if name not in owner:
            raise NameError(f"name '{name}' is not defined")
        return owner[name]

    def subscript(self, node: ast.Subscript) -> Any:
        """An item or a part of a text, a list or a table."""
        owner = self.reference(node.value)
        if type(owner) not in (str, list, tuple, dict):
            size(owner)  # refuses what is not a value
        if not isinstance(node.slice, ast.Slice):
            return owner[self.value(node.slice)]
        bounds = (node.slice.lower, node.slice.upper, node.slice.step)
        return owner[slice(*(None if x is None else self.value(x) for x in bounds))]

    def loop(self, generators: list[ast.comprehension]) -> Iterator[_Evaluation]:
        """The evaluation for every element that a comprehension runs through."""
        if not generators:
            yield self
            return
        (first, *rest), count = generators, 0
        if first.is_async:
            raise _unknown("async")
        for element in self.value(first.iter):
            inner = _Evaluation(self.expressions, ChainMap(self.bound(first.target, element), self.names))
            if all(inner.value(condition) for condition in first.ifs):
                for each in inner.loop(rest):
                    _room(count := count + 1)
                    yield each

    def bound(self, target: ast.AST, element: Any) -> dict[str, Any]:
        """The names of a loop's target with their values."""
        if isinstance(target, ast.Name):
            return {target.id: element}
        if not isinstance(target, ast.Tuple):
            raise _unknown(type(target).__name__.lower())
        pairs = list(zip(target.elts, element, strict=True))
        return {name: x for part, inner in pairs for name, x in self.bound(part, inner).items()}

    def called(self, node: ast.Call) -> Any:
        """The value of a call: of a method, or of a function."""
        if isinstance(node.func, ast.Attribute):
            owner = self.reference(node.func.value)
            method = METHODS.get(type(owner), {}).get(node.func.attr)
            if method is not None:
                return self.plain(method(owner, *self.spread(node.args), **self.options(node)))
            function = self.item(owner, node.func.attr)
        else:
            function = self.reference(node.func)
        if not callable(function):
            raise _unknown("()")
        if function is map:
            return self.mapped(node)
        if function is isinstance:
            return self.is_instance(node)
        return self.plain(function(*self.spread(node.args), **self.options(node)))

    def spread(self, nodes: list[ast.expr]) -> list[Any]:
        """The values of several nodes; those with a star are lists of values."""
        parts = [(x.value, True) if isinstance(x, ast.Starred) else (x, False) for x in nodes]
        return [x for part, many in parts for x in (self.value(part) if many else [self.value(part)])]

    def options(self, node: ast.Call) -> dict[str, Any]:
        """The arguments with names."""
        given = [(option.arg, self.value(option.value)) for option in node.keywords]
        return dict(pair for name, x in given for pair in (x.items() if name is None else [(name, x)]))

    def mapped(self, node: ast.Call) -> list[Any]:
        """What map gives, as a list."""
        function = self.reference(node.args[0])
        if not callable(function) or function in (map, isinstance) or node.keywords:
            raise _unknown("map")
        rows = zip(*(self.value(x) for x in node.args[1:]), strict=False)
        return [self.plain(function(*row)) for row in rows]

    def is_instance(self, node: ast.Call) -> bool:
        """Whether a value is of a type, or of one of several."""
        value, kinds = node.args
        names = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
        types = [self.reference(x) for x in names]
        if any(x not in TYPES for x in types):
            raise _unknown("isinstance")
        return isinstance(self.value(value), tuple(types))


def _shown(expression: str) -> str:
    return expression if len(expression) <= 60 else f"{expression[:57]}…"
