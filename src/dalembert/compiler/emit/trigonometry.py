"""sin and cos as arithmetic on all lanes at once, in doubles or floats, without any library.

The angle is reduced by the nearest multiple n of π/2, subtracted in three steps (Cody and Waite): the first two parts
of π/2 are so short that n times them is exact up to the ``largest`` angle, 10⁶ in doubles and 10⁴ in floats. Sine and
cosine of the remainder, |r| ≤ π/4, are polynomials, which are swapped and signed according to the quadrant. The remainder
is rounded twice, so that errors are below 3 ulp; 2.2 ulp were observed (docs/trust.md).

Larger angles, infinity and NaN take a separate path, lane by lane: :class:`FarSine` multiplies the angle by the
relevant binary digits of 2/π (Payne and Hanek) in 64-bit integers, so that it is accurate for every double on every
machine. Errors are below 1.1 ulp there.
"""

from __future__ import annotations

import itertools
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from dalembert.compiler.emit.ir import IR, Form, exact
from dalembert.compiler.emit.lanes import Lanes, Mask, Words, bits_of


class Reduction(NamedTuple):
    """The constants of sine and cosine in one format."""

    largest: float  # largest angle that is reduced by arithmetic
    pi_half: tuple[float, float, float]
    rounder: float  # adding and subtracting this rounds to an integer, which is then in the low bits
    sine: tuple[float, ...]  # minimax polynomials on [−π/4, π/4]: sin r = r + r³ S(r²), cos r = 1 − r²/2 + r⁴ C(r²)
    cosine: tuple[float, ...]


TWO_OVER_PI = 6.36619772367581382433e-01
REDUCTIONS = {
    "double": Reduction(
        1e6,
        (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21),  # 33 and 33 bits, the rest
        1.5 * 2.0**52,
        (
            -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
            2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
        ),
        (
            4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
            -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
        ),
    ),
    "float": Reduction(
        1e4,
        (1.5703125, 4.837512969970703125e-04, 7.549790126404332e-08),  # 8 and 11 bits, the rest
        1.5 * 2.0**23,
        (-1.66666545732e-01, 8.33215841396e-03, -1.95149581085e-04),
        (4.16666456188e-02, -1.38873130609e-03, 2.44327848744e-05),
    ),
}  # fmt: skip
ROUNDER = REDUCTIONS["double"].rounder

# -- beyond the largest angle ----------------------------------------------------------------------

FAR, ANY = "far_sine", "any_sine"
# the first 1,216 binary digits of 2/π, after two words of zeros
DIGITS = (
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921cfe1deb1cb129a73e"
    "e88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b7"
    "4f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6bab"
)
BEFORE = 64  # zeros before them
PI_HALF = (1.5707963267948966, 6.123233995736766e-17)  # in two doubles
SPLITTER = 2.0**27 + 1.0  # splits a double into two halves (Dekker)


class FarSine(IR):
    """``scalar @far_sine(scalar x, i64 k)``, sin(x + k π/2) for any x beyond the largest angle, and its table.

    With x = m 2ᵉ, the digits of 2/π whose product with m 2ᵉ is a multiple of 4 are omitted, and so are those that are
    too small to matter. The two highest bits of the remaining product are the quadrant, the others the fraction of π/2.
    """

    def __init__(self, scalar: str) -> None:
        super().__init__(Form(1, scalar))
        wide = scalar == "double"
        self.fraction_bits, self.bias = (52, 1023) if wide else (23, 127)
        self.limbs = 6 if wide else 3  # of 32 bits each, in the product

    def count(self, instruction: str, *operands: str | int) -> str:
        """An instruction on 64-bit integers."""
        return self.let(f"{instruction} i64 {', '.join(map(str, operands))}")

    def real(self, instruction: str, *operands: str | float) -> str:
        """An instruction on numbers."""
        written = (x if isinstance(x, str) else exact(x, self.scalar) for x in operands)
        return self.let(f"{instruction} {self.scalar} {', '.join(written)}")

    def from_limb(self, limb: str) -> str:
        """A 64-bit integer below 2³² as a number."""
        return self.let(f"uitofp i32 {self.let(f'trunc i64 {limb} to i32')} to {self.scalar}")

    def written(self) -> list[str]:
        """The table and the function."""
        raw = self.let(f"bitcast {self.scalar} %x to {self.word}")
        bits = raw if self.word == "i64" else self.let(f"sext i32 {raw} to i64")
        product = self.product(bits)
        # beyond half a quadrant, the fraction is measured from the next one and negative
        half = self.count("and", self.count("lshr", product[0], 29), 1)
        flip = self.count("and", self.count("sub", 0, half), 2**32 - 1)
        limbs = [self.count("xor", limb, flip) for limb in product]
        limbs[0] = self.count("and", limbs[0], 2**30 - 1)
        r, tail = self.in_doubles_twice(limbs) if self.scalar == "double" else (self.in_float(limbs), None)
        # a negative angle has the negative remainder in the negative quadrant; π/2 is added last
        negative = self.count("lshr", bits, 63)
        minus = self.let(f"trunc i64 {self.count('xor', negative, half)} to i1")
        quadrant = self.count("add", self.count("lshr", product[0], 30), half)
        opposite = self.let(f"trunc i64 {negative} to i1")
        turned = self.let(f"select i1 {opposite}, i64 {self.count('sub', 0, quadrant)}, i64 {quadrant}")
        turned = self.count("add", turned, "%quarters")
        if self.word == "i32":
            turned = self.let(f"trunc i64 {turned} to i32")
        parts = []
        for x in (r, tail):
            if x is not None:
                part = self.let(f"select i1 {minus}, {self.scalar} {self.real('fneg', x)}, {self.scalar} {x}")
                parts.append(Lanes(self, self.let(f"bitcast {self.scalar} {part} to {self.vector}")))
        sine, _ = _in_quadrant(Words(self, self.let(f"bitcast {self.word} {turned} to {self.integers}")), *parts)
        nothing = self.real("fsub", "%x", "%x")  # NaN if the angle is infinite or NaN
        result = self.real("fadd", self.let(f"bitcast {self.vector} {sine.name} to {self.scalar}"), nothing)
        words = [0] * (BEFORE // 32) + [int(DIGITS[k : k + 8], 16) for k in range(0, len(DIGITS), 8)]
        table = ", ".join(f"i32 {x}" for x in words)
        digits = f"@two_over_pi = internal unnamed_addr constant [{len(words)} x i32] [{table}], align 4"
        return [digits, *_function(self, FAR, result)]

    def product(self, bits: str) -> list[str]:
        """The limbs of m times the relevant digits of 2/π, highest first."""
        size = self.fraction_bits
        exponent = self.count("and", self.count("lshr", bits, size), 2 * self.bias + 1)
        mantissa = self.count("or", self.count("and", bits, 2**size - 1), 2**size)
        first = self.count("sub", exponent, self.bias + size + 2 - BEFORE)  # digit of the table
        word, shift = self.count("lshr", first, 5), self.count("and", first, 31)
        given = []
        for k in range(self.limbs + 1):
            at = self.let(f"getelementptr i32, ptr @two_over_pi, i64 {self.count('add', word, k)}")
            given.append(self.let(f"zext i32 {self.let(f'load i32, ptr {at}, align 4')} to i64"))
        digits = [
            self.count("lshr", self.count("shl", self.count("or", self.count("shl", a, 32), b), shift), 32)
            for a, b in itertools.pairwise(given)
        ]
        low, high = self.count("and", mantissa, 2**32 - 1), self.count("lshr", mantissa, 32)
        limbs: list[str] = []
        carry, below = "0", "0"
        for digit in reversed(digits):
            lower = self.count("add", self.count("mul", digit, low), carry)
            upper = self.count("add", self.count("mul", below, high), self.count("and", lower, 2**32 - 1))
            limbs.append(self.count("and", upper, 2**32 - 1))
            carry = self.count("add", self.count("lshr", lower, 32), self.count("lshr", upper, 32))
            below = digit
        return limbs[::-1]

    def in_doubles_twice(self, limbs: list[str]) -> tuple[str, str]:
        """The fraction of π/2 given by the limbs, as an angle in two doubles."""
        real = self.real
        total, lost = real("fmul", self.from_limb(limbs[0]), 2.0**-30), exact(0.0)
        for k, limb in enumerate(limbs[1:-1], 1):
            x = real("fmul", self.from_limb(limb), 2.0 ** (-30 - 32 * k))
            more = real("fadd", total, x)
            lost = real("fadd", lost, real("fsub", x, real("fsub", more, total)))
            total = more
        # the exact product with π/2 (Dekker), which also works on machines without fused multiply–add
        a, b = PI_HALF
        a_high = a * SPLITTER - (a * SPLITTER - a)
        stretched = real("fmul", total, SPLITTER)
        t_high = real("fsub", stretched, real("fsub", stretched, total))
        t_low = real("fsub", total, t_high)
        p = real("fmul", total, a)
        rest = real("fsub", real("fmul", t_high, a_high), p)
        for x, y in ((t_high, a - a_high), (t_low, a_high), (t_low, a - a_high), (total, b), (lost, a)):
            rest = real("fadd", rest, real("fmul", x, y))
        r = real("fadd", p, rest)
        return r, real("fsub", rest, real("fsub", r, p))

    def in_float(self, limbs: list[str]) -> str:
        """The angle in one float, by integers: its first 32 digits times those of π/2."""
        shifted = [self.count(*x) for x in (("shl", limbs[0], 34), ("shl", limbs[1], 2), ("lshr", limbs[2], 30))]
        fraction = self.count("or", self.count("or", shifted[0], shifted[1]), shifted[2])
        zeros = self.let(f"call i64 @llvm.ctlz.i64(i64 {fraction}, i1 false)")
        leading = self.count("lshr", self.count("shl", fraction, zeros), 32)
        angle = self.from_limb(self.count("lshr", self.count("mul", leading, round(PI_HALF[0] * 2**31)), 32))
        exponent = self.let(f"trunc i64 {self.count('shl', self.count('sub', 127 - 31, zeros), 23)} to i32")
        return self.real("fmul", angle, self.let(f"bitcast i32 {exponent} to float"))


# -- all lanes ---------------------------------------------------------------------------------------


def sincos(text: IR, angles: list[str], label: str) -> list[tuple[str, str]]:
    """(sin, cos) of every angle; one branch for all of them leads to the slow path."""
    return (_watched if text.form.flags else _unwatched)(text, [Lanes(text, angle) for angle in angles], label)


def _watched(text: IR, angles: list[Lanes], label: str) -> list[tuple[str, str]]:
    """If flags matter: both paths are taken if some angle is large, and their results are blended."""
    # by their bits, with NaN beyond the largest: comparing floats would raise a flag for it
    largest = bits_of(REDUCTIONS[text.scalar].largest, text.scalar)
    far = [x.magnitude().above_unsigned(largest) for x in angles]
    # lanes with large angles are computed with 0, so that they do not raise floating-point flags
    results = [_fast(mask.choose(0.0, x)) for x, mask in zip(angles, far, strict=True)]
    some = text.anywhere(reduce(or_, far).name)
    before, slow, after = f"{label}_fast", f"{label}_slow", f"{label}_after"
    # name the block we are in, for the phis below
    text.go(before)
    text.branch(some, slow, after, hint=", !prof !0")
    # only for the lanes that need it: a state's result must not depend on its neighbours in the block
    careful, another = [], 2.0 * REDUCTIONS[text.scalar].largest
    for x, mask, (sine, cosine) in zip(angles, far, results, strict=True):
        exact_sine, exact_cosine = _careful(mask.choose(x, another))
        careful.append((mask.choose(exact_sine, sine), mask.choose(exact_cosine, cosine)))
    text.go(after)
    return _merged(text, (before, results), (slow, careful))


def _unwatched(text: IR, angles: list[Lanes], label: str) -> list[tuple[str, str]]:
    """If flags do not matter: one path or the other, the fast one for all angles, so that constants are loaded once."""
    distances = [_distance(text, x.name) for x in angles]
    kind = f"<{text.width} x {_distance_word(text)}>"
    least = reduce(lambda union, x: text.let(f"or {kind} {union}, {x}"), distances)  # negative if one of them is
    some = text.anywhere(text.let(f"icmp slt {kind} {least}, zeroinitializer"))
    fast, slow, after = f"{label}_fast", f"{label}_slow", f"{label}_after"
    text.branch(some, slow, fast, fast, hint=", !prof !0")
    start, strands, near = len(text.lines), [], []
    for x in angles:
        near.append(_fast(x))
        strands.append(text.lines[start:])
        del text.lines[start:]
    text.lines += [line for together in zip(*strands, strict=True) for line in together]
    text.go(after, slow)
    careful = [_careful(x, ANY) for x in angles]
    text.go(after)
    return _merged(text, (fast, near), (slow, careful))


def _merged(text: IR, *blocks: tuple[str, list[tuple[Lanes, Lanes]]]) -> list[tuple[str, str]]:
    """(sin, cos) of every angle, from the block that was taken: its label, and the values there."""
    (fast, near), (slow, careful) = blocks

    def merged(quick: Lanes, exact: Lanes) -> str:
        return text.let(f"phi {text.vector} [ {quick.name}, %{fast} ], [ {exact.name}, %{slow} ]")

    return [(merged(s, es), merged(c, ec)) for (s, c), (es, ec) in zip(near, careful, strict=True)]


def _distance_word(text: IR) -> str:
    """The type in which angles are compared; for a single double, its upper half is enough."""
    return "i32" if text.width == 1 else text.word


def _distance(text: IR, x: str) -> str:
    """An integer that is negative if |x| is at least the largest angle, or NaN."""
    i, kind, size = text.integers, f"<{text.width} x {_distance_word(text)}>", 8 * text.bytes
    raw = text.let(f"bitcast {text.vector} {x} to {i}")
    largest = bits_of(REDUCTIONS[text.scalar].largest, text.scalar)
    if kind != i:
        raw = text.let(f"trunc {i} {text.let(f'lshr {i} {raw}, {text.integer_splat(32)}')} to {kind}")
        largest, size = largest >> 32, 32
    word = _distance_word(text)
    masks, bounds = (f"<{', '.join([f'{word} {value}'] * text.width)}>" for value in (2 ** (size - 1) - 1, largest - 1))
    return text.let(f"sub {kind} {bounds}, {text.let(f'and {kind} {raw}, {masks}')}")


def any_function(scalar: str) -> list[str]:
    """``scalar @any_sine(scalar x, i64 k)``, sin(x + k π/2) for any x, with k = 0 or 1."""
    text = IR(Form(1, scalar, flags=False))
    vector = text.let(f"bitcast {scalar} %x to {text.vector}")
    far = text.anywhere(text.let(f"icmp slt <1 x i32> {_distance(text, vector)}, zeroinitializer"))
    text.branch(far, "far", "near")
    text.say(f"ret {scalar} {text.let(f'call {scalar} @{FAR}({scalar} %x, i64 %quarters)')}")
    text.label("near")
    sine, cosine = _fast(Lanes(text, vector))
    either = Mask(text, text.let("bitcast i1 %first to <1 x i1>")).choose(sine, cosine)
    result = text.let(f"bitcast {text.vector} {either.name} to {scalar}")
    return _function(text, ANY, result, "  %first = icmp eq i64 %quarters, 0")


def _function(text: IR, name: str, result: str, *first: str) -> list[str]:
    """The lines as a function of an angle and a number of quarter turns."""
    head = f"define internal {text.scalar} @{name}({text.scalar} %x, i64 %quarters) noinline cold nounwind {{"
    return [head, "entry:", *first, *text.lines, f"  ret {text.scalar} {result}", "}"]


def _polynomial(z: Lanes, coefficients: tuple[float, ...]) -> Any:
    *lower, value = coefficients
    for c in reversed(lower):
        value = value * z + c
    return value


def _fast(x: Lanes) -> tuple[Lanes, Lanes]:
    known = REDUCTIONS[x.text.scalar]
    shifted = x.times(TWO_OVER_PI).plus(known.rounder)
    n, quadrant, r = shifted.minus(known.rounder), shifted.bits(), x
    for part in known.pi_half:
        r = r - n * part
    return _in_quadrant(quadrant, r)


def _in_quadrant(quadrant: Words, r: Lanes, tail: Lanes | None = None) -> tuple[Lanes, Lanes]:
    """sin and cos of quadrant · π/2 + r + tail, |r| ≤ π/4, where the tail is below the last digit of r."""
    known = REDUCTIONS[r.text.scalar]
    z = r.times(r)
    small = r.times(z) * _polynomial(z, known.sine)
    falling = _polynomial(z, (1.0, -0.5, *known.cosine))
    if tail is None:
        s, c = small + r, falling
    else:  # sin(r + t) = sin r + t cos r, cos(r + t) = cos r − t sin r
        s = small.plus(tail.times(falling)).plus(r)
        c = falling.minus(tail.times(r))
    odd = quadrant.odd()
    sine, cosine, following = odd.choose(c, s), odd.choose(s, c), quadrant + 1
    return _signed(sine, quadrant), _signed(cosine, following)


def _signed(x: Lanes, quadrant: Words) -> Lanes:
    """−x in the quadrants 2 and 3: bit 1 of the quadrant becomes the sign."""
    size = 8 * x.text.bytes
    if x.text.width == 1 and not x.text.form.flags:  # the bits of a single number would be in another register class
        return (quadrant >> 1).odd().choose(-x, x)
    sign = (quadrant << (size - 2)) & -(2 ** (size - 1))
    return (x.bits() ^ sign).doubles()


def _careful(x: Lanes, function: str = FAR) -> tuple[Lanes, Lanes]:
    text, v, scalar = x.text, x.text.vector, x.text.scalar
    vectors = ["poison", "poison"]
    for lane in range(text.width):
        angle = text.let(f"extractelement {v} {x.name}, i32 {lane}")
        for quarters, vector in enumerate(vectors):
            value = text.let(f"call {scalar} @{function}({scalar} {angle}, i64 {quarters})")
            vectors[quarters] = text.let(f"insertelement {v} {vector}, {scalar} {value}, i32 {lane}")
    return Lanes(text, vectors[0]), Lanes(text, vectors[1])
