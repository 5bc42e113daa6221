"""Equations, the result of ``arm.equations()``: SymPy, LaTeX, text and numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.errors import DalembertError, ShapeError
from dalembert.mechanics.symbols.body_symbols import BodyStep, steps_of
from dalembert.mechanics.symbols.closed_form import ClosedForm, Progress, closed_form
from dalembert.mechanics.symbols.derivation import derivation
from dalembert.mechanics.symbols.differences import Difference, differences
from dalembert.mechanics.symbols.grouped_sums import Product, Sum, by_angle, by_inertia, grouped, shortest, times
from dalembert.mechanics.symbols.laws import Function
from dalembert.mechanics.symbols.names import TRIGONOMETRIC, Letter, braced
from dalembert.mechanics.symbols.ring import Polynomial, mapped, mapped_half, occurring
from dalembert.mechanics.symbols.symbolic_mechanism import model
from dalembert.mechanics.symbols.symbolic_recursion import SymbolicRecursion
from dalembert.mechanics.symbols.symbolic_regressor import Regressor
from dalembert.mechanics.symbols.sympy_form import angles_of, letters_of, matrix_of, to_sympy
from dalembert.mechanics.symbols.sympy_package import sympy
from dalembert.mechanics.symbols.write import MOTION, Latex, Text, aligned, broken, padded, text_width, wrapped
from dalembert.robot.model.joint_couplings import joints_follow
from dalembert.robot.model.robot import Robot

MANY = 400  # terms of B, C and g above which text() is a summary
PARTS = {
    "Inertia matrix B(q)": "b",
    "Coriolis and centrifugal matrix C(q, q̇)": "C",
    "Gravity g(q)": "g",
    "Equations of motion": "tau",
}


@dataclass(frozen=True)
class EquationValues:
    """B (…, n, n), C (…, n, n), g (…, n) and tau (…, n) at some states."""

    B: Array
    C: Array
    g: Array
    tau: Array


@dataclass(frozen=True)
class BodyEquations:
    """One link, rotor or payload, symbolic: J_P and J_O (3, n), kinetic energy T and potential energy U, as SymPy."""

    J_P: sympy.ImmutableMatrix
    J_O: sympy.ImmutableMatrix
    T: sympy.Expr
    U: sympy.Expr


class Equations:
    """B(q) q̈ + C(q, q̇) q̇ + g(q) + friction = τ, S (7.42), symbolic.

    B, C, g, tau       SymPy matrices; s_2 and c_12 are symbols in them, listed in ``angles``
    T, U, L, N         energies and Lagrangian, S (7.31), (7.36), (7.37), and Ḃ − 2C, S (7.47)
    bodies             {"l1": …, "m2": …}: Jacobians and energies of every link and rotor, S (7.16)–(7.35)
    regressor          Y and π with τ = Y π, S (7.81), (7.83), (7.84)
    tree, gamma, Gamma for closed chains and coupled joints: the equations of the tree, q' = γ(q) and Γ = ∂γ/∂q
    derivation()       the derivation from the Jacobians to the torques, step by step, in LaTeX or text
    q, qd, qdd         SymPy columns of the joint variables and their derivatives
    parameters         {symbol: number} of the letters that occur
    angles             {c_12: cos(theta_1 + theta_2), …}; ``with_angles(e.B)`` substitutes them, so that
                       the result can be differentiated
    recursion          the symbolic steps of S 7.5.2
    loads              {taubar_1: …} for joints whose friction depends on the torque that they transmit
    latex(), text()    all equations, or one term: latex("B11"); term("B11") returns it as SymPy
    evaluate(q, …)     the numbers

    >>> import dalembert as da
    >>> e = da.load("planar-2r").equations()
    >>> e.B[1, 1]
    I_l2 + I_m2*k_r2**2 + l_2**2*m_l2
    >>> print(e.text("C12"))
    C_12 = −m_ℓ2 a_1 ℓ_2 s_2 (ϑ̇_1 + ϑ̇_2)
    """

    def __init__(self, robot: Robot, parameters: str, form: ClosedForm, of: str = "") -> None:
        self.name, self.form, self.n, self.robot = robot.name + of, form, form.n, robot
        self.lettering = parameters  # which numbers have letters: "nonzero", "all" or "numbers"
        self.labels = [x.label for x in form.q]  # the numbers of the joints, as written

    def __repr__(self) -> str:
        return f"<Equations of {self.name!r}: {self.n} joints, {self.size} terms in B, C and g>"

    @property
    def size(self) -> int:
        """The number of terms of B, the Christoffel symbols and g when multiplied out."""
        return sum(map(len, self.form.polynomials()))

    # -- sums, as written ------------------------------------------------------------------------

    @cached_property
    def shown(self) -> ClosedForm:
        """The form as written: lengths that occur only as a difference have their own letter."""
        ring, change = differences(self.form.ring, self.form.polynomials(), self.form.far_ends)
        return self.form.map(change, ring)

    @cached_property
    def _B(self) -> list[list[Sum]]:
        return mapped_half(self.shown.B, by_inertia)

    @cached_property
    def _christoffel(self) -> list[list[list[Sum]]]:
        return [mapped_half(table, shortest) for table in self.shown.christoffel]

    @cached_property
    def _C(self) -> list[list[Sum]]:
        return [[self._coriolis(i, j) for j in range(self.n)] for i in range(self.n)]

    def _coriolis(self, i: int, j: int) -> Sum:
        """c_ij = Σ_k c_ijk q̇_k, S (7.44), with velocities that share the same c_ijk in one bracket."""
        groups: dict[frozenset[Any], list[tuple[int, int]]] = {}
        for k, x in enumerate(self.shown.christoffel[i][j]):
            same, opposite = (frozenset(y.terms.items()) for y in (x, -x))
            if opposite in groups:
                groups[opposite].append((k, -1))
            elif same:
                groups.setdefault(same, []).append((k, 1))
        out: Sum = ()
        for members in groups.values():
            c = self._christoffel[i][j][members[0][0]]
            speeds = tuple(Product(sign, _factor(self.form.qd[k])) for k, sign in members)
            out += times(c, speeds[0].factors) if len(speeds) == 1 else times(c, (), [speeds])
        return out

    @cached_property
    def _g(self) -> list[Sum]:
        return [by_angle(x) for x in self.shown.g]

    @cached_property
    def _friction(self) -> list[Sum]:
        return [grouped(x, lambda letter: letter.kind in MOTION, by_angle=True) for x in self.shown.friction]

    def _tau_parts(self, i: int) -> Iterator[Sum]:
        """τ_i in the terms of S (7.82): accelerations, products of velocities, gravity, friction."""
        yield from self._rigid_parts(i)
        yield self._friction[i]

    def _rigid_parts(self, i: int) -> Iterator[Sum]:
        f = self.form
        for j in range(self.n):
            yield times(self._B[i][j], _factor(f.qdd[j]))
        speeds: Sum = ()
        for j in range(self.n):
            for k in range(j, self.n):
                product = _factor(f.qd[j] * f.qd[k])
                speeds += times(self._christoffel[i][j][k], product, coefficient=1 if j == k else 2)
        yield speeds
        yield self._g[i]

    def _tau(self, i: int) -> Sum:
        return tuple(p for part in self._tau_parts(i) for p in part)

    def _kinetic(self, B: list[list[Sum]]) -> Sum:
        """½ q̇ᵀ B q̇, from the upper half of B."""
        qd, out = self.form.qd, list[Product]()
        for i in range(self.n):
            for j in range(i, self.n):
                out += times(B[i][j], _factor(qd[i] * qd[j]), coefficient=Fraction(1, 2) if i == j else 1)
        return tuple(out)

    def rate(self, rows: Sequence[Polynomial]) -> Sum:
        """Σ_k x_k q̇_k"""
        return tuple(p for x, v in zip(rows, self.form.qd, strict=True) for p in times(shortest(x), _factor(v)))

    def _skew(self, i: int, j: int) -> Sum:
        """n_ij = Σ_k (c_jik − c_ijk) q̇_k, which is ḃ_ij − 2 c_ij"""
        c = self.shown.christoffel
        return self.rate([c[j][i][k] - c[i][j][k] for k in range(self.n)])

    def _velocity_coefficient(self, i: int, j: int, k: int) -> Sum:
        """h_ijk = ∂b_ij/∂q_k − ½ ∂b_jk/∂q_i, S (7.41), with ∂b_ij/∂q_k = c_ijk + c_jik"""
        c, half = self.shown.christoffel, self.shown.ring.number(Fraction(1, 2))
        return shortest(c[i][j][k] + c[j][i][k] - half * (c[j][k][i] + c[k][j][i]))

    # -- SymPy -----------------------------------------------------------------------------------

    @cached_property
    def _letters(self) -> list[Any]:
        """The SymPy object of every letter of the ring."""
        return letters_of(self.shown.ring, self.form.qd)

    def _matrix(self, rows: list[list[Sum]]) -> sympy.ImmutableMatrix:
        return matrix_of(rows, self._letters)

    def _symbols(self, variables: list[Letter]) -> sympy.ImmutableMatrix:
        return sympy.ImmutableMatrix([sympy.Symbol(variable.name) for variable in variables])

    @cached_property
    def q(self) -> sympy.ImmutableMatrix:
        """The joint variables ϑ_i, d_i."""
        return self._symbols(self.form.q)

    @cached_property
    def qd(self) -> sympy.ImmutableMatrix:
        """The joint velocities."""
        return self._symbols([x.letter for x in self.form.qd])

    @cached_property
    def qdd(self) -> sympy.ImmutableMatrix:
        """The joint accelerations."""
        return self._symbols([x.letter for x in self.form.qdd])

    @cached_property
    def B(self) -> sympy.ImmutableMatrix:
        """The inertia matrix B(q), S (7.32)."""
        return self._matrix(self._B)

    @cached_property
    def C(self) -> sympy.ImmutableMatrix:
        """The matrix C(q, q̇) of Christoffel symbols, S (7.44), (7.45)."""
        return self._matrix(self._C)

    @cached_property
    def g(self) -> sympy.ImmutableMatrix:
        """The gravity torques g(q), S (7.39)."""
        return self._matrix([[x] for x in self._g])

    @cached_property
    def T(self) -> sympy.Expr:
        """The kinetic energy T = ½ q̇ᵀ B q̇, S (7.31)."""
        return self.term("T")

    @cached_property
    def U(self) -> sympy.Expr:
        """The potential energy U, S (7.36): zero for a mass at the origin of the base."""
        return self.term("U")

    @cached_property
    def L(self) -> sympy.Expr:
        """The Lagrangian L = T − U, S (7.1), (7.37)."""
        return self.term("L")

    @cached_property
    def N(self) -> sympy.ImmutableMatrix:
        """N = Ḃ − 2C, which is skew-symmetric, S (7.47), (7.48)."""
        return self._matrix([[self._skew(i, j) for j in range(self.n)] for i in range(self.n)])

    @cached_property
    def regressor(self) -> Regressor:
        """Y and π with τ = Y π, S (7.81), (7.83), (7.84)."""
        return Regressor(self.form, self._augmented(), self.lettering == "numbers", self.with_angles)

    def _augmented(self) -> ClosedForm:
        """The closed form of the same robot with parameters="all"."""
        return closed_form(model(self.robot, "all", self.labels))

    @cached_property
    def steps(self) -> list[BodyStep]:
        """Every link and rotor separately, as polynomials: the basis of ``bodies`` and ``derivation``."""
        assert self.form.tree is not None
        return steps_of(self.form.tree)

    @cached_property
    def tree(self) -> Equations:
        """The equations of the tree whose joints follow q; for an ordinary arm, these equations themselves."""
        return self

    @cached_property
    def bodies(self) -> dict[str, BodyEquations]:
        """J_P, J_O, T and U of every link "l1", rotor "m1" and of the payload "L", S (7.16)–(7.35).

        For a closed chain they are functions of the joint variables of its tree, ``tree.q``.

        >>> import dalembert as da
        >>> da.load("planar-2r").equations().bodies["m2"].J_O[2, :]
        Matrix([[1, k_r2]])
        """
        if self.tree is not self:
            return self.tree.bodies

        def body(step: BodyStep) -> BodyEquations:
            J_P, J_O = (self._matrix(mapped(rows, by_inertia)) for rows in (step.J_P, step.J_O))
            T, U = (to_sympy(x, self._letters) for x in self.energies(step))
            return BodyEquations(J_P, J_O, T, U)

        return {step.label.name: body(step) for step in self.steps}

    def energies(self, step: BodyStep) -> tuple[Sum, Sum]:
        """T and U of one body, S (7.20), (7.30), (7.34), (7.35)."""
        return self._kinetic(mapped(step.B, by_inertia)), by_angle(step.U)

    @cached_property
    def Gamma(self) -> sympy.ImmutableMatrix:
        """Γ = ∂γ/∂q, (N, n): the dependence of the joints of the tree on q; the identity for an ordinary arm."""
        return self.gamma.jacobian(self.q)

    @cached_property
    def gamma(self) -> sympy.ImmutableMatrix:
        """γ(q), the joint variables of the tree as functions of q; q itself for an ordinary arm.

        >>> import dalembert as da
        >>> da.load("parallelogram").equations().gamma.T
        Matrix([[theta_1', -theta_1' + theta_1'', theta_1' - theta_1'' + pi, theta_1'']])
        """
        return self.q

    @cached_property
    def friction(self) -> sympy.ImmutableMatrix:
        """F_v q̇ + F_s sgn q̇, S (7.42), and further terms."""
        return self._matrix([[x] for x in self._friction])

    @cached_property
    def tau(self) -> sympy.ImmutableMatrix:
        """The joint torques τ, S (7.42), (7.82)."""
        return self._matrix([[self._tau(i)] for i in range(self.n)])

    def _used(self, f: ClosedForm, *energy: Polynomial) -> list[tuple[int, Letter]]:
        """The letters that occur in B, C, g, friction and ``energy``, with their numbers."""
        used = {f.ring.letters[k].name for k in occurring((*f.polynomials(), *f.friction, *energy))}
        used |= {x.name for law in self._laws for x in law.uses}
        known = [(k, letter) for k, letter in enumerate(f.ring.letters) if letter.name in used]
        within = {part.name for _, x in known if isinstance(x, Difference) for _, part in x.parts} - used
        known += [(k, letter) for k, letter in enumerate(f.ring.letters) if letter.name in within]
        return sorted(known, key=lambda pair: pair[1].order)

    @cached_property
    def _laws(self) -> list[Function]:
        """The functions of further friction terms."""
        return [letter for letter in self.form.ring.letters if isinstance(letter, Function)]

    @cached_property
    def _loads(self) -> dict[int, Letter]:
        """The loads on which friction depends, by joint from 0."""
        return {x.index - 1: x for law in self._laws for x in law.uses if x.kind == "load"}

    @cached_property
    def parameters(self) -> dict[sympy.Symbol, float]:
        """The value of every letter that is a parameter."""
        return {
            self._letters[k]: float(x.value or 0.0) for k, x in self._used(self.form, self.form.U) if x.is_parameter
        }

    @property
    def written_letters(self) -> list[Letter]:
        """The letters in B, C, g and the torques as written, in the order of the legend."""
        return [letter for _, letter in self._used(self.shown)]

    @cached_property
    def angles(self) -> dict[sympy.Symbol, sympy.Expr]:
        """The expressions for s_2, c_12, …"""
        return angles_of([letter for _, letter in self._used(self.form, self.form.U)], self.form.q)

    @cached_property
    def loads(self) -> dict[sympy.Symbol, sympy.Expr]:
        """The expressions for taubar_1, …: the torque of the joint without its own friction and springs."""
        out = {}
        for i, load in self._loads.items():
            carried = grouped(self.shown.carried[i], lambda letter: letter.kind in MOTION, by_angle=True)
            parts = (to_sympy(part, self._letters) for part in (*self._rigid_parts(i), carried))
            out[sympy.Symbol(load.name)] = sympy.Add(*parts)
        return out

    def with_angles(self, expression: Any) -> Any:
        """The expression or matrix with cos(theta_1 + theta_2) substituted for c_12 and so on, and with the loads substituted."""
        return expression.xreplace(self.loads).xreplace(self.angles)

    @cached_property
    def recursion(self) -> SymbolicRecursion:
        """Every step of the symbolic Newton–Euler recursion, S (7.107)–(7.114), for small open arms.

        >>> import dalembert as da
        >>> da.load("planar-2r").equations().recursion.omega_dot_m[1].T  # S 7.5.3
        Matrix([[0, 0, k_r2*thetaddot_2 + thetaddot_1]])
        """
        if joints_follow(self.robot):
            raise DalembertError(
                f"'{self.name}' has joints that follow others, and the recursion runs on its tree: "
                "use arm.tree.equations().recursion"
            )
        return SymbolicRecursion(self.robot, self.lettering, self.form.ring.letters)

    # -- one term --------------------------------------------------------------------------------

    def named(self, name: str) -> tuple[str, str, Sum]:
        """(text, LaTeX, sum) of a term called B11, C12, g1, tau2, F1, N12, c112 (Christoffel), h112 (7.41), T, U or L."""
        if not isinstance(name, str):
            raise DalembertError(f"a term is {name!r}; it must be a name, such as 'B12', 'g1' or 'tau2'")
        if (energy := name.strip()) in ("T", "U", "L"):
            T, U = self._kinetic(self._B), by_angle(self.shown.U)
            L = T + tuple(replace(p, coefficient=-p.coefficient) for p in U)
            return energy, rf"\mathcal{{{energy}}}", {"T": T, "U": U, "L": L}[energy]
        match = re.fullmatch(r"(tau|τ|[bcgfhn])_?\{?(\d+(?:,\d+)*)\}?", name.strip().lower())
        digits = [] if match is None else [int(d) for d in (match[2].split(",") if "," in match[2] else match[2])]
        if match is not None and match[1] in ["g", "f", "tau", "τ"] and "," not in match[2]:
            digits = [int(match[2])]
        letter = "" if match is None else match[1].replace("τ", "tau")
        wanted = {"b": (2,), "c": (2, 3), "g": (1,), "tau": (1,), "f": (1,), "h": (3,), "n": (2,)}.get(letter, ())
        if len(digits) not in wanted or not all(1 <= d <= self.n for d in digits):
            raise DalembertError(
                f"there is no term '{name}'; '{self.name}' has B11 … B{self.n}{self.n}, C11 … C{self.n}{self.n}, "
                f"g1 … g{self.n}, tau1 … tau{self.n}, F1 … F{self.n} (friction), N11 … (Ḃ − 2C), Christoffel symbols c111 …, h111 … of (7.41) and the energies T, U and L"
            )
        return self.entry("C" if letter == "c" and len(digits) == 2 else letter, *(d - 1 for d in digits))

    def entry(self, letter: str, *at: int) -> tuple[str, str, Sum]:
        """(text, LaTeX, sum) of an entry, from 0, of b, C, c (Christoffel), g, f (friction), h (7.41), n or tau."""
        sub = ("," if max(at) > 8 else "").join(self.labels[i] for i in at)
        terms: dict[str, Callable[..., Sum]] = {
            "b": lambda i, j: self._B[i][j],
            "C": lambda i, j: self._C[i][j],
            "c": lambda i, j, k: self._christoffel[i][j][k],
            "g": lambda i: self._g[i],
            "f": lambda i: self._friction[i],
            "h": self._velocity_coefficient,
            "n": self._skew,
            "tau": self._tau,
        }
        text, latex = {"tau": ("τ", r"\tau"), "f": ("F", "F")}.get(letter, (letter, letter))
        return f"{text}_{sub}", f"{latex}_{braced(sub)}", terms[letter](*at)

    def term(self, name: str) -> sympy.Expr:
        """One entry as SymPy: B11, C12, g1, tau2, F1 (friction), N12, c112 (a Christoffel symbol), h112 (7.41), T, U, L."""
        return to_sympy(self.named(name)[2], self._letters)

    # -- text and LaTeX --------------------------------------------------------------------------

    def text(self, term: str | None = None, *, whole: bool = False, progress: Progress | None = None) -> str:
        """The equations, or one term, as plain text. Very large equations are summarised unless ``whole`` is true."""
        if term is not None:
            name, _, terms = self.named(term)
            return broken(f"{name} = ", Text().terms(self.shown.ring, terms))
        if self.size > MANY and not whole:
            return self._summary()
        lines: list[str] = []
        for k, (title, names) in enumerate(PARTS.items(), 1):
            lines += [title, *self._text_part(names), ""]
            if progress:
                progress(k / len(PARTS))
        return "\n".join(lines) + "\n" + self.legend()

    def places(self, letter: str) -> list[tuple[int, ...]]:
        """The indices of the entries of b (its upper half), C, g or tau."""
        n = range(self.n)
        if letter in ("g", "tau"):
            return [(i,) for i in n]
        return [(i, j) for i in n for j in n if letter == "C" or j >= i]

    def left_side(self, style: Text, letter: str, *at: int) -> str:
        """The left-hand side of an entry's equation: b_12 = b_21."""
        alike = dict.fromkeys((at, at[::-1])) if letter == "b" else (at,)
        return " = ".join(style.of(*self.entry(letter, *x)[:2]) for x in alike)

    def written_torque(self, i: int, style: Text) -> list[str]:
        """The terms of τ_i, i from 0, one per line."""
        return [style.line(self.shown.ring, x) for x in self._tau_parts(i) if x] or ["0"]

    def _text_part(self, letter: str) -> Iterator[str]:
        ring, zero = self.shown.ring, []
        for at in self.places(letter):
            short, _, terms = self.entry(letter, *at)
            if letter == "tau":
                start, *rest = self.written_torque(at[0], Text())
                yield wrapped(f"  {short} = {start}", 8)
                for part in rest:
                    yield wrapped("      " + (f"− {part[1:]}" if part.startswith("−") else f"+ {part}"), 8)
            elif terms:
                yield broken(f"  {self.left_side(Text(), letter, *at)} = ", Text().terms(ring, terms))
            else:
                zero.append(short)
        if zero:
            yield "  " + (" = ".join(zero) if len(zero) <= 8 else "all others") + " = 0"

    def legend(self) -> str:
        """The meanings of the letters, with their values."""
        rows = [(x.text, f"{x.value:.6g}", x.meaning) for x in self.written_letters if x.is_parameter]
        for i, load in self._loads.items():
            number = load.text.partition("_")[2]
            own = f"τ_{number} − f_{number}" if self.form.carried[i] else f"τ_{number} − F_{number}"
            rows.append((load.text, own, f"load of joint {number}: its torque without its own friction and springs"))
        if not rows:
            return ""
        wide = [max(map(text_width, column)) for column in list(zip(*rows, strict=True))[:2]]
        lines = (f"  {padded(a, wide[0])} = {padded(b, wide[1])}  {c}".rstrip() for a, b, c in rows)
        return "Letters (SI units)\n" + "\n".join(lines) + "\n"

    def _summary(self) -> str:
        f = self.form
        lines = [f"{self.name}: {self.n} joints, {self.size} terms in B, C and g: too many to read at once.", ""]
        c = [[sum(map(len, row)) for row in table] for table in f.christoffel]
        for name, sizes in (("b_ij", mapped(f.B, len)), ("c_ij", c), ("g_i", [mapped(f.g, len)])):
            lines += [f"terms of {name}", *("  " + "".join(f"{size:>7}" for size in row) for row in sizes)]
        lines += ["", "One term: text('B11') or --term B11. All terms: latex() or --latex.", ""]
        return "\n".join(lines)

    def latex(self, term: str | None = None, *, progress: Progress | None = None) -> str:
        """The equations as a LaTeX ``align*`` (amsmath), or the right-hand side of one term.

        Zero entries of B, C and g are left out if there are more than three joints.
        """
        ring, style = self.shown.ring, Latex()
        if term is not None:
            return style.line(ring, self.named(term)[2])
        lines = []
        for k, letter in enumerate(PARTS.values(), 1):
            for at in self.places(letter):
                _, short, terms = self.entry(letter, *at)
                if letter == "tau":
                    lines += aligned(short, self.written_torque(at[0], style))
                elif terms or self.n <= 3:
                    lines += aligned(self.left_side(style, letter, *at), [style.line(ring, terms)])
            if progress:
                progress(k / len(PARTS))
        lines += [rf"{x.latex} &= {x.latex_of_parts}" for x in self.written_letters if isinstance(x, Difference)]
        return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}"

    def derivation(self, form: str = "latex") -> str:
        """The derivation step by step, as the body of a LaTeX document (amsmath) or, with "text", as plain text.

        Jacobians and energies of every link and rotor, T, U, B, Christoffel symbols, C, Ḃ − 2C, g, the torques and the
        regressor, each with its equation number in S. For a closed chain these are the steps of its tree, followed by Γ and
        the equations of the chain. Everything is computed, by :mod:`dalembert.mechanics.equations.lagrange` evaluated on these
        letters.

        >>> import dalembert as da
        >>> print(*da.load("pendulum").equations().derivation("text").splitlines()[:6], sep=chr(10))
        Jacobians of the links, S (7.16)–(7.19)
          J_P^(ℓ1) = ⎡ ℓ_1 c_1 ⎤   J_O^(ℓ1) = ⎡ 0 ⎤
                     ⎢ ℓ_1 s_1 ⎥              ⎢ 0 ⎥
                     ⎣ 0       ⎦              ⎣ 1 ⎦
        <BLANKLINE>
        Jacobians of the rotors, S (7.25)–(7.29)
        """
        styles = {"latex": Latex(), "text": Text()}
        if form not in styles:
            raise DalembertError(f"form is '{form}'; it must be one of {', '.join(styles)}")
        if self.tree.size > MANY:
            raise DalembertError(
                f"the derivation for '{self.name}' is too long to read: {self.tree.size} terms in B, C and g, and the limit is "
                f"{MANY}; text() and latex() give the equations"
            )
        return derivation(self, styles[form])

    def _repr_latex_(self) -> str | None:
        return self.latex() if self.size <= MANY else None

    # -- numbers ---------------------------------------------------------------------------------

    def evaluate(
        self, q: Any, qd: Any = None, qdd: Any = None, parameters: Mapping[Any, float] | None = None
    ) -> EquationValues:
        """B, C, g and τ at states (…, n); velocities and accelerations are zero by default. ``parameters`` replaces values.

        >>> import dalembert as da
        >>> da.load("planar-2r").equations().evaluate([0.0, 0.0], parameters={"m_l2": 0.0}).g.round(2)
        array([294.3,   0. ])
        """
        x, v, a = np.broadcast_arrays(*(np.asarray(0.0 if y is None else y, float) for y in (q, qd, qdd)))
        if x.ndim == 0 or x.shape[-1] != self.n:
            raise ShapeError(
                f"q has shape {x.shape}, but '{self.name}' has {self.n} joints: the last axis must be {self.n}"
            )
        values = self._values(x, v, a, self._given(parameters))
        f, shape, known = self.form, x.shape[:-1], dict[int, Array]()

        def at(table: Any) -> Array:
            """The values (…, n, …) of nested lists of polynomials, half of which occur twice in B and in c_ijk."""
            if not isinstance(table, Polynomial):
                return np.stack([at(entry) for entry in table], len(shape))
            if id(table) not in known:
                known[id(table)] = np.broadcast_to(table.value(values), shape)
            return known[id(table)]

        B, c, g = at(f.B), at(f.christoffel), at(f.g)
        C = sum((c[..., k] * v[..., k, None, None] for k in range(self.n)), start=np.zeros_like(B))
        tau = np.einsum("...ij,...j->...i", B, a) + np.einsum("...ij,...j->...i", C, v) + g
        if self._loads:
            values = self._values(x, v, a, self._given(parameters), tau + at(f.carried))
        return EquationValues(B, C, g, tau + at(f.friction))

    def _given(self, parameters: Mapping[Any, float] | None) -> dict[str, float]:
        """The values of all parameters by name, with the given ones replaced."""
        known = {letter.name: letter.value for letter in self.form.ring.letters if letter.value is not None}
        given = {str(name): float(value) for name, value in (parameters or {}).items()}
        if unknown := set(given) - set(known):
            raise DalembertError(f"the equations of '{self.name}' have no parameter '{sorted(unknown)[0]}'")
        return known | given

    def _values(self, q: Array, qd: Array, qdd: Array, numbers: dict[str, float], load: Any = None) -> list[Any]:
        """The value of every letter; functions that need a load only if the load is given."""
        out: list[Any] = []
        for letter in self.form.ring.letters:
            if letter.value is not None:
                out.append(numbers[letter.name])
            elif isinstance(letter, Function):
                needs = load is None and any(used.kind == "load" for used in letter.uses)
                out.append(None if needs else letter.at({"velocity": qd, "slide": q, "load": load}, numbers))
            elif letter.kind in TRIGONOMETRIC:
                angle = sum(factor * q[..., j - 1] for j, factor in letter.angle) + letter.phase
                out.append(np.cos(angle) if letter.kind == "cosine" else np.sin(angle))
            elif letter.kind == "sign":
                out.append(np.sign(sum(factor * qd[..., j - 1] for j, factor in letter.angle)))
            else:
                out.append({"slide": q, "velocity": qd, "acceleration": qdd}[letter.kind][..., letter.index - 1])
        return out


def _factor(x: Polynomial) -> tuple[tuple[int, int], ...]:
    (monomial,) = x.terms
    return tuple(x.ring.exponents(monomial))
