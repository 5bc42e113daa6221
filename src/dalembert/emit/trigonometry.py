"""sin and cos as arithmetic on all lanes at once.

The angle is reduced by the nearest multiple n of π/2, subtracted in three steps (Cody and Waite):
the first two parts of π/2 have 33 bits, so that n times them is exact while n < 2²⁰, that is
|x| ≤ 10⁶. Sine and cosine of the rest, |r| ≤ π/4, are polynomials; the quadrant swaps and signs
them. Angles beyond 10⁶, infinity and NaN take the C library's functions, lane by lane, on a
path of their own.
"""

from __future__ import annotations

import struct
from functools import reduce

from dalembert.emit.ir import IR

LARGEST = 1e6
TWO_OVER_PI = 6.36619772367581382433e-01
PI_HALF = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
# adding and subtracting this rounds to a whole number, which is then in the low bits
ROUNDER = 6755399441055744.0  # 1.5 · 2⁵²

# minimax polynomials on [−π/4, π/4]: sin r = r + r³ S(r²), cos r = 1 − r²/2 + r⁴ C(r²)
SINE = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
COSINE = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip


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
    careful = []
    for x, mask, (sine, cosine) in zip(angles, far, results, strict=True):
        exact_sine, exact_cosine = _careful(text, x)
        careful.append((text.choice(mask, exact_sine, sine), text.choice(mask, exact_cosine, cosine)))
    text.say(f"br label %{after}")
    text.label(after)

    def merged(fast: str, exact: str) -> str:
        return text.let(f"phi {text.vector} [ {fast}, %{before} ], [ {exact}, %{slow} ]")

    return [(merged(s, es), merged(c, ec)) for (s, c), (es, ec) in zip(results, careful, strict=True)]


def _is_far(text: IR, x: str) -> str:
    """|x| > 10⁶ or NaN, by comparing bits: comparing floats would raise a flag for NaN."""
    i = text.integers
    raw = text.let(f"bitcast {text.vector} {x} to {i}")
    magnitude = text.let(f"and {i} {raw}, {text.integer_splat(2**63 - 1)}")
    (largest,) = struct.unpack("<q", struct.pack("<d", LARGEST))
    return text.let(f"icmp ugt {i} {magnitude}, {text.integer_splat(largest)}")


def _polynomial(text: IR, z: str, coefficients: tuple[float, ...]) -> str:
    v = text.vector
    p = text.splat(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        p = text.let(f"fadd contract {v} {text.let(f'fmul contract {v} {p}, {z}')}, {text.splat(c)}")
    return p


def _fast(text: IR, x: str) -> tuple[str, str]:
    v, i = text.vector, text.integers
    shifted = text.let(f"fadd {v} {text.let(f'fmul {v} {x}, {text.splat(TWO_OVER_PI)}')}, {text.splat(ROUNDER)}")
    n = text.let(f"fsub {v} {shifted}, {text.splat(ROUNDER)}")
    quadrant = text.let(f"bitcast {v} {shifted} to {i}")
    r = x
    for part in PI_HALF:
        r = text.let(f"fsub contract {v} {r}, {text.let(f'fmul contract {v} {n}, {text.splat(part)}')}")
    z = text.let(f"fmul {v} {r}, {r}")
    cube = text.let(f"fmul {v} {r}, {z}")
    s = text.let(f"fadd contract {v} {text.let(f'fmul contract {v} {cube}, {_polynomial(text, z, SINE)}')}, {r}")
    quartic = text.let(f"fmul contract {v} {text.let(f'fmul {v} {z}, {z}')}, {_polynomial(text, z, COSINE)}")
    half = text.let(f"fmul {v} {z}, {text.splat(0.5)}")
    near = text.let(f"fsub {v} {text.splat(1.0)}, {half}")
    # what rounding took from 1 − z/2 goes back into the small term
    lost = text.let(f"fsub {v} {text.let(f'fsub {v} {text.splat(1.0)}, {near}')}, {half}")
    c = text.let(f"fadd {v} {near}, {text.let(f'fadd {v} {quartic}, {lost}')}")
    odd = text.let(f"trunc {i} {quadrant} to {text.mask}")
    sine, cosine = text.choice(odd, c, s), text.choice(odd, s, c)
    next_quadrant = text.let(f"add {i} {quadrant}, {text.integer_splat(1)}")
    return _signed(text, sine, quadrant), _signed(text, cosine, next_quadrant)


def _signed(text: IR, x: str, quadrant: str) -> str:
    """−x in the quadrants 2 and 3: bit 1 of the quadrant becomes the sign."""
    v, i = text.vector, text.integers
    moved = text.let(f"shl {i} {quadrant}, {text.integer_splat(62)}")
    bit = text.let(f"and {i} {moved}, {text.integer_splat(-(2**63))}")
    raw = text.let(f"bitcast {v} {x} to {i}")
    return text.let(f"bitcast {i} {text.let(f'xor {i} {raw}, {bit}')} to {v}")


def _careful(text: IR, x: str) -> tuple[str, str]:
    v = text.vector
    vectors = {"sin": "poison", "cos": "poison"}
    for lane in range(text.width):
        angle = text.let(f"extractelement {v} {x}, i32 {lane}")
        for name, vector in vectors.items():
            value = text.let(f"call double @dalembert_{name}(double {angle})")
            vectors[name] = text.let(f"insertelement {v} {vector}, double {value}, i32 {lane}")
    return vectors["sin"], vectors["cos"]
