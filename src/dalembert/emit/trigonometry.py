"""sin and cos as arithmetic on all lanes at once, in doubles or floats, without any library.

The angle is reduced by the nearest multiple n of π/2, subtracted in three steps (Cody and Waite): the first two parts of
π/2 are so short that n times them is exact up to the ``largest`` angle, 10⁶ in doubles and 10⁴ in floats. Sine and cosine
of the rest, |r| ≤ π/4, are polynomials; the quadrant swaps and signs them.

Larger angles, infinity and NaN take a path of their own, lane by lane: :func:`far_function` multiplies the angle by as many
of the binary digits of 2/π as matter for it (Payne and Hanek), in integers of 64 bits, so that it is right for every
double on every machine. Errors are below 1 ulp there as well.
"""

from __future__ import annotations

import struct
from functools import reduce
from typing import NamedTuple

from dalembert.emit.ir import IR, Form, exact


class Reduction(NamedTuple):
    """The numbers of sine and cosine in one format."""

    largest: float  # angle that is reduced by arithmetic
    pi_half: tuple[float, float, float]
    rounder: float  # adding and subtracting this rounds to a whole number, which is then in the low bits
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

FAR = "far_sincos"
# the first 1,216 binary digits of 2/π, after two words of zeros
DIGITS = (
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921cfe1deb1cb129a73e"
    "e88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b7"
    "4f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6bab"
)
PI_HALF_EXACTLY = (1.5707963267948966, 6.123233995736766e-17)  # in two doubles
SPLITTER = 2.0**27 + 1.0
LIMBS = 6  # of 32 bits each: of the product, 2 bits tell the quadrant and 190 the rest


def far_function() -> list[str]:
    """``{ double, double } @far_sincos(double)`` and its table: sine and cosine of any double beyond the largest.

    With x = m 2ᵉ, digits of 2/π whose product with m 2ᵉ is a multiple of 4 are left out, and so are those beyond 192: the
    two highest bits of the remaining product are the quadrant, the others the fraction of π/2.
    """
    words = [0, 0, *(int(DIGITS[k : k + 8], 16) for k in range(0, len(DIGITS), 8))]
    text = IR(Form(1))
    let = text.let

    def number(instruction: str, *operands: str | int) -> str:
        return let(f"{instruction} i64 {', '.join(map(str, operands))}")

    def real(instruction: str, *operands: str | float) -> str:
        return let(f"{instruction} double {', '.join(x if isinstance(x, str) else exact(x) for x in operands)}")

    bits = let("bitcast double %x to i64")
    exponent = number("and", number("lshr", bits, 52), 2047)
    mantissa = number("or", number("and", bits, 2**52 - 1), 2**52)
    first = number("sub", exponent, 1023 + 52 + 2 - 64)  # digit of the table
    word, shift = number("lshr", first, 5), number("and", first, 31)
    given = []
    for k in range(LIMBS + 1):
        at = let(f"getelementptr i32, ptr @two_over_pi, i64 {number('add', word, k)}")
        given.append(let(f"zext i32 {let(f'load i32, ptr {at}, align 4')} to i64"))
    digits = [
        number("lshr", number("shl", number("or", number("shl", a, 32), b), shift), 32)
        for a, b in zip(given, given[1:], strict=False)
    ]
    low, high = number("and", mantissa, 2**32 - 1), number("lshr", mantissa, 32)
    product: list[str] = []  # limbs, the lowest first
    carry, below = "0", "0"
    for digit in reversed(digits):
        lower = number("add", number("mul", digit, low), carry)
        upper = number("add", number("mul", below, high), number("and", lower, 2**32 - 1))
        product.append(number("and", upper, 2**32 - 1))
        carry, below = number("add", number("lshr", lower, 32), number("lshr", upper, 32)), digit
    product.reverse()
    # beyond half a quadrant the fraction is that to the next one, negative
    half = number("and", number("lshr", product[0], 29), 1)
    quadrant = number("add", number("lshr", product[0], 30), half)
    flip = number("sub", 0, half)
    limbs = [number("xor", limb, number("and", flip, 2**32 - 1)) for limb in product]
    limbs[0] = number("and", limbs[0], 2**30 - 1)
    # the sum of the limbs in two doubles
    total, lost = real("fmul", let(f"uitofp i64 {limbs[0]} to double"), 2.0**-30), exact(0.0)
    for k, limb in enumerate(limbs[1:-1], 1):
        x = real("fmul", let(f"uitofp i64 {limb} to double"), 2.0 ** (-30 - 32 * k))
        more = real("fadd", total, x)
        lost = real("fadd", lost, real("fsub", x, real("fsub", more, total)))
        total = more
    # times π/2 in two doubles (Dekker): machines without a fused multiplication and addition have this too
    a, b = PI_HALF_EXACTLY
    a_high = a * SPLITTER - (a * SPLITTER - a)
    a_low = a - a_high
    stretched = real("fmul", total, SPLITTER)
    t_high = real("fsub", stretched, real("fsub", stretched, total))
    t_low = real("fsub", total, t_high)
    p = real("fmul", total, a)
    rest = real("fsub", real("fmul", t_high, a_high), p)
    for x, y in ((t_high, a_low), (t_low, a_high), (t_low, a_low), (total, b), (lost, a)):
        rest = real("fadd", rest, real("fmul", x, y))
    r = real("fadd", p, rest)
    tail = real("fsub", rest, real("fsub", r, p))
    # the sign of the angle, and of what the half made negative
    sign = number("xor", number("and", bits, -(2**63)), number("shl", half, 63))

    def signed(x: str) -> str:
        return let(f"bitcast i64 {number('xor', let(f'bitcast double {x} to i64'), sign)} to double")

    turned = number("xor", quadrant, number("ashr", bits, 63))
    quadrant = number("sub", turned, number("ashr", bits, 63))  # −quadrant where the angle is negative
    vectors = [let(f"bitcast double {signed(x)} to <1 x double>") for x in (r, tail)]
    pair = _in_quadrant(text, vectors[0], let(f"bitcast i64 {quadrant} to <1 x i64>"), vectors[1])
    nothing = real("fsub", "%x", "%x")  # NaN where the angle is infinite or NaN
    result = "poison"
    for k, x in enumerate(pair):
        value = real("fadd", let(f"bitcast <1 x double> {x} to double"), nothing)
        result = let(f"insertvalue {{ double, double }} {result}, double {value}, {k}")
    table = ", ".join(f"i32 {x}" for x in words)
    return [
        f"@two_over_pi = internal unnamed_addr constant [{len(words)} x i32] [{table}], align 4",
        f"define internal {{ double, double }} @{FAR}(double %x) noinline cold nounwind {{",
        "entry:",
        *text.lines,
        f"  ret {{ double, double }} {result}",
        "}",
    ]


# -- all lanes ---------------------------------------------------------------------------------------


def sincos(text: IR, angles: list[str], label: str) -> list[tuple[str, str]]:
    """(sin, cos) of every angle; one branch for all of them leads to the slow path."""
    far = [_is_far(text, x) for x in angles]
    # far lanes run along with 0, lest their garbage raise floating-point flags
    zero = text.splat(0.0)
    results = [_fast(text, text.choice(mask, zero, x)) for x, mask in zip(angles, far, strict=True)]
    some = text.anywhere(reduce(lambda union, mask: text.let(f"or {text.mask} {union}, {mask}"), far))
    before, slow, after = f"{label}_fast", f"{label}_slow", f"{label}_after"
    # name the block we are in, for the phis below
    text.say(f"br label %{before}")
    text.label(before)
    text.say(f"br i1 {some}, label %{slow}, label %{after}, !prof !0")
    text.label(slow)
    # only the lanes that need it: a state's result must not depend on its neighbours in the block
    careful, another = [], text.splat(2.0 * REDUCTIONS[text.scalar].largest)
    for x, mask, (sine, cosine) in zip(angles, far, results, strict=True):
        exact_sine, exact_cosine = _careful(text, text.choice(mask, x, another))
        careful.append((text.choice(mask, exact_sine, sine), text.choice(mask, exact_cosine, cosine)))
    text.say(f"br label %{after}")
    text.label(after)

    def merged(fast: str, exact: str) -> str:
        return text.let(f"phi {text.vector} [ {fast}, %{before} ], [ {exact}, %{slow} ]")

    return [(merged(s, es), merged(c, ec)) for (s, c), (es, ec) in zip(results, careful, strict=True)]


def _is_far(text: IR, x: str) -> str:
    """|x| beyond the largest angle or NaN, by comparing bits: comparing floats would raise a flag for NaN."""
    i, size = text.integers, 8 * text.bytes
    raw = text.let(f"bitcast {text.vector} {x} to {i}")
    magnitude = text.let(f"and {i} {raw}, {text.integer_splat(2 ** (size - 1) - 1)}")
    form = "<qd" if text.scalar == "double" else "<if"
    (largest,) = struct.unpack(form[:2], struct.pack("<" + form[2], REDUCTIONS[text.scalar].largest))
    return text.let(f"icmp ugt {i} {magnitude}, {text.integer_splat(largest)}")


def _polynomial(text: IR, z: str, coefficients: tuple[float, ...]) -> str:
    v = text.vector
    p = text.splat(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        p = text.let(f"fadd contract {v} {text.let(f'fmul contract {v} {p}, {z}')}, {text.splat(c)}")
    return p


def _fast(text: IR, x: str) -> tuple[str, str]:
    v, i, known = text.vector, text.integers, REDUCTIONS[text.scalar]
    rounder = text.splat(known.rounder)
    shifted = text.let(f"fadd {v} {text.let(f'fmul {v} {x}, {text.splat(TWO_OVER_PI)}')}, {rounder}")
    n = text.let(f"fsub {v} {shifted}, {rounder}")
    quadrant = text.let(f"bitcast {v} {shifted} to {i}")
    r = x
    for part in known.pi_half:
        r = text.let(f"fsub contract {v} {r}, {text.let(f'fmul contract {v} {n}, {text.splat(part)}')}")
    return _in_quadrant(text, r, quadrant)


def _in_quadrant(text: IR, r: str, quadrant: str, tail: str | None = None) -> tuple[str, str]:
    """sin and cos of quadrant · π/2 + r + tail, |r| ≤ π/4, where the tail is below the last digit of r."""
    v, i, known = text.vector, text.integers, REDUCTIONS[text.scalar]
    z = text.let(f"fmul {v} {r}, {r}")
    cube = text.let(f"fmul {v} {r}, {z}")
    small = text.let(f"fmul contract {v} {cube}, {_polynomial(text, z, known.sine)}")
    quartic = text.let(f"fmul contract {v} {text.let(f'fmul {v} {z}, {z}')}, {_polynomial(text, z, known.cosine)}")
    half = text.let(f"fmul {v} {z}, {text.splat(0.5)}")
    near = text.let(f"fsub {v} {text.splat(1.0)}, {half}")
    # what rounding took from 1 − z/2 goes back into the small term
    lost = text.let(f"fsub {v} {text.let(f'fsub {v} {text.splat(1.0)}, {near}')}, {half}")
    if tail is not None:  # sin(r + t) = sin r + t cos r, cos(r + t) = cos r − t sin r
        small = text.let(f"fadd {v} {small}, {text.let(f'fmul {v} {tail}, {near}')}")
        lost = text.let(f"fsub {v} {lost}, {text.let(f'fmul {v} {tail}, {r}')}")
    s = text.let(f"fadd contract {v} {small}, {r}")
    c = text.let(f"fadd {v} {near}, {text.let(f'fadd {v} {quartic}, {lost}')}")
    odd = text.let(f"trunc {i} {quadrant} to {text.mask}")
    sine, cosine = text.choice(odd, c, s), text.choice(odd, s, c)
    next_quadrant = text.let(f"add {i} {quadrant}, {text.integer_splat(1)}")
    return _signed(text, sine, quadrant), _signed(text, cosine, next_quadrant)


def _signed(text: IR, x: str, quadrant: str) -> str:
    """−x in the quadrants 2 and 3: bit 1 of the quadrant becomes the sign."""
    v, i, size = text.vector, text.integers, 8 * text.bytes
    moved = text.let(f"shl {i} {quadrant}, {text.integer_splat(size - 2)}")
    bit = text.let(f"and {i} {moved}, {text.integer_splat(-(2 ** (size - 1)))}")
    raw = text.let(f"bitcast {v} {x} to {i}")
    return text.let(f"bitcast {i} {text.let(f'xor {i} {raw}, {bit}')} to {v}")


def _careful(text: IR, x: str) -> tuple[str, str]:
    v = text.vector
    vectors = ["poison", "poison"]
    for lane in range(text.width):
        angle = text.let(f"extractelement {v} {x}, i32 {lane}")
        if text.scalar == "float":
            angle = text.let(f"fpext float {angle} to double")
        pair = text.let(f"call {{ double, double }} @{FAR}(double {angle})")
        for k, vector in enumerate(vectors):
            value = text.let(f"extractvalue {{ double, double }} {pair}, {k}")
            if text.scalar == "float":
                value = text.let(f"fptrunc double {value} to float")
            vectors[k] = text.let(f"insertelement {v} {vector}, {text.scalar} {value}, i32 {lane}")
    return vectors[0], vectors[1]
