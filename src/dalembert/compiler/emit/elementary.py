"""exp, log, tanh, atan2, asin and acos as arithmetic on all lanes at once, without branches and without the C library.

Largest errors observed over ten million arguments each, with and without fused multiplication and addition:

==========  ==================================================  =======
function    range                                               error
==========  ==================================================  =======
exp         all x; below 2⁻¹⁰²² results are subnormal, then 0   1.1 ulp
log         all x, including subnormal ones                     0.9 ulp
tanh        all x                                               1.6 ulp
atan2       all y, x; below 2⁻¹⁰²² y/x is subnormal, then 0     1.6 ulp
asin, acos  |x| ≤ 1                                             1.1 ulp
==========  ==================================================  =======

Signed zeros, infinities and NaN follow C99. No flag is raised for them, nor when exp overflows to ∞, log 0 is −∞ or the
log of a negative number is NaN: lanes outside a function's range are computed with a harmless argument, and their
result is inserted at the end. The polynomials are minimax polynomials (Remez).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dalembert.compiler.emit.ir import IR
from dalembert.compiler.emit.lanes import Lanes, Mask, bits_of
from dalembert.compiler.emit.trigonometry import ROUNDER

INFINITE = bits_of(math.inf)
# ln 2 in two parts; the first has 42 bits, so that k times it is exact for every exponent k of a double
LN_2 = (6.93147180559890330e-01, 5.49792301870837116e-14)

# exp r = 1 + r + r² E(r) for |r| ≤ ln 2 / 2
EXP = (
    5.00000000000001221e-01, 1.66666666666666990e-01, 4.16666666665155838e-02, 8.33333333330713889e-03,
    1.38888889469771090e-03, 1.98412699176148100e-04, 2.48014899773198989e-05, 2.75572160309838357e-06,
    2.76312695906871642e-07, 2.51179610102631255e-08,
)  # fmt: skip
LOWEST, HIGHEST = -745.13321910194122, 709.78271289338397  # beyond these, exp rounds to 0 and to ∞

# ln (1 + s)/(1 − s) = 2 s + s³ L(s²) for |s| ≤ (√2 − 1)/(√2 + 1)
LOG = (
    6.66666666666673402e-01, 3.99999999994139321e-01, 2.85714287425663738e-01, 2.22221985534616751e-01,
    1.81835654228446969e-01, 1.53140206947990243e-01, 1.47962659206037794e-01,
)  # fmt: skip
SMALLEST_NORMAL = 2.0**-1022

# tanh x = x + x³ T(x²) for |x| ≤ NEAR; from FAR on it rounds to ±1
TANH = (
    -3.33333333333332982e-01, 1.33333333333268272e-01, -5.39682539638750153e-02, 2.18694883889975593e-02,
    -8.86323265100511307e-03, 3.59209251396339600e-03, -1.45554586061041749e-03, 5.88456524659771362e-04,
    -2.33411351598909565e-04, 8.33580344009086867e-05, -1.95197335903309651e-05,
)  # fmt: skip
NEAR, FAR = 0.55, 22.0

# atan t = t + t³ A(t²) for 0 ≤ t ≤ 1
ATAN = (
    -3.33333333333330706e-01, 1.99999999999514594e-01, -1.42857142825750350e-01, 1.11111110070233665e-01,
    -9.09090700293420650e-02, 7.69227983856727721e-02, -6.66640405139889008e-02, 5.88052777737582758e-02,
    -5.25351838805535459e-02, 4.72232166728170991e-02, -4.21917755216882698e-02, 3.66418831889620683e-02,
    -2.99038159969982793e-02, 2.19848029911282397e-02, -1.39005144289105348e-02, 7.19647211124373968e-03,
    -2.88490309507350492e-03, 8.31316641394970251e-04, -1.52159783164098261e-04, 1.32249715231042500e-05,
)  # fmt: skip
# asin r = r + r³ S(r²) for 0 ≤ r ≤ ½
ASIN = (
    1.66666666666667629e-01, 7.49999999997026240e-02, 4.46428571751198780e-02, 3.03819426836789870e-02,
    2.23722156580615471e-02, 1.73516001404743526e-02, 1.39809607801861576e-02, 1.13977820835348131e-02,
    1.07864921740876592e-02, 3.68318914546251564e-03, 2.17631271232564885e-02, -2.10767523582615218e-02,
    3.26765471871579491e-02,
)  # fmt: skip
PI = (math.pi, 1.22464679914735321e-16)  # in two parts


def exp(x: Lanes) -> Lanes:
    """eˣ, including values that round to 0 and ∞."""
    negative = x.bits().below(0)
    beyond = x.magnitude().above(negative.choose(-LOWEST, HIGHEST).bits())
    end = x.magnitude().above(INFINITE).choose(x, negative.choose(0.0, math.inf))
    return beyond.choose(end, _exp(beyond.choose(0.0, x)))


def _exp(x: Lanes) -> Lanes:
    """eˣ = 2ᵏ eʳ with x = k ln 2 + r, LOWEST ≤ x ≤ HIGHEST."""
    shifted = x * math.log2(math.e) + ROUNDER
    k = shifted - ROUNDER
    r = x - k * LN_2[0] - k * LN_2[1]
    power = 1.0 + (r + r * r * r.polynomial(EXP))
    # 2ᵏ may be out of range when 2ᵏ eʳ is not: half of k at a time, so that only the second product is rounded
    exponents = shifted.bits() + (2 * 1023 - bits_of(ROUNDER))
    half = exponents >> 1
    return power * (half << 52).doubles() * ((exponents - half) << 52).doubles()


def log(x: Lanes) -> Lanes:
    """ln x; −∞ at ±0, NaN below."""
    ordinary = x.bits().above(0) & x.bits().below(INFINITE)
    end = x.magnitude().equals(0).choose(-math.inf, x.bits().below(0).choose(math.nan, x))
    return ordinary.choose(_log(ordinary.choose(x, 1.0)), end)


def _log(x: Lanes) -> Lanes:
    """ln x = k ln 2 + ln m with x = 2ᵏ m, √½ ≤ m < √2, for 0 < x < ∞.

    With f = m − 1 and s = f/(2 + f), ln m = 2 s + s³ L(s²) = f − (f²/2 − s (f²/2 + s² L(s²))), where f is exact and the
    rest is small compared with it.
    """
    subnormal = x.bits().below(bits_of(SMALLEST_NORMAL))
    lifted = (x * subnormal.choose(2.0**54, 1.0)).bits() + (bits_of(1.0) - bits_of(math.sqrt(0.5)))
    m = ((lifted & (2**52 - 1)) + bits_of(math.sqrt(0.5))).doubles()
    # an integer placed in the low bits of 2⁵² becomes a double
    k = ((lifted >> 52) | bits_of(2.0**52)).doubles() - (2.0**52 + 1023.0) - subnormal.choose(54.0, 0.0)
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    half_square = 0.5 * f * f
    rest = half_square - (s * (half_square + z * z.polynomial(LOG)) + k * LN_2[1])
    return k * LN_2[0] - (rest - f)


def tanh(x: Lanes) -> Lanes:
    """tanh x: a polynomial near 0, 1 − 2/(e²ˣ + 1) beyond."""
    far = x.magnitude().above(bits_of(FAR))
    a = far.choose(0.0, abs(x))
    z = a * a
    near = a + a * z * z.polynomial(TANH)
    beyond = 1.0 - 2.0 / (_exp(a + a) + 1.0)
    end = x.magnitude().above(INFINITE).choose(x, 1.0)
    return far.choose(end, a.bits().above(bits_of(NEAR)).choose(beyond, near)).signed_like(x)


def atan2(y: Lanes, x: Lanes) -> Lanes:
    """The angle of the point (x, y), from −π to π; the sign of a zero determines its side.

    With t the smaller of |x|, |y| over the larger, it is atan t, π/2 ± atan t or π − atan t, signed like y.
    """
    steep = y.magnitude().above(x.magnitude())
    smaller, larger = steep.choose(abs(x), abs(y)), steep.choose(abs(y), abs(x))
    ordinary = larger.bits().above(0) & larger.bits().below(INFINITE)
    diagonal = smaller.bits().equals(INFINITE).choose(1.0, 0.0)  # if the larger one is infinite or both are 0
    t = ordinary.choose(smaller, diagonal) / ordinary.choose(larger, 1.0)
    left = x.bits().below(0)
    t = (steep ^ left).choose(-t, t)
    axis = [steep.choose(0.5 * part, left.choose(part, 0.0)) for part in PI]
    angle = _turned_from(axis, t, t * t, ATAN).signed_like(y)
    return larger.bits().above(INFINITE).choose(math.nan, angle)


def asin(x: Lanes) -> Lanes:
    """arcsin x; beyond ½ it is π/2 − 2 arcsin √((1 − |x|)/2), signed like x."""
    r, z, high, outside = _half_chord(x)
    axis = [high.choose(0.5 * part, 0.0) for part in PI]
    angle = _turned_from(axis, high.choose(-2.0 * r, r), z, ASIN).signed_like(x)
    return outside.choose(math.nan, angle)


def acos(x: Lanes) -> Lanes:
    """arccos x = π/2 − arcsin x; beyond ½ it is 2 arcsin √((1 − x)/2), beyond −½ π − 2 arcsin √((1 + x)/2)."""
    r, z, high, outside = _half_chord(x)
    left = x.bits().below(0)
    r = high.choose(2.0 * r, r)
    axis = [high.choose(left.choose(part, 0.0), 0.5 * part) for part in PI]
    return outside.choose(math.nan, _turned_from(axis, (high ^ left).choose(r, -r), z, ASIN))


def _half_chord(x: Lanes) -> tuple[Lanes, Lanes, Mask, Mask]:
    """r and r², where |x| > ½, and where |x| > 1 or NaN; r = |x|, or √((1 − |x|)/2) beyond ½."""
    outside = x.magnitude().above(bits_of(1.0))
    a = outside.choose(0.0, abs(x))
    high = a.bits().above(bits_of(0.5))
    z = high.choose((1.0 - a) * 0.5, a * a)
    return high.choose(z.sqrt(), a), z, high, outside


def _turned_from(axis: list[Lanes], u: Lanes, z: Lanes, coefficients: tuple[float, ...]) -> Lanes:
    """axis + u + u z P(z), with the axis in two parts, 0 or larger than u; the error of axis + u is compensated."""
    near = axis[0] + u
    lost = u - (near - axis[0])
    return near + (u * z * z.polynomial(coefficients) + (lost + axis[1]))


def _on_names(function: Callable[..., Lanes]) -> Callable[..., str]:
    """The function of vectors by name; floats are widened, so that the result is almost always correctly rounded."""

    def run(text: IR, *names: str) -> str:
        if text.scalar == "double":
            return function(*(Lanes(text, name) for name in names)).name
        wide = text.in_doubles()
        widened = [Lanes(wide, text.let(f"fpext {text.vector} {name} to {wide.vector}")) for name in names]
        return text.let(f"fptrunc {wide.vector} {function(*widened).name} to {text.vector}")

    return run


ELEMENTARY = {function.__name__: _on_names(function) for function in (exp, log, tanh, atan2, asin, acos)}
