"""Base parameters as formulas: each a sum of standard parameters, with symbols for the lengths.

The symbols are those of ``arm.equations(parameters="all")``: m_i, m_iℓ_Cix, Î_ixx of augmented link i about
the origin of its frame (S (7.77)), I_mi, F_vi, F_si; a_i, d_i of the Denavit–Hartenberg table.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import brief
from dalembert.errors import DalembertError
from dalembert.mechanics.equations.regressor import SAME, carried_share
from dalembert.mechanics.symbols.hidden_parameters import Field, Number, hidden_changes, seats_of
from dalembert.mechanics.symbols.names import Letter, parameter_letter
from dalembert.mechanics.symbols.sympy_package import sympy
from dalembert.mechanics.symbols.write import Latex, Text, assembled
from dalembert.work.identification.fitting import base_parameters as numeric
from dalembert.work.identification.fitting.base_parameters import BaseParameters as BaseParameters
from dalembert.work.identification.fitting.parameter_set import Parameter, ParameterSet
from dalembert.work.trajectory.planning.motion_checks import check_choice

LENGTHS = ("symbols", "numbers")


@brief
@dataclass(frozen=True)
class SymbolicBaseParameters(numeric.Combinations):
    """π_base = K π with symbolic K, computed exactly; columns and names as in :class:`Combinations`.

    coefficients  for every base parameter: column of the set → its coefficient, a number of ``field``
    at_lengths    the number of base parameters with the arm's own lengths; smaller than ``rank`` if those lengths are
                  special in a way that is not visible from zeros
    """

    coefficients: tuple[dict[int, Number], ...]
    field: Field
    at_lengths: int

    @cached_property
    def expressions(self) -> tuple[Any, ...]:
        """Every base parameter as a SymPy expression."""
        symbols = [sympy.Symbol(parameter_letter(name).name) for name in self.parameters.names]
        return tuple(sympy.Add(*(self._sympy(x) * symbols[k] for k, x in row.items())) for row in self.coefficients)

    @cached_property
    def formulas(self) -> tuple[str, ...]:
        """Every base parameter as text.

        >>> import dalembert as da
        >>> both = ParameterSet(da.load("planar-2r"), only="nonzero")
        >>> print(*symbolic_base_parameters(both).formulas, sep=chr(10))
        Î_1zz − a_1² (m_1 + m_2) + k_r1² I_m1
        m_1ℓ_C1x + a_1 (m_1 + m_2)
        Î_2zz − a_2² m_2
        m_2ℓ_C2x + a_2 m_2
        I_m2
        """
        return tuple(self._written(k, Text()) for k in range(self.rank))

    @cached_property
    def latex(self) -> tuple[str, ...]:
        """Every base parameter as LaTeX."""
        return tuple(self._written(k, Latex()) for k in range(self.rank))

    @cached_property
    def legend(self) -> tuple[tuple[str, str, float], ...]:
        """The symbols that are not parameters: text, meaning, value."""
        used = {symbol.name for x in self.expressions for symbol in x.free_symbols}
        letters = [letter for name, letter in self._letters.items() if name in used]
        return tuple((letter.text, letter.meaning, float(letter.value or 0.0)) for letter in letters)

    @cached_property
    def K(self) -> Array:
        """K (b, p), with the arm's own lengths."""
        return self.K_at({letter.name: float(letter.value or 0.0) for letter in self.field.letters})

    def K_at(self, values: dict[str, float]) -> Array:
        """K for other values of the symbols, given by their names."""
        out = np.zeros((self.rank, self.parameters.size))
        places = [(r, k, self._raw(x)) for r, row in enumerate(self.coefficients) for k, x in row.items()]
        names = [letter.name for letter in self.field.letters]
        numbers = sympy.lambdify([sympy.Symbol(name) for name in names], [x for _, _, x in places], "math")
        for (r, k, _), x in zip(places, numbers(*(values[name] for name in names)), strict=True):
            out[r, k] = x
        return out

    # -- writing ---------------------------------------------------------------------------------

    def _raw(self, x: Number) -> Any:
        return self.field.domain.to_sympy(x) if self.field.exact else sympy.Float(x)

    def _sympy(self, x: Number) -> Any:
        """The coefficient in SymPy, with cos α and sin α in place of tan α/2."""
        expression = self._raw(x)
        for letter in self.field.letters:
            if letter.kind == "twist":
                expression = _without_half_tangent(expression, letter)
        return expression

    @cached_property
    def _letters(self) -> dict[str, Letter]:
        """The letters by the names of SymPy's symbols."""
        out = {letter.name: letter for letter in self.field.letters if letter.kind != "twist"}
        for tangent in self.field.letters:
            if tangent.kind == "twist":
                k, alpha = tangent.index, 2 * np.arctan(tangent.value or 0.0)
                for word, value in (("cos", np.cos(alpha)), ("sin", np.sin(alpha))):
                    name, latex, text = f"{word[0]}_alpha{k}", rf"\{word}\alpha_{k}", f"{word} α_{k}"
                    out[name] = Letter(name, latex, text, "twist", k, float(value), f"{word} α of row {k}")
        return out

    def _written(self, number: int, style: Text) -> str:
        """The independent parameter first, then the others, grouped by coefficient."""
        own, row = self.independent[number], self.coefficients[number]
        names = [style.name(parameter_letter(name), 1) for name in self.parameters.names]
        groups: dict[Any, list[str]] = {}
        for k in numeric.canonical_order(self.parameters):
            if k in row and k != own:
                groups.setdefault(row[k] if self.field.exact else round(row[k], 9), []).append(names[k])
        factors = [(*written_factor(self._sympy(x), self._letters, style), same) for x, same in groups.items()]
        return assembled(names[own], factors, style)


def base_parameters_of(
    arm: Arm, lengths: str | None = None, tolerance: float | None = None, **columns: Any
) -> BaseParameters | SymbolicBaseParameters:
    """See :meth:`dalembert.Arm.base_parameters`."""
    selection = ParameterSet(arm, **columns)
    if lengths is None:
        return numeric.base_parameters(selection, tolerance=numeric.TOLERANCE if tolerance is None else tolerance)
    return symbolic_base_parameters(selection, lengths)


def has_formula(parameter: Parameter) -> bool:
    """Whether formulas cover a parameter: all except those of position-dependent terms and of shared drives."""
    return parameter.joint >= 0 and (parameter.unit is None or "q" not in parameter.unit.of)


def symbolic_base_parameters(parameters: ParameterSet, lengths: str = "symbols") -> SymbolicBaseParameters:
    """The base parameters as exact formulas: no random state, no tolerance.

    lengths  "symbols": every nonzero length, gear ratio and gravity is a symbol; "numbers": they are the arm's decimal
             fractions (floats, if there are rotations by angles other than multiples of 15°)
    """
    check_choice("lengths", lengths, LENGTHS)
    if parameters.arm.passive_names:
        raise DalembertError(
            f"arm '{parameters.arm.name}' has joints that follow others, for which no formula is available; base_parameters() "
            "computes its base parameters numerically"
        )
    if unknown := [x.name for x in parameters.members if not has_formula(x)]:
        raise DalembertError(
            f"no formula is available for column '{unknown[0]}'; base_parameters() handles it numerically"
        )
    field, hidden = _reduced(parameters, lengths)
    order = numeric.canonical_order(parameters)
    independent = tuple(k for k in order if k not in hidden)
    at = {k: r for r, k in enumerate(independent)}
    rows: list[dict[int, Number]] = [{k: field.one} for k in independent]
    zero = []
    for k in (k for k in order if k in hidden):
        shares = {j: -x for j, x in hidden[k].items() if j != k and not field.none(x)}
        if not shares:
            zero.append(k)
        for j, x in shares.items():
            rows[at[j]][k] = x
    own = parameters.size - len(_reduced(parameters, "numbers")[1]) if lengths == "symbols" else len(independent)
    dependent = tuple(k for k in order if k in hidden and k not in set(zero))
    return SymbolicBaseParameters(parameters, independent, dependent, tuple(sorted(zero)), tuple(rows), field, own)


def _reduced(parameters: ParameterSet, lengths: str) -> tuple[Field, dict[int, dict[int, Number]]]:
    """Hidden changes, one for each dependent column: 1 there, 0 at the other dependent columns."""
    arm = parameters.arm
    shares = [0.0 if body.lifted.is_zero else carried_share(body) for body in arm.mechanism.bodies]
    if max(shares) - min(shares) > SAME or max(shares) > 1.0 - SAME:
        raise DalembertError(
            f"the links of arm '{arm.name}' have different weights, or none, for which no formula is available; "
            "base_parameters() computes its base parameters numerically"
        )
    seats, gravity, field = seats_of(arm.robot, lengths)
    changes = hidden_changes(seats, gravity, field, parameters.rotor, bool(parameters.offset))
    if parameters.two_sided and parameters.offset:  # an offset can be exchanged for opposite changes of the two levels
        changes += [{(i, "offset"): field.one, (i, "Fs+"): -field.one, (i, "Fs-"): field.one} for i in range(arm.n)]
    index = {name: k for k, name in enumerate(parameters.names)}
    # columns that are not in the set come last: a change must not involve them
    vectors = [
        {index.setdefault(f"{kind}_{link + 1}", len(index)): x for (link, kind), x in change.items()}
        for change in changes
    ]
    order = [*numeric.canonical_order(parameters), *range(parameters.size, len(index))]
    return field, {k: vector for k, vector in _echelon(vectors, order, field).items() if k < parameters.size}


def _echelon(vectors: list[dict[int, Number]], order: list[int], field: Field) -> dict[int, dict[int, Number]]:
    """Reduced echelon form, the pivot of a vector being its last column in that order."""
    waiting, reduced = list(vectors), dict[int, dict[int, Number]]()
    for column in reversed(order):
        having = [v for v in waiting if column in v]
        if not having:
            continue
        best = min(having, key=lambda v: field.size(v[column]))
        waiting = [v for v in waiting if v is not best]
        pivot = {k: x / best[column] for k, x in best.items()}
        waiting = [_without(v, column, pivot, field) if column in v else v for v in waiting]
        reduced = {c: _without(v, column, pivot, field) if column in v else v for c, v in reduced.items()}
        reduced[column] = pivot
    return reduced


def _without(v: dict[int, Number], column: int, pivot: dict[int, Number], field: Field) -> dict[int, Number]:
    out, factor = dict(v), v[column]
    for k, x in pivot.items():
        out[k] = out[k] - factor * x if k in out else -factor * x
    del out[column]
    return {k: x for k, x in out.items() if not field.none(x)}


# -- coefficients ------------------------------------------------------------------------------------------


def written_factor(x: Any, letters: dict[str, Letter], style: Text) -> tuple[bool, str]:
    """A coefficient as (whether it is negative, its magnitude); the magnitude 1 is the empty string."""
    top, bottom = sympy.fraction(sympy.together(x)) if letters else (x, sympy.Integer(1))
    terms, negative = _terms(sympy.expand(top), letters, style)
    if bottom != 1:
        below, flipped = _terms(sympy.expand(bottom), letters, style)
        above = f"({_joined(terms, style)})" if len(terms) > 1 else terms[0][1] or "1"
        under = f"({_joined(below, style)})" if len(below) > 1 or " " in below[0][1] else below[0][1]
        whole = (
            rf"\frac{{{above.strip('()')}}}{{{under.strip('()')}}}" if isinstance(style, Latex) else f"{above}/{under}"
        )
        return negative != flipped, whole
    if len(terms) == 1:
        return negative, terms[0][1]
    return negative, f"({_joined(terms, style)})"


def _joined(terms: list[tuple[bool, str]], style: Text) -> str:
    out = ""
    for minus, text in terms:
        out += (f" {style.minus if minus else style.plus} " if out else style.minus if minus else "") + (text or "1")
    return out


def _terms(x: Any, letters: dict[str, Letter], style: Text) -> tuple[list[tuple[bool, str]], bool]:
    """The terms of a sum, (negative, magnitude) each, with signs reversed if the first is negative; and whether they were."""
    signed = []
    for term in x.as_ordered_terms():
        number, factors = term.as_coeff_mul()
        powers, roots = [], []
        for factor in factors:
            base, e = factor.as_base_exp()
            if base.is_Symbol:
                powers.append((letters[base.name], int(e)))
            else:
                roots.append(rf"\sqrt{{{base}}}" if isinstance(style, Latex) else f"√{base}")
        powers.sort(key=lambda pair: pair[0].order)
        value = abs(number)
        plain = bool(letters) and not value.is_Float and value.is_Rational and value.q < 1000
        amount: Any = Fraction(int(value.p), int(value.q)) if plain else float(value)
        if amount == int(amount):
            amount = int(amount)
        words = style.coefficient(amount, roots)
        signed.append((bool(number < 0), " ".join([*words, *(style.name(letter, e) for letter, e in powers)])))
    turned = signed[0][0]
    return [(minus != turned, text) for minus, text in signed], turned


def _without_half_tangent(x: Any, tangent: Letter) -> Any:
    """A quotient of polynomials in t = tan α/2 as one in cos α and sin α.

    Both polynomials are brought to the even degree 2k in S = sin α/2, C = cos α/2; every S^j C^(2k−j) is then expressed
    by S² = (1 − cos α)/2, C² = (1 + cos α)/2 and S C = (sin α)/2.
    """
    t = sympy.Symbol(tangent.name)
    if t not in x.free_symbols:
        return x
    c, s = sympy.Symbol(f"c_alpha{tangent.index}"), sympy.Symbol(f"s_alpha{tangent.index}")
    top, bottom = (sympy.Poly(part, t) for part in sympy.fraction(sympy.cancel(x)))
    k = (max(top.degree(), bottom.degree()) + 1) // 2

    def turned(poly: Any) -> Any:
        total = sympy.Integer(0)
        for (j,), a in poly.terms():
            half, odd = divmod(j, 2)
            total += a * ((1 - c) / 2) ** half * ((1 + c) / 2) ** (k - half - odd) * (s / 2 if odd else 1)
        return sympy.expand(total)

    above, below = turned(top), turned(bottom)
    return sympy.cancel(above / below).subs(c**2 - 1, -(s**2))
