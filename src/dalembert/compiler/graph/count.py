"""The cost of a tape: its operation count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dalembert.compiler.graph.passes import live_lines
from dalembert.compiler.graph.tape import Graph


@dataclass(frozen=True)
class Operations:
    """Operation counts. Negations cost nothing on real machines and are not counted."""

    multiplications: int = 0
    additions: int = 0
    divisions: int = 0
    square_roots: int = 0
    sines: int = 0
    cosines: int = 0
    functions: int = 0  # exp, log, tanh, atan2, asin, acos

    def __repr__(self) -> str:
        counted = ", ".join(f"{name}={number}" for name, number in vars(self).items() if number)
        return f"Operations({counted})"

    @property
    def total(self) -> int:
        """Multiplications plus additions, as the literature compares models."""
        return self.multiplications + self.additions


FIELD = {
    "mul": "multiplications",
    "add": "additions",
    "sub": "additions",
    "div": "divisions",
    "sqrt": "square_roots",
    "sin": "sines",
    "cos": "cosines",
    **dict.fromkeys(("exp", "log", "tanh", "atan2", "asin", "acos"), "functions"),
}


def count(graph: Graph) -> Operations:
    """The operations that the outputs need."""
    live = (op for (op, _), needed in zip(graph.nodes, live_lines(graph), strict=True) if needed)
    return Operations(**Counter(FIELD[op] for op in live if op in FIELD))


def _counting(field: str) -> Callable[..., Counted]:
    """A method that counts one operation."""
    return lambda self, *_: self._did(field)


class Counted:
    """A scalar without a value that counts the operations applied to it: the cost of formulas as written.

    Nothing is shared or simplified: multiplying by 0 or 1 counts like any other multiplication.
    """

    __slots__ = ("count",)

    def __init__(self, count: Callable[[str], None]) -> None:
        self.count = count  # called with the field of Operations

    def _did(self, field: str) -> Counted:
        self.count(field)
        return self

    def __add__(self, other: object) -> Counted:
        return self._did("additions")

    def __mul__(self, other: object) -> Counted:
        if isinstance(other, tuple):  # a vector multiplies itself entry by entry
            return NotImplemented
        return self._did("multiplications")

    def __truediv__(self, other: object) -> Counted:
        return self._did("divisions")

    __radd__ = __sub__ = __rsub__ = __add__
    __rmul__ = __mul__
    __rtruediv__ = __truediv__

    def __neg__(self) -> Counted:
        return self

    sin, cos, sqrt = map(_counting, ("sines", "cosines", "square_roots"))
    exp = log = tanh = atan2 = ratan2 = asin = acos = _counting("functions")

    def _free(self, *_: object) -> Counted:
        """A sign, a comparison or a choice is not an operation of the literature's counts."""
        return self

    sign = less = select = _free


class Nontrivial(Counted):
    """A scalar that does not count trivial operations: multiplying by 0, 1 or −1, and adding 0.

    Nothing is shared: an expression that is written twice counts twice.
    """

    __slots__ = ()

    def __add__(self, other: object) -> Counted:
        return self if _is(other, 0.0) else super().__add__(other)

    def __mul__(self, other: object) -> Any:
        if _is(other, 0.0):
            return 0.0
        return self if _is(other, 1.0, -1.0) else super().__mul__(other)

    __radd__ = __sub__ = __rsub__ = __add__
    __rmul__ = __mul__


def _is(other: object, *numbers: float) -> bool:
    return isinstance(other, float) and other in numbers
