"""The symbolic regressor: τ = Y(q, q̇, q̈) π, S (7.81), with the parameters of S (7.77) that matter, as S (7.83), (7.84)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from dalembert.base.environment.cached_property import cached_property
from dalembert.mechanics.symbols.closed_form import ClosedForm
from dalembert.mechanics.symbols.differences import differences
from dalembert.mechanics.symbols.grouped_sums import Sum, by_inertia, grouped
from dalembert.mechanics.symbols.names import Letter
from dalembert.mechanics.symbols.ring import Polynomial, occurring
from dalembert.mechanics.symbols.symbolic_mechanism import model
from dalembert.mechanics.symbols.sympy_form import angles_of, letters_of, matrix_of
from dalembert.mechanics.symbols.sympy_package import sympy
from dalembert.mechanics.symbols.write import MOTION, Latex, Text, aligned, broken
from dalembert.robot.model.robot import Robot


class Regressor:
    """Y and π with τ = Y π, S (7.81): only nonzero parameters on which the torques depend.

    Y            SymPy matrix (n, p); s_2 and c_12 are symbols in it, which ``with_angles`` replaces
    pi           SymPy column (p, 1): π_k in the letters of the equations, S (7.83)
    names        of the parameters, as in S (7.77): m_1, ml_1x (m_1 ℓ_C1x), Ih_1zz (Î_1zz), I_m1, …
    parameters   {symbol: number} of the letters that occur in Y and π
    text(), latex()

    >>> import dalembert as da
    >>> print(da.load("pr-arm").equations().regressor.text())
    π_1 = m_1 = m_ℓ1 + m_m2
    π_2 = I_m1
    π_3 = m_2 = m_ℓ2
    π_4 = m_2ℓ_C2x = m_ℓ2 (ℓ_2 − a_2)
    π_5 = Î_2zz = I_ℓ2 + m_ℓ2 (ℓ_2 − a_2)²
    π_6 = I_m2
    <BLANKLINE>
    y_11 = d̈_1
    y_12 = k_r1² d̈_1
    y_13 = d̈_1 − a_2 s_2 ϑ̈_2 − a_2 c_2 ϑ̇_2²
    y_14 = −s_2 ϑ̈_2 − c_2 ϑ̇_2²
    y_23 = −a_2 s_2 d̈_1 + a_2² ϑ̈_2 + a_2 g c_2
    y_24 = −s_2 d̈_1 + 2 a_2 ϑ̈_2 + g c_2
    y_25 = ϑ̈_2
    y_26 = k_r2² ϑ̈_2
    all others = 0
    <BLANKLINE>
    """

    def __init__(
        self, form: ClosedForm, augmented: ClosedForm, numbers: bool, with_angles: Callable[[Any], Any]
    ) -> None:
        """``form`` is in its own letters, ``augmented`` the same robot with parameters="all", ``with_angles`` that of Equations."""
        self._form, self._augmented, self._with_angles = form, augmented, with_angles
        columns = list(_columns(form, augmented, numbers))
        self._y = [[y[i] for _, _, y in columns] for i in range(form.n)]
        self._ring, spelt = differences(form.ring, [parameter for _, parameter, _ in columns], {}, spelt=True)
        self._pi = [by_inertia(spelt(parameter)) for _, parameter, _ in columns]
        self._titles = [letter for letter, _, _ in columns]
        self.names = tuple(x.name for x in self._titles)

    def __repr__(self) -> str:
        return f"<Regressor: {len(self._y)} torques, {len(self.names)} parameters>"

    @cached_property
    def _sums(self) -> list[list[Sum]]:
        return [[_by_motion(x) for x in row] for row in self._y]

    @cached_property
    def Y(self) -> sympy.ImmutableMatrix:
        """The regressor Y(q, q̇, q̈), S (7.84)."""
        return matrix_of(self._sums, letters_of(self._augmented.ring, self._augmented.qd))

    @cached_property
    def pi(self) -> sympy.ImmutableMatrix:
        """The parameters π, S (7.83)."""
        return matrix_of([[x] for x in self._pi], letters_of(self._ring, self._form.qd))

    @cached_property
    def parameters(self) -> dict[sympy.Symbol, float]:
        """The values of the letters in Y and π."""
        used = {x.name for x in self.Y.free_symbols | self.pi.free_symbols}
        letters = [x for ring in (self._augmented.ring, self._form.ring) for x in ring.letters]
        return {sympy.Symbol(x.name): float(x.value or 0.0) for x in letters if x.name in used and x.is_parameter}

    def with_angles(self, expression: Any) -> Any:
        """The expression or matrix with cos(theta_1 + theta_2) substituted for c_12 and so on, and with the loads substituted."""
        return self._with_angles(expression.xreplace(angles_of(self._augmented.ring.letters, self._augmented.q)))

    def rows(self, style: Text) -> Iterator[tuple[str, list[str]]]:
        """(left-hand side, terms) of every π_k and of every nonzero entry of Y."""
        latex = isinstance(style, Latex)
        pi, comma = (r"\pi" if latex else "π"), "," if len(self.names) > 9 else ""
        for k, (letter, x) in enumerate(zip(self._titles, self._pi, strict=True), 1):
            name, terms = style.name(letter, 1), style.terms(self._ring, x)
            below = f"{pi}_{{{k}}}" if latex else f"{pi}_{k}"
            yield (below, terms) if terms == [name] else (f"{below} = {name}", terms)
        for i, row in enumerate(self._sums, 1):
            for k, x in enumerate(row, 1):
                if x:
                    below = f"y_{{{i}{comma}{k}}}" if latex else f"y_{i}{comma}{k}"
                    yield below, style.terms(self._augmented.ring, x)

    def text(self) -> str:
        """π and Y as plain text."""
        lines = [broken(f"{name} = ", terms) for name, terms in self.rows(Text())]
        return "\n".join([*lines[: len(self.names)], "", *lines[len(self.names) :], "all others = 0", ""])

    def latex(self) -> str:
        """π and Y as a LaTeX ``align*`` (amsmath)."""
        style = Latex()
        lines = [line for name, terms in self.rows(style) for line in aligned(name, [" ".join(style.signed(terms))])]
        return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}"


def parameters_with_payload(robot: Robot) -> list[tuple[str, str]]:
    """The parameters of S (7.77) to which a payload contributes: name and expression, as text."""
    symbolic = model(robot)
    ring, spelt = differences(symbolic.ring, [x for _, x in symbolic.pi], {}, spelt=True)
    out = []
    for name, x in symbolic.pi:
        if any(re.fullmatch(r"[mIl]_L\w*", symbolic.ring.letters[k].name) for k in occurring([x])):
            out.append((name.text, Text().line(ring, by_inertia(spelt(x)))))
    return out


def _columns(
    form: ClosedForm, augmented: ClosedForm, numbers: bool
) -> Iterator[tuple[Letter, Polynomial, list[Polynomial]]]:
    """The letters of ``augmented`` in which τ is linear, their expressions in those of ``form``, and ∂τ/∂π_k."""
    ring, torques = augmented.ring, [_torque(augmented, i) for i in range(augmented.n)]
    inertial = {name.name: k for k, (name, _) in enumerate(form.pi)}
    expressions = {name.name: x for name, x in form.pi}
    in_friction = occurring(augmented.friction)
    known = {letter.name: form.ring.known(k) for k, letter in enumerate(form.ring.letters)}
    order = {k: (letter.index, inertial.get(letter.name, len(inertial)), k) for k, letter in enumerate(ring.letters)}
    linear = [
        k for k, x in enumerate(ring.letters) if x.name in inertial or (x.kind == "friction" and k in in_friction)
    ]
    for k in sorted(linear, key=order.__getitem__):
        letter = ring.letters[k]
        parameter = expressions.get(letter.name)
        if parameter is None:
            parameter = form.ring.number(letter.value) if numbers else known[letter.name]
        y = [x.derivative({k: {0: 1}}) for x in torques]
        if any(y) and parameter:
            yield letter, parameter, [_in_numbers(x) for x in y] if numbers else y


def _torque(form: ClosedForm, i: int) -> Polynomial:
    """τ_i, S (7.42)."""
    n = range(form.n)
    tau = form.g[i] + form.friction[i]
    for j in n:
        tau = tau + form.B[i][j] * form.qdd[j]
        for k in n:
            tau = tau + form.christoffel[i][j][k] * (form.qd[j] * form.qd[k])
    return tau


def _in_numbers(x: Polynomial) -> Polynomial:
    """The polynomial with numbers for lengths, gear ratios and gravity."""
    return x.put({k: x.ring.number(y.value) for k, y in enumerate(x.ring.letters) if y.is_parameter}, x.ring)


def _by_motion(x: Polynomial) -> Sum:
    """The grouping of y_ij in S: accelerations, products of velocities, the rest; each with its factor in a bracket."""
    ring, parts = x.ring, {kind: dict[int, Any]() for kind in ("acceleration", "velocity", "")}
    for monomial, c in x.terms.items():
        kinds = {ring.letters[k].kind for k, _ in ring.exponents(monomial)}
        parts[next((kind for kind in parts if kind in kinds), "")][monomial] = c
    out: Sum = ()
    for terms in parts.values():
        out += grouped(Polynomial(ring, terms), lambda letter: letter.kind in MOTION, by_angle=True)
    return out
