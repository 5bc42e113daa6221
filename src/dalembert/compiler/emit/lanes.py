"""Vectors in LLVM IR as Python values, so that formulas on W lanes read as they do on paper.

``Lanes`` are W doubles, ``Words`` their bits, ``Mask`` W truth values. A multiplication and an addition may fuse.
Doubles are compared by their bits, because comparing floats would raise a flag for NaN.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from dalembert.compiler.emit.ir import IR


def bits_of(x: float) -> int:
    """The bits of a double, as a signed integer."""
    return int(struct.unpack("<q", struct.pack("<d", x))[0])


def _double_operator(instruction: str, swap: bool = False) -> Callable[[Lanes, Lanes | float], Lanes]:
    def operate(self: Lanes, other: Lanes | float) -> Lanes:
        pair = (self.name, self.beside(other))
        first, second = pair[::-1] if swap else pair
        return Lanes(self.text, self.text.let(f"{instruction} {self.text.vector} {first}, {second}"))

    return operate


def _word_operator(instruction: str) -> Callable[[Words, int], Words]:
    def operate(self: Words, other: int) -> Words:
        text = self.text
        return Words(text, text.let(f"{instruction} {text.integers} {self.name}, {text.integer_splat(other)}"))

    return operate


def _word_comparison(comparison: str) -> Callable[[Words, Words | int], Mask]:
    def compare(self: Words, other: Words | int) -> Mask:
        text = self.text
        name = other.name if isinstance(other, Words) else text.integer_splat(other)
        return Mask(text, text.let(f"icmp {comparison} {text.integers} {self.name}, {name}"))

    return compare


def _mask_operator(instruction: str) -> Callable[[Mask, Mask], Mask]:
    def operate(self: Mask, other: Mask) -> Mask:
        return Mask(self.text, self.text.let(f"{instruction} {self.text.mask} {self.name}, {other.name}"))

    return operate


class _Named:
    """A value in a text."""

    __slots__ = ("name", "text")

    def __init__(self, text: IR, name: str) -> None:
        self.text = text
        self.name = name


class Lanes(_Named):
    """W doubles."""

    __slots__ = ()

    __add__, __radd__ = _double_operator("fadd contract"), _double_operator("fadd contract", swap=True)
    __sub__, __rsub__ = _double_operator("fsub contract"), _double_operator("fsub contract", swap=True)
    __mul__, __rmul__ = _double_operator("fmul contract"), _double_operator("fmul contract", swap=True)
    __truediv__, __rtruediv__ = _double_operator("fdiv"), _double_operator("fdiv", swap=True)

    def __neg__(self) -> Lanes:
        return Lanes(self.text, self.text.let(f"fneg {self.text.vector} {self.name}"))

    def __abs__(self) -> Lanes:
        return self.magnitude().doubles()

    def beside(self, other: Lanes | float) -> str:
        """The name of another vector, or of a constant of the same width."""
        return other.name if isinstance(other, Lanes) else self.text.splat(other)

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
        return self.bits() & (2**63 - 1)

    def polynomial(self, coefficients: tuple[float, ...]) -> Lanes:
        """c₀ + c₁ x + c₂ x² + …, by Horner's rule."""
        *lower, last = coefficients
        value = self * last + lower.pop()
        while lower:
            value = value * self + lower.pop()
        return value


class Words(_Named):
    """W integers of 64 bits."""

    __slots__ = ()

    __add__, __and__, __or__ = _word_operator("add"), _word_operator("and"), _word_operator("or")
    __lshift__, __rshift__ = _word_operator("shl"), _word_operator("lshr")
    above, below, equals = _word_comparison("sgt"), _word_comparison("slt"), _word_comparison("eq")

    def __sub__(self, other: Words) -> Words:
        return Words(self.text, self.text.let(f"sub {self.text.integers} {self.name}, {other.name}"))

    def doubles(self) -> Lanes:
        """The doubles with these bits."""
        return Lanes(self.text, self.text.let(f"bitcast {self.text.integers} {self.name} to {self.text.vector}"))


class Mask(_Named):
    """W truth values."""

    __slots__ = ()

    __and__, __xor__ = _mask_operator("and"), _mask_operator("xor")

    def choose(self, x: Lanes | float, y: Lanes | float) -> Lanes:
        """x in the lanes where this is true, otherwise y."""
        first, second = (v.name if isinstance(v, Lanes) else self.text.splat(v) for v in (x, y))
        return Lanes(self.text, self.text.choice(self.name, first, second))
