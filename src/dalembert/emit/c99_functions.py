"""sin, cos, sqrt, exp, log, tanh, atan2, asin and acos in C, for machines without a C library: within 2 ulp everywhere.

Double and single precision share one text: they differ in widths, coefficients and constants, which are rows of
``KINDS``. Those of doubles are the polynomials of :mod:`trigonometry` and :mod:`elementary`; those of floats are
minimax polynomials (Remez) of lower degree. Angles beyond ``largest`` are reduced with as many bits of 2/π as necessary
(Payne and Hanek), so that sine and cosine are accurate for every finite argument. Except for signed zeros, special
values follow C99. Only ``stdint.h`` is included, which needs no library.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dalembert.emit import elementary, trigonometry

# 2/π in words of 32 bits, after two words of zeros: enough for the largest double
TWO_OVER_PI = (0, 0, *(int(trigonometry.DIGITS[k : k + 8], 16) for k in range(0, len(trigonometry.DIGITS), 8)))
DOUBLE = trigonometry.REDUCTIONS["double"]


@dataclass(frozen=True)
class Kind:
    """One precision: the replacements of the capital words of the text, and polynomials by name."""

    words: dict[str, str]
    polynomials: dict[str, tuple[float, ...]]
    pack: str
    suffix: str

    def number(self, value: float) -> str:
        """A constant with all its digits."""
        (rounded,) = struct.unpack(self.pack, struct.pack(self.pack, value))
        text = repr(rounded) if self.suffix == "" else f"{rounded:.9g}"
        return (text if re.search(r"[.e]", text) else f"{text}.0") + self.suffix


KINDS = {
    "double": Kind(
        {
            "REAL": "double", "UINT": "uint64_t", "INT": "int32_t", "FRACTION": "52", "BIAS": "1023", "ALL": "0x7FF",
            "LIMBS": "6", "LARGEST": repr(DOUBLE.largest), "WORDS": str(len(TWO_OVER_PI)),
            "MAGIC": "0x5FE6EB50C7B537A9u", "SPLIT": "0xFFFFFFFFF8000000u", "LIFT": "0x1p108", "LOWER": "0x1p-54",
            "DROP": "0x1p-108", "RAISE": "0x1p54", "LOW": "0x1p-900", "HIGH": "0x1p900", "STEPS": "4",
            "NORMAL": "0x1p-1022", "UP": "0x1p54", "UPS": "54.0",
        },
        {
            "SINE": DOUBLE.sine, "COSINE": DOUBLE.cosine, "EXP": elementary.EXP, "LOG": elementary.LOG,
            "TANH": elementary.TANH, "ATAN": elementary.ATAN, "ASIN": elementary.ASIN,
            "PI_HALF": DOUBLE.pi_half, "LN_2": elementary.LN_2, "PI": elementary.PI,
            "RANGE": (elementary.LOWEST, elementary.HIGHEST), "ROUNDER": (DOUBLE.rounder,),
            "BOUNDS": (elementary.NEAR, elementary.FAR),
        },
        "<d", "",
    ),
    "float": Kind(
        {
            "REAL": "float", "UINT": "uint32_t", "INT": "int32_t", "FRACTION": "23", "BIAS": "127", "ALL": "0xFF",
            "LIMBS": "4", "LARGEST": "128.0f", "WORDS": "12",
            "MAGIC": "0x5F375A86u", "SPLIT": "0xFFFFF000u", "LIFT": "0x1p48f", "LOWER": "0x1p-24f",
            "DROP": "0x1p-48f", "RAISE": "0x1p24f", "LOW": "0x1p-70f", "HIGH": "0x1p70f", "STEPS": "3",
            "NORMAL": "0x1p-126f", "UP": "0x1p25f", "UPS": "25.0f",
        },
        {
            "SINE": (-0.16666653752326965, 0.008332137018442154, -0.00019512028666213155),
            "COSINE": (0.04166664555668831, -0.0013887283857911825, 2.4429438781226054e-05),
            "EXP": (0.4999999403953552, 0.16666515171527863, 0.04166845604777336, 0.008369418792426586,
                    0.0013813144760206342),
            "LOG": (0.6666678190231323, 0.399771124124527, 0.2988438010215759),
            "TANH": (-0.33333316445350647, 0.13332585990428925, -0.05385230854153633, 0.021071679890155792,
                     -0.006274241488426924),
            "ATAN": (-0.33333298563957214, 0.19998548924922943, -0.14264242351055145, 0.10952188074588776,
                     -0.08403456211090088, 0.057957686483860016, -0.031177932396531105, 0.010914647951722145,
                     -0.0017936303047463298),
            "ASIN": (0.16666752099990845, 0.07495297491550446, 0.04547037556767464, 0.02417951449751854,
                     0.04216630756855011),
            # the first two parts of π/2 have 17 bits and the first of ln 2 has 15, so products with n and k are exact
            "PI_HALF": (1.57080078125, -4.45445766672492e-06, 2.563344151594519e-12),
            "LN_2": (0.693145751953125, 1.4286068203094173e-06),
            "PI": (math.pi, -8.742278000372485e-08),
            "RANGE": (-103.97207641601562, 88.72283172607422), "ROUNDER": (12582912.0,),
            "BOUNDS": (0.55, 9.1),
        },
        "<f", "f",
    ),
}  # fmt: skip

# name → dependencies and text; REAL, UINT and other capital words are replaced, {NAME} are polynomials in z or r,
# [NAME k] is a constant
TEXTS: dict[str, tuple[tuple[str, ...], str]] = {
    "bits": (
        (),
        """
/* the bits of x */
static UINT own_bits(REAL x)
{
    union { REAL x; UINT bits; } both;
    both.x = x;
    return both.bits;
}
""",
    ),
    "real": (
        (),
        """
/* the number with these bits */
static REAL own_real(UINT bits)
{
    union { REAL x; UINT bits; } both;
    both.bits = bits;
    return both.x;
}
""",
    ),
    "power": (
        ("real",),
        """
/* 2 to the k, for the exponents of normal numbers */
static REAL own_power(INT k)
{
    return own_real((UINT)(k + BIAS) << FRACTION);
}
""",
    ),
    "far": (
        ("bits", "power"),
        """
/*
 * x = n pi/2 + r for a large x: r, and n modulo 4 (Payne and Hanek). x is an integer m times 2 to the e; the LIMBS
 * words of 2/pi from the first bit whose product with m is not a multiple of 4 quadrants are sufficient.
 */
static unsigned own_far(REAL x, REAL *r)
{
    static const uint32_t two_over_pi[WORDS] = {
TABLE
    };
    const UINT bits = own_bits(x) & ~((UINT)1 << (FRACTION + BIASBITS));
    const uint64_t m = (bits & (((UINT)1 << FRACTION) - 1)) | (UINT)1 << FRACTION;
    const int start = (int)(bits >> FRACTION) - BIAS - FRACTION + 62;
    const uint64_t low = m & 0xFFFFFFFFu, high = m >> 32;
    const uint64_t half_pi_high = 0xC90FDAA2u, half_pi_low = 0x2168C235u;
    uint32_t window[LIMBS + 1], product[LIMBS + 1];
    uint64_t carry = 0, carry_high = 0, h, l, a, b;
    unsigned n;
    int k, negative = 0;

    for (k = 0; k < LIMBS; ++k) {
        const int word = (start >> 5) + k;
        window[k] = (uint32_t)(((uint64_t)two_over_pi[word] << 32 | two_over_pi[word + 1]) >> (32 - (start & 31)));
    }
    window[LIMBS] = 0;
    product[LIMBS] = 0;
    for (k = LIMBS - 1; k >= 0; --k) {
        carry += window[k] * low;
        carry_high += window[k + 1] * high + (carry & 0xFFFFFFFFu);
        product[k] = (uint32_t)carry_high;
        carry >>= 32;
        carry_high >>= 32;
    }
    n = (unsigned)(product[0] >> 30); /* quadrants; the rest is a fraction of one, with h and l as its first 128 bits */
    h = (uint64_t)product[0] << 34 | (uint64_t)product[1] << 2 | product[2] >> 30;
    l = (uint64_t)product[2] << 34 | (uint64_t)product[3] << 2 | product[4] >> 30;
    if (h >> 63) { /* the next quadrant is closer */
        h = ~h;
        l = ~l;
        n += 1;
        negative = 1;
    }
    for (k = 0; !(h >> 63) && k < 100; ++k) {
        h = h << 1 | l >> 63;
        l <<= 1;
    }
    a = (h >> 32) * half_pi_low + ((h & 0xFFFFFFFFu) * half_pi_low >> 32);
    b = (h & 0xFFFFFFFFu) * half_pi_high + (a & 0xFFFFFFFFu);
    h = (h >> 32) * half_pi_high + (a >> 32) + (b >> 32);
    *r = (REAL)h * own_power(-63 - k);
    if (negative != (x < [ZERO 0]))
        *r = -*r;
    return (x < [ZERO 0] ? 0u - n : n) & 3u;
}
""",
    ),
    "reduce": (
        ("bits", "far"),
        """
/* x = n pi/2 + r with |r| <= pi/4: r, and n modulo 4; r is NaN if x is infinite or NaN */
static unsigned own_reduce(REAL x, REAL *r)
{
    if (x >= -LARGEST && x <= LARGEST) { /* three parts of pi/2; n times the first two is exact (Cody and Waite) */
        const REAL n = (x * [TURN 0] + [ROUNDER 0]) - [ROUNDER 0];
        const REAL a = x - n * [PI_HALF 0], b = n * [PI_HALF 1];
        const REAL c = a - b;
        *r = c + (((a - c) - b) - n * [PI_HALF 2]);
        return (uint32_t)(INT)n & 3u;
    }
    if (!(x - x == [ZERO 0])) {
        *r = x - x;
        return 0;
    }
    return own_far(x, r);
}
""",
    ),
    "wave": (
        (),
        """
/* the sine of r in quadrant n, |r| <= pi/4 */
static REAL own_wave(REAL r, unsigned n)
{
    const REAL z = r * r;
    REAL y;
    if (n & 1u) {
        const REAL half = [HALF 0] * z, near = [ONE 0] - half;
        y = near + (z * z * {COSINE} + (([ONE 0] - near) - half));
    } else {
        y = r + r * z * {SINE};
    }
    return n & 2u ? -y : y;
}
""",
    ),
    "sin": (
        ("reduce", "wave"),
        """
static REAL own_sin(REAL x)
{
    REAL r;
    const unsigned n = own_reduce(x, &r);
    return own_wave(r, n);
}
""",
    ),
    "cos": (
        ("reduce", "wave"),
        """
static REAL own_cos(REAL x)
{
    REAL r;
    const unsigned n = own_reduce(x, &r);
    return own_wave(r, n + 1u);
}
""",
    ),
    "sqrt": (
        ("bits", "real"),
        """
/* Newton's method for 1/sqrt(x), and one step for sqrt(x) with an exact residual (Dekker) */
static REAL own_sqrt(REAL x)
{
    REAL scale = [ONE 0], y, s, high, low;
    int k;
    if (!(x > [ZERO 0]) || x - x != [ZERO 0])
        return x < [ZERO 0] ? (x - x) / [ZERO 0] : x;
    if (x < LOW) {
        x *= LIFT;
        scale = LOWER;
    } else if (x > HIGH) {
        x *= DROP;
        scale = RAISE;
    }
    y = own_real(MAGIC - (own_bits(x) >> 1));
    for (k = 0; k < STEPS; ++k)
        y *= [ONE 0] + ([HALF 0] - [HALF 0] * x * y * y);
    s = x * y;
    high = own_real(own_bits(s) & SPLIT);
    low = s - high;
    return (s + [HALF 0] * y * (((x - high * high) - [TWO 0] * high * low) - low * low)) * scale;
}
""",
    ),
    "exp": (
        ("power",),
        """
/* 2 to the k times exp r, with x = k ln 2 + r; half of k at a time, as 2 to the k may be out of range when exp x is not */
static REAL own_exp(REAL x)
{
    if (!(x <= [RANGE 1]))
        return x != x ? x : [ONE 0] / [ZERO 0];
    if (x < [RANGE 0])
        return [ZERO 0];
    {
        const REAL k = (x * [LOG2E 0] + [ROUNDER 0]) - [ROUNDER 0];
        const REAL r = (x - k * [LN_2 0]) - k * [LN_2 1];
        const REAL power = [ONE 0] + (r + r * r * {EXP});
        const INT half = (INT)k / 2;
        return power * own_power(half) * own_power((INT)k - half);
    }
}
""",
    ),
    "log": (
        ("bits", "real"),
        """
/* k ln 2 + ln m with x = 2 to the k times m, sqrt(1/2) <= m < sqrt(2); s = f/(2 + f) with f = m - 1 */
static REAL own_log(REAL x)
{
    REAL k = [ZERO 0];
    UINT bits;
    if (!(x > [ZERO 0]) || x - x != [ZERO 0])
        return x == [ZERO 0] ? -[ONE 0] / [ZERO 0] : x < [ZERO 0] ? (x - x) / [ZERO 0] : x;
    if (x < NORMAL) {
        x *= UP;
        k = -UPS;
    }
    bits = own_bits(x) + (own_bits([ONE 0]) - own_bits([ROOT 0]));
    k += (REAL)((INT)(bits >> FRACTION) - BIAS);
    {
        const REAL f = own_real((bits & (((UINT)1 << FRACTION) - 1)) + own_bits([ROOT 0])) - [ONE 0];
        const REAL s = f / ([TWO 0] + f), z = s * s, half = [HALF 0] * f * f;
        return k * [LN_2 0] - ((half - (s * (half + z * {LOG}) + k * [LN_2 1])) - f);
    }
}
""",
    ),
    "tanh": (
        ("exp",),
        """
/* a polynomial near 0, 1 - 2/(exp 2x + 1) beyond */
static REAL own_tanh(REAL x)
{
    const REAL a = x < [ZERO 0] ? -x : x;
    REAL y = [ONE 0];
    if (x != x)
        return x;
    if (a <= [BOUNDS 0]) {
        const REAL z = a * a;
        y = a + a * z * {TANH};
    } else if (a < [BOUNDS 1]) {
        y = [ONE 0] - [TWO 0] / (own_exp(a + a) + [ONE 0]);
    }
    return x < [ZERO 0] ? -y : y;
}
""",
    ),
    "turned": (
        (),
        """
/* high + low + u + rest, where high is 0 or larger than u; the rounding error of high + u is compensated */
static REAL own_turned(REAL high, REAL low, REAL u, REAL rest)
{
    const REAL near = high + u;
    return near + (rest + ((u - (near - high)) + low));
}
""",
    ),
    "atan2": (
        ("bits", "turned"),
        """
/* with t the smaller of |x| and |y| over the larger: atan t, pi/2 -+ atan t or pi - atan t, signed like y */
static REAL own_atan2(REAL y, REAL x)
{
    const REAL a = x < [ZERO 0] ? -x : x, b = y < [ZERO 0] ? -y : y;
    const int left = (int)(own_bits(x) >> (FRACTION + BIASBITS)), below = (int)(own_bits(y) >> (FRACTION + BIASBITS));
    const int steep = b > a;
    const REAL smaller = steep ? a : b, larger = steep ? b : a;
    REAL t, z, angle;
    if (x != x || y != y)
        return x + y;
    t = larger == [ZERO 0] ? [ZERO 0] : smaller == larger ? [ONE 0] : smaller / larger;
    z = t * t;
    t = steep != left ? -t : t;
    angle = own_turned(steep ? [HALF_PI 0] : left ? [PI 0] : [ZERO 0],
                       steep ? [HALF_PI 1] : left ? [PI 1] : [ZERO 0], t, t * z * {ATAN});
    return below ? -angle : angle;
}
""",
    ),
    "asin": (
        ("sqrt", "turned"),
        """
/* beyond 1/2: pi/2 - 2 asin sqrt((1 - |x|)/2), signed like x */
static REAL own_asin(REAL x)
{
    const REAL a = x < [ZERO 0] ? -x : x;
    const int high = a > [HALF 0];
    const REAL z = high ? ([ONE 0] - a) * [HALF 0] : a * a;
    const REAL u = high ? -[TWO 0] * own_sqrt(z) : a;
    const REAL angle = own_turned(high ? [HALF_PI 0] : [ZERO 0], high ? [HALF_PI 1] : [ZERO 0], u, u * z * {ASIN});
    return x < [ZERO 0] ? -angle : angle;
}
""",
    ),
    "acos": (
        ("sqrt", "turned"),
        """
/* pi/2 - asin x; beyond 1/2: 2 asin sqrt((1 - x)/2), beyond -1/2: pi - 2 asin sqrt((1 + x)/2) */
static REAL own_acos(REAL x)
{
    const REAL a = x < [ZERO 0] ? -x : x;
    const int high = a > [HALF 0], left = x < [ZERO 0];
    const REAL z = high ? ([ONE 0] - a) * [HALF 0] : a * a;
    const REAL r = high ? [TWO 0] * own_sqrt(z) : a;
    const REAL u = high != left ? r : -r;
    return own_turned(high ? left ? [PI 0] : [ZERO 0] : [HALF_PI 0], high ? left ? [PI 1] : [ZERO 0] : [HALF_PI 1],
                      u, u * z * {ASIN});
}
""",
    ),
}
CONSTANTS = {
    "ZERO": (0.0,), "ONE": (1.0,), "TWO": (2.0,), "HALF": (0.5,), "TURN": (2.0 / math.pi,),
    "LOG2E": (math.log2(math.e),), "ROOT": (math.sqrt(0.5),),
}  # fmt: skip


def own_functions(names: Iterable[str], kind: str, prefix: str) -> str:
    """The functions of these names as static functions that begin with ``prefix``, with their dependencies."""
    return "#include <stdint.h>\n\n" + "\n\n".join(_text(name, KINDS[kind], prefix) for name in _needed(names))


def _needed(names: Iterable[str]) -> list[str]:
    """The names, each after its dependencies."""
    order: list[str] = []
    for name in names:
        order += [x for x in (*_needed(TEXTS[name][0]), name) if x not in order]
    return order


def _text(name: str, kind: Kind, prefix: str) -> str:
    constants = {**CONSTANTS, **kind.polynomials, "HALF_PI": tuple(0.5 * x for x in kind.polynomials["PI"])}
    variable = "r" if name == "exp" else "z"

    def constant(match: re.Match[str]) -> str:
        return kind.number(constants[match[1]][int(match[2])])

    def polynomial(match: re.Match[str]) -> str:
        return _horner([kind.number(c) for c in constants[match[1]]], variable)

    words = {**kind.words, "BIASBITS": str(int(kind.words["BIAS"]).bit_length() + 1)}
    text = TEXTS[name][1].strip("\n")
    text = re.sub(r"\[([A-Z_0-9]+) (\d)\]", constant, text)
    text = re.sub(r"\{([A-Z]+)\}", polynomial, text)
    text = text.replace("TABLE", _table(int(words["WORDS"])))
    text = re.sub(r"\b[A-Z]+\b", lambda match: words.get(match[0], match[0]), text)
    return text.replace("own_", prefix)


def _horner(coefficients: Sequence[str], variable: str) -> str:
    """(c0 + z * (c1 + z * (c2))), in lines of four"""
    text = ""
    for k, coefficient in enumerate(coefficients):
        gap = "" if k == 0 else f" + {variable} *" + ("\n            " if k % 4 == 0 else " ")
        text += f"{gap}({coefficient}"
    return text + ")" * len(coefficients)


def _table(count: int) -> str:
    rows = [TWO_OVER_PI[k : min(k + 8, count)] for k in range(0, count, 8)]
    return ",\n".join("        " + ", ".join(f"0x{word:08X}u" for word in row) for row in rows)
