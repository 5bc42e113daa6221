"""Design conditions: what makes a coefficient of the equations of motion vanish in every configuration.

A coefficient in closed form is a sum Σ x_k f_k(q) of linearly independent functions f_k: products of the positions of
prismatic joints, each times 1 or the cosine or sine of a sum of angles. It is zero for all q if and only if every x_k
is zero: these conditions are exact and complete. S 7.3.3 gives an example.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

from dalembert.base.algebra.scalars import exact_cos, exact_sin
from dalembert.base.algebra.trigonometric_sum import TrigonometricSum, Weights, upright
from dalembert.base.environment.cached_property import cached_property
from dalembert.errors import DalembertError
from dalembert.mechanics.symbols.closed_form import FLOAT_NOISE, ClosedForm
from dalembert.mechanics.symbols.grouped_sums import Product, Sum, by_inertia, common_factors
from dalembert.mechanics.symbols.names import TRIGONOMETRIC, Letter, weighted_sum
from dalembert.mechanics.symbols.names import upright as most_positive
from dalembert.mechanics.symbols.present import Equations
from dalembert.mechanics.symbols.ring import FIELD, WIDTH, Polynomial, Ring, Terms, exact, occurring, tidy
from dalembert.mechanics.symbols.symbolic_mechanism import DESIGN
from dalembert.mechanics.symbols.sympy_form import to_sympy
from dalembert.mechanics.symbols.sympy_package import sympy
from dalembert.mechanics.symbols.write import Text

# monomial of prismatic positions, angle, constant added to it, "cos" or "sin"
Function = tuple[int, Weights, float, str]
CONSTANT = 1 << 30  # number of the variable that is 1, after those of all joints
SAME_ROOT = 1e-9
SHOWN = 3  # functions of q named in a line of text
MANY = 300  # terms above which a condition is not simplified
LONGEST = 300  # functions of q, one condition each, above which the result is unreadable (the Puma 560 has up to 109)


@dataclass(frozen=True)
class DesignEquation:
    """One condition: the factor of the functions ``of`` q must be zero. ``impossible``: all its terms have the same sign."""

    of: tuple[str, ...]
    sum: Sum
    impossible: bool


@dataclass(frozen=True, eq=False)
class Condition:
    """The conditions under which a coefficient is zero at every q: all of ``equations`` equal to 0.

    >>> import dalembert as da
    >>> b_12 = da.load("planar-2r").couplings().condition("b", 1, 2)
    >>> print(b_12)
    b_12 = 0 at every q needs
      1     I_ℓ2 + m_ℓ2 ℓ_2² + k_r2 I_m2 = 0, impossible: no term can be negative
      c_2   m_ℓ2 a_1 ℓ_2 = 0
    No design with positive masses, inertias and gear ratios has b_12 = 0 at every q.
    """

    name: str
    parts: tuple[DesignEquation, ...]
    reason: str
    diagonal: bool
    ring: Ring

    @cached_property
    def _letters(self) -> list[Any]:
        letters = self.ring.letters
        return [sympy.sqrt(x.index) if x.kind == "root" else sympy.Symbol(x.name) for x in letters]

    @cached_property
    def equations(self) -> tuple[sympy.Expr, ...]:
        """The expressions that must be zero: SymPy, factored, in S's letters; empty if the coefficient is zero by structure."""
        return tuple(to_sympy(part.sum, self._letters) for part in self.parts)

    @property
    def vanishes(self) -> bool:
        """Whether the coefficient is zero at every q for the arm's own numbers."""
        return self.reason != "nonzero"

    @property
    def functions(self) -> tuple[tuple[str, ...], ...]:
        """The functions of q to which each equation belongs: ("1",), ("c_2",), …"""
        return tuple(part.of for part in self.parts)

    @property
    def impossible(self) -> bool:
        """Whether no design with positive masses, inertias and gear ratios can satisfy the equations.

        True if all terms of an equation have the same sign, and for b_ii, since B is positive definite.
        """
        return any(part.impossible for part in self.parts) or (self.diagonal and bool(self.parts))

    @cached_property
    def solutions(self) -> dict[sympy.Symbol, tuple[float, ...]]:
        """By letter, the values that satisfy all equations while every other number of the arm is kept.

        >>> import dalembert as da
        >>> found = da.load("parallelogram").couplings().condition("b", 1, 2).solutions
        >>> {str(letter): [round(x, 4) for x in values] for letter, values in found.items()}["m_l3'"]
        [3.75]
        """
        letters = {symbol: x for symbol, x in zip(self._letters, self.ring.letters, strict=True) if x.is_parameter}
        numbers = {symbol: x.value for symbol, x in letters.items()}
        used = sorted({s for e in self.equations for s in e.free_symbols}, key=lambda s: letters[s].order)
        out: dict[Any, tuple[float, ...]] = {}
        for symbol in used:
            others = {s: value for s, value in numbers.items() if s != symbol}
            left = [sympy.Poly(sympy.N(e.subs(others)), symbol) for e in self.equations]
            own = letters[symbol]
            twist = [s for s in used if own.kind == letters[s].kind == "twist" and own.index == letters[s].index]
            if any(p.degree() < 1 for p in left) or len(twist) > 1:  # a cosine and its sine are not independent
                continue
            roots = [[float(r) for r in p.nroots() if abs(sympy.im(r)) < SAME_ROOT] for p in left]
            common = [
                r for r in roots[0] if all(any(abs(r - x) <= SAME_ROOT * (1 + abs(r)) for x in rs) for rs in roots)
            ]
            fitting = tuple(r for r in common if _allowed(own, r))
            if fitting:
                out[symbol] = fitting
        return out

    def text(self) -> str:
        """The conditions as text."""
        if not self.parts and self.reason == "numbers":
            return (
                f"{self.name} = 0 at every q, because numbers of the arm that have no letter in its closed form are 0"
            )
        if not self.parts:
            return f"{self.name} = 0 at every q by the structure of the arm, whatever its numbers"
        heads = [", ".join(part.of if len(part.of) <= SHOWN else (*part.of[: SHOWN - 1], "…")) for part in self.parts]
        wide = max(map(len, heads)) + 3
        lines = [f"{self.name} = 0 at every q needs" + (", as is the case for this arm," if self.vanishes else "")]
        for head, part in zip(heads, self.parts, strict=True):
            words = Text().line(self.ring, part.sum) + " = 0"
            lines.append(f"  {head:<{wide}}{words}" + ", impossible: no term can be negative" * part.impossible)
        if self.impossible:
            positive = "positive masses, inertias and gear ratios"
            lines.append(f"No design with {positive} has {self.name} = 0 at every q.")
        elif self.solutions and not self.vanishes:
            texts = {symbol: x.text for symbol, x in zip(self._letters, self.ring.letters, strict=True)}
            values = ((texts[symbol], " or ".join(f"{x:.4g}" for x in xs)) for symbol, xs in self.solutions.items())
            lines.append("Changing one number is sufficient: " + ", ".join(f"{text} = {x}" for text, x in values))
        return "\n".join(lines)

    __str__ = text


def condition(
    closed_form: Callable[[str], Any], letter: str, indices: tuple[int, ...], name: str, reason: str
) -> Condition:
    """The conditions for b_ij, h_ijk or g_i.

    closed_form  returns an arm's equations for a choice of letters
    reason       "nonzero", or why the coefficient is zero for the arm's own numbers
    """
    for parameters in (DESIGN, "all"):  # "all" if a number that is 0 has no letter of its own
        equations = closed_form(parameters)
        if not isinstance(equations, Equations):
            raise DalembertError(
                f"{name} has no design condition in coordinates given by a function; use the arm in its joint coordinates"
            )
        form = equations.form
        table: Any = {"b": form.B, "h": form.christoffel, "g": form.g}[letter]
        x = reduce(lambda entry, k: entry[k - 1], indices, table)
        if x or reason != "numbers":
            break
    ring, functions = form.ring, _by_function(form, x)
    if len(functions) > LONGEST:
        raise DalembertError(
            f"the design conditions of {name} are too long to read: {len(functions)} functions of q must vanish, and the limit is "
            f"{LONGEST}; use a part of the arm with fewer joints"
        )
    parts: dict[Sum, DesignEquation] = {}
    for function, terms in sorted(functions.items(), key=lambda item: _order(item[0])):
        zero = _factored(ring, terms)
        known = parts.get(zero, DesignEquation((), zero, _one_sign(ring, terms)))
        parts[zero] = replace(known, of=(*known.of, _written(form, function)))
    diagonal = letter == "b" and indices[0] == indices[1]
    return Condition(name, tuple(parts.values()), reason, diagonal, ring)


# -- independent functions of q ------------------------------------------------------------------


def _by_function(form: ClosedForm, x: Polynomial) -> dict[Function, Terms]:
    """The polynomial as Σ x_k f_k(q): the terms of x_k for every function f_k."""
    ring = form.ring
    phases: dict[Weights, float] = {}
    out: dict[Function, Terms] = {}
    for monomial, c in x.terms.items():
        slides, design = 0, 0
        waves = TrigonometricSum({((), ()): 1.0 + 0.0j})
        for k, e in ring.exponents(monomial):
            letter, unit = ring.letters[k], e << (WIDTH * k)
            if letter.kind in TRIGONOMETRIC:
                waves = math.prod([_wave(letter)] * e, start=waves)
            elif letter.kind == "slide":
                slides += unit
            else:
                design += unit
        for (_, angle), z in waves.terms.items():
            weights = tuple((joint, tidy(w)) for joint, w in angle if joint != CONSTANT)
            phase = dict(angle).get(CONSTANT, 0.0)
            first = phases.setdefault(weights, phase if weights else 0.0)
            turned = z * complex(exact_cos(phase - first), exact_sin(phase - first))
            for kind, value in (("cos", turned.real), ("sin", -turned.imag if weights else 0.0)):
                terms = out.setdefault((slides, weights, first, kind), {})
                terms[design] = terms.get(design, 0) + c * exact(value)
    noise = FLOAT_NOISE * float(max(map(abs, x.terms.values()), default=0))
    nonzero = {
        f: {m: tidy(c) for m, c in terms.items() if abs(c) > (noise if isinstance(c, float) else 0)}
        for f, terms in out.items()
    }
    return {f: terms for f, terms in nonzero.items() if terms}


def _wave(letter: Letter) -> TrigonometricSum:
    """The cosine or sine of a sum of angles; a constant in the sum is the weight of a variable that is 1."""
    constant = ((CONSTANT, letter.phase),) if letter.phase else ()
    weights, z = upright((*sorted(letter.angle), *constant), 1.0 + 0.0j if letter.kind == "cosine" else -1.0j)
    return TrigonometricSum({((), weights): z})


def _order(function: Function) -> Any:
    slides, weights, _, kind = function
    return sum(abs(w) for _, w in weights), slides, weights, kind


def _written(form: ClosedForm, function: Function) -> str:
    """d_2² c_12, with its own letter for an angle that has one."""
    slides, weights, phase, kind = function
    words = [Text().name(form.ring.letters[k], e) for k, e in form.ring.exponents(slides)]
    if weights:
        _, angle, _ = weighted_sum([(w, form.q[joint - 1]) for joint, w in weights])
        word = {"cos": "cosine", "sin": "sine"}[kind]
        own = (x.text for x in form.ring.letters if x.kind == word and x.angle == most_positive(weights)[0])
        constant = f"{phase:+.6g}".replace("-", "−") if phase else ""
        words.append(next(own, f"{kind}({angle}{constant})"))
    return " ".join(words) or "1"


# -- conditions on the design --------------------------------------------------------------------


def _positive(letter: Letter) -> bool:
    """Whether a letter of a design is positive; lengths, products of inertia and cosines have any sign."""
    signed = {
        "mass": letter.name.startswith("ml_"),  # a first moment
        "tensor": letter.name[-2:] in ("xy", "xz", "yz"),
        "gravity": letter.name != "g",  # a component
        "gear": letter.value is not None and letter.value < 0.0,  # the motor rotates in the opposite direction
        "root": False,
    }
    return not signed.get(letter.kind, True)


def _allowed(letter: Letter, value: float) -> bool:
    return value > SAME_ROOT if _positive(letter) else abs(value) <= 1.0 or letter.kind != "twist"


def _one_sign(ring: Ring, terms: Terms) -> bool:
    """Whether no term can be negative (or none positive) and one is nonzero, for positive masses and inertias."""
    if len({c > 0 for c in terms.values()}) > 1:
        return False
    factors = [[(ring.letters[k], e) for k, e in ring.exponents(m)] for m in terms]
    signed = [[e for letter, e in term if not _positive(letter)] for term in factors]
    return all(e % 2 == 0 for exponents in signed for e in exponents) and not all(signed)


def _factored(ring: Ring, terms: Terms) -> Sum:
    """The condition without constant factors and powers, which do not affect when it is zero."""
    factors = _factors(ring, terms)
    letters = tuple((k, 1) for factor in factors if len(factor) == 1 for m in factor for k, _ in ring.exponents(m))
    letters = tuple((k, e) for k, e in letters if ring.letters[k].kind not in ("root", "gravity"))
    sums = tuple(_grouped(Polynomial(ring, factor)) for factor in factors if len(factor) > 1)
    if len(sums) == 1 and not letters:
        return sums[0]
    return (Product(1, letters, sums),)


def _factors(ring: Ring, terms: Terms) -> list[Terms]:
    """The irreducible factors that contain letters."""
    if len(terms) == 1 or len(terms) > MANY or any(isinstance(c, float) for c in terms.values()):
        return [terms]
    used = sorted(occurring([Polynomial(ring, terms)]))
    powers = {tuple((m >> (WIDTH * k)) & FIELD for k in used): c for m, c in terms.items()}
    rational = {es: sympy.Rational(c.numerator, c.denominator) for es, c in powers.items()}
    _, factors = sympy.Poly(rational, *sympy.symbols(f"x:{len(used)}")).factor_list()
    return [
        {
            sum(e << (WIDTH * k) for k, e in zip(used, es, strict=True)): Fraction(int(c.p), int(c.q))
            for es, c in factor.terms()
        }
        for factor, _ in factors
    ]


def _grouped(x: Polynomial) -> Sum:
    """Grouped by masses and inertias, with common letters before each bracket and integer coefficients."""
    scale = math.lcm(*(Fraction(c).denominator for c in x.terms.values() if not isinstance(c, float)))
    out = []
    for product in by_inertia(x * scale):
        if len(product.sums) != 1:
            out.append(product)
            continue
        (inner,) = product.sums
        common = common_factors(term.factors for term in inner)
        rests = tuple(
            replace(t, factors=tuple((k, e - common.get(k, 0)) for k, e in t.factors if e > common.get(k, 0)))
            for t in inner
        )
        out.append(replace(product, factors=product.factors + tuple(common.items()), sums=(rests,)))
    return tuple(out)
