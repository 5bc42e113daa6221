"""Vectors in LLVM IR as Python values, so that formulas on W lanes read as they do on paper.

``Lanes`` are W doubles or floats, ``Words`` their bits, ``Mask`` W truth values. A multiplication and an addition may fuse.
Doubles are compared by their bits, because comparing floats would raise a flag for NaN.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from dalembert.compiler.emit.ir import IR


def bits_of(x: float, scalar: str = "double") -> int:
    """The bits of a double or a float, as a signed integer."""
    integer, number = ("<q", "<d") if scalar == "double" else ("<i", "<f")
    return int(struct.unpack(integer, struct.pack(number, x))[0])


def _operator(instruction: str, swap: bool = False, compares: bool = False) -> Callable[[Any, Any], Any]:
    """A method of two operands of one kind, of which the other may be a constant; with ``swap`` it comes first."""

    def operate(self: _Vector, other: Any) -> _Vector:
        pair = (self.name, self.beside(other))
        first, second = pair[::-1] if swap else pair
        name = self.text.let(f"{instruction} {self.kind} {first}, {second}")
        return (Mask if compares else type(self))(self.text, name)

    return operate


class _Vector:
    """A value in a text."""

    __slots__ = ("name", "text")
    kind: str  # the type in LLVM

    def __init__(self, text: IR, name: str) -> None:
        self.text = text
        self.name = name

    def constant(self, value: Any) -> str:
        """A number in all lanes."""
        raise NotImplementedError

    def beside(self, other: Any) -> str:
        """The name of another vector, or of a constant of the same width."""
        return other.name if isinstance(other, _Vector) else self.constant(other)


class Lanes(_Vector):
    """W doubles."""

    __slots__ = ()
    kind = property(lambda self: self.text.vector)

    __add__, __radd__ = _operator("fadd contract"), _operator("fadd contract", swap=True)
    __sub__, __rsub__ = _operator("fsub contract"), _operator("fsub contract", swap=True)
    __mul__, __rmul__ = _operator("fmul contract"), _operator("fmul contract", swap=True)
    __truediv__, __rtruediv__ = _operator("fdiv"), _operator("fdiv", swap=True)
    plus, minus, times = _operator("fadd"), _operator("fsub"), _operator("fmul")  # never fused

    def __neg__(self) -> Lanes:
        return Lanes(self.text, self.text.let(f"fneg {self.text.vector} {self.name}"))

    def __abs__(self) -> Lanes:
        return self.magnitude().doubles()

    def constant(self, value: float) -> str:
        """A number in all lanes."""
        return self.text.splat(value)

    def signed_like(self, other: Lanes) -> Lanes:
        """The same magnitudes with the signs of others."""
        v = self.text.vector
        call = f"call {v} @llvm.copysign.{self.text.suffix}({v} {self.name}, {v} {other.name})"
        return Lanes(self.text, self.text.let(call))

    def sqrt(self) -> Lanes:
        """√x"""
        v = self.text.vector
        return Lanes(self.text, self.text.let(f"call {v} @llvm.sqrt.{self.text.suffix}({v} {self.name})"))

    def bits(self) -> Words:
        """The bits, sign included."""
        return Words(self.text, self.text.let(f"bitcast {self.text.vector} {self.name} to {self.text.integers}"))

    def magnitude(self) -> Words:
        """The bits of |x|, which have the same order as |x|, with infinity and then NaN at the end."""
        return self.bits() & (2 ** (8 * self.text.bytes - 1) - 1)

    def polynomial(self, coefficients: tuple[float, ...]) -> Lanes:
        """c₀ + c₁ x + c₂ x² + …, by Horner's rule."""
        *lower, last = coefficients
        value = self * last + lower.pop()
        while lower:
            value = value * self + lower.pop()
        return value


class Words(_Vector):
    """W integers of 64 bits."""

    __slots__ = ()
    kind = property(lambda self: self.text.integers)

    __add__, __sub__, __and__, __or__, __xor__ = map(_operator, ("add", "sub", "and", "or", "xor"))
    __lshift__, __rshift__ = _operator("shl"), _operator("lshr")
    above, below, equals = (_operator(f"icmp {how}", compares=True) for how in ("sgt", "slt", "eq"))
    above_unsigned = _operator("icmp ugt", compares=True)

    def constant(self, value: int) -> str:
        """A number in all lanes."""
        return self.text.integer_splat(value)

    def odd(self) -> Mask:
        """Whether the lowest bit is set."""
        return Mask(self.text, self.text.let(f"trunc {self.kind} {self.name} to {self.text.mask}"))

    def doubles(self) -> Lanes:
        """The doubles with these bits."""
        return Lanes(self.text, self.text.let(f"bitcast {self.text.integers} {self.name} to {self.text.vector}"))


class Mask(_Vector):
    """W truth values."""

    __slots__ = ()
    kind = property(lambda self: self.text.mask)

    __and__, __or__, __xor__ = _operator("and"), _operator("or"), _operator("xor")

    def choose(self, x: Lanes | float, y: Lanes | float) -> Lanes:
        """x in the lanes where this is true, otherwise y."""
        first, second = (v.name if isinstance(v, Lanes) else self.text.splat(v) for v in (x, y))
        return Lanes(self.text, self.text.choice(self.name, first, second))
