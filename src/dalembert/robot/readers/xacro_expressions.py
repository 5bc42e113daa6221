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


def _small(function: Function, most: int) -> Function:
    """The function, for integers that are not large: its work or its result grows rapidly with them."""

    def bounded(*arguments: Any, **options: Any) -> Any:
        for x in (*arguments, *options.values()):
            if isinstance(x, int) and abs(x) > most:
                raise _Refused(f"calls {function.__name__} with {str(x)[:20]}; at most {most} is allowed")
        return function(*arguments, **options)

    return bounded


def _listed(*bounds: int) -> list[int]:
    numbers = range(*bounds)
    _room(numbers[-1] // numbers.step - numbers.start // numbers.step if numbers else 0)
    return list(numbers)


def _sum(values: Sequence[float], start: float = 0) -> float:
    for x in (*values, start):
        if not isinstance(x, (int, float)):
            raise TypeError(f"sum adds numbers, not {x!r}")
    return sum(values, start)


def _product(values: Sequence[float], start: float = 1) -> float:
    for x in values:
        start = _binary(ast.Mult, start, x)
        size(start)
    return start


FUNCTIONS: dict[str, Any] = {
    "bool": bool, "int": int, "float": float, "str": str, "len": len, "abs": abs, "min": min, "max": max, "any": any,
    "all": all, "ord": ord, "repr": repr, "dict": dict, "list": list, "tuple": tuple, "set": set, "divmod": divmod,
    "round": lambda number, ndigits=None: round(number, ndigits and max(-400, min(ndigits, 400))), "range": _listed, "sum": _sum, "sorted": sorted, "map": map, "filter": filter,
    "isinstance": isinstance, "zip": lambda *columns: list(zip(*columns, strict=False)),
    "enumerate": lambda values, start=0: list(enumerate(values, start)), "reversed": lambda values: list(reversed(values)),
}  # fmt: skip
MATH: dict[str, Any] = {
    **{name: value for name, value in vars(math).items() if not name.startswith("_")},
    **{name: _small(getattr(math, name), 1000) for name in ("factorial", "comb", "perm")},
    "prod": _product,
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


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    _room(text.count(old) * len(new))
    return text.replace(old, new, count)


def _join(text: str, parts: Sequence[str]) -> str:
    _room(len(text) * len(parts))
    return text.join(parts)


METHODS: dict[type, dict[str, Function]] = {
    str: {
        **{name: getattr(str, name) for name in (
            "capitalize", "count", "endswith", "find", "index", "isalnum", "isalpha", "isdecimal", "isdigit", "isidentifier",
            "islower", "isnumeric", "isspace", "istitle", "isupper", "lower", "lstrip", "partition", "removeprefix",
            "removesuffix", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip",
            "swapcase", "title", "upper",
        )},
        **{name: _small(getattr(str, name), 1000) for name in ("center", "ljust", "rjust", "zfill")},
        "format": _format, "join": _join, "replace": _replace,
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
    """One expression with its names; a method per kind of node, and no other kinds."""

    def __init__(self, expressions: Expressions, names: MutableMapping[str, Any]) -> None:
        self.expressions, self.names = expressions, names

    def value(self, node: ast.AST) -> Any:
        """The value of a node: plain data, as :func:`size` checks."""
        result = self.reference(node)
        self.expressions.spend(size(result))
        return result

    def reference(self, node: ast.AST) -> Any:
        """What a node stands for: a value, a function or a namespace."""
        self.expressions.spend(1)
        visit = getattr(self, f"_{type(node).__name__}", None)
        if visit is None:
            raise _unknown(type(node).__name__.lower())
        return visit(node)

    # -- names and attributes --------------------------------------------------------------------

    def _Constant(self, node: ast.Constant) -> Any:
        return node.value

    def _Name(self, node: ast.Name) -> Any:
        if node.id.startswith("__"):
            raise _unknown(node.id)
        for place in (self.names, self.expressions.functions):
            if node.id in place:
                return place[node.id]
        raise NameError(f"name '{node.id}' is not defined")

    def _Attribute(self, node: ast.Attribute) -> Any:
        return self.item(self.reference(node.value), node.attr)

    def item(self, owner: Any, name: str) -> Any:
        """What a dictionary or a namespace holds under this name."""
        if name.startswith("_") or type(owner) not in (dict, MappingProxyType, self.expressions.namespace):
            raise _unknown(name)
        if name not in owner:
            raise NameError(f"name '{name}' is not defined")
        return owner[name]

    def _Subscript(self, node: ast.Subscript) -> Any:
        owner = self.reference(node.value)
        if type(owner) not in (str, list, tuple, dict):
            size(owner)  # refuses what is not a value
        if not isinstance(node.slice, ast.Slice):
            return owner[self.value(node.slice)]
        bounds = (node.slice.lower, node.slice.upper, node.slice.step)
        return owner[slice(*(None if x is None else self.value(x) for x in bounds))]

    # -- operators -------------------------------------------------------------------------------

    def _UnaryOp(self, node: ast.UnaryOp) -> Any:
        return OPERATORS[type(node.op)](self.value(node.operand))

    def _BinOp(self, node: ast.BinOp) -> Any:
        if type(node.op) not in OPERATORS:
            raise _unknown(type(node.op).__name__.lower())
        return _binary(type(node.op), self.value(node.left), self.value(node.right))

    def _BoolOp(self, node: ast.BoolOp) -> Any:
        last = None
        for operand in node.values:
            last = self.value(operand)
            if bool(last) is isinstance(node.op, ast.Or):
                break
        return last

    def _Compare(self, node: ast.Compare) -> Any:
        left = self.value(node.left)
        for kind, operand in zip(node.ops, node.comparators, strict=True):
            right = self.value(operand)
            if not OPERATORS[type(kind)](left, right):
                return False
            left = right
        return True

    def _IfExp(self, node: ast.IfExp) -> Any:
        return self.value(node.body if self.value(node.test) else node.orelse)

    # -- lists and loops -------------------------------------------------------------------------

    def _List(self, node: ast.List | ast.Tuple | ast.Set) -> Any:
        return COLLECTED[type(node)](self.spread(node.elts))

    _Tuple = _Set = _List

    def _Dict(self, node: ast.Dict) -> dict[Any, Any]:
        if any(key is None for key in node.keys):
            raise _unknown("**")
        pairs = zip(node.keys, node.values, strict=True)
        return {self.value(key): self.value(x) for key, x in pairs if key is not None}

    def _ListComp(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Any:
        return COLLECTED[type(node)](inner.value(node.elt) for inner in self.loop(node.generators))

    _GeneratorExp = _SetComp = _ListComp

    def _DictComp(self, node: ast.DictComp) -> dict[Any, Any]:
        return {inner.value(node.key): inner.value(node.value) for inner in self.loop(node.generators)}

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

    # -- calls -----------------------------------------------------------------------------------

    def _Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            owner = self.reference(node.func.value)
            method = METHODS.get(type(owner), {}).get(node.func.attr)
            if method is not None:
                return self.result(method, [owner, *self.spread(node.args)], self.options(node))
            function = self.item(owner, node.func.attr)
        else:
            function = self.reference(node.func)
        if not callable(function):
            raise _unknown("()")
        if function in (map, filter):
            return self.mapped(function, node)
        if function is isinstance:
            return self.is_instance(node)
        return self.result(function, self.spread(node.args), self.options(node))

    def result(self, function: Function, arguments: list[Any], options: Mapping[str, Any]) -> Any:
        """The value of a function, refused if it is not plain data."""
        result = function(*arguments, **options)
        self.expressions.spend(size(result))
        return result

    def spread(self, nodes: list[ast.expr]) -> list[Any]:
        """The values of several nodes; those with a star are lists of values."""
        parts = [(x.value, True) if isinstance(x, ast.Starred) else (x, False) for x in nodes]
        return [x for part, many in parts for x in (self.value(part) if many else [self.value(part)])]

    def options(self, node: ast.Call) -> dict[str, Any]:
        """The arguments with names."""
        given = [(option.arg, self.value(option.value)) for option in node.keywords]
        return dict(pair for name, x in given for pair in (x.items() if name is None else [(name, x)]))

    def mapped(self, kind: Any, node: ast.Call) -> list[Any]:
        """What map and filter give, as lists."""
        first, *columns = node.args
        function = self.reference(first)
        if kind is filter and function is None:
            function = bool
        if not callable(function) or function in (map, filter, isinstance) or node.keywords:
            raise _unknown(kind.__name__)
        rows = list(zip(*(self.value(x) for x in columns), strict=False))
        values = [self.result(function, list(row), {}) for row in rows]
        return values if kind is map else [row[0] for row, keep in zip(rows, values, strict=True) if keep]

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
