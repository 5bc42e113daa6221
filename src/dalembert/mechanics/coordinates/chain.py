"""From independent coordinates to those of the tree: q = γ(q_a), q̇ = Γ q̇_a, q̈ = Γ q̈_a + Γ̇ q̇_a.

For an open arm γ is the identity. Coupled joints are functions of the joints that they follow, q̇_p = S q̇_k. In a
closed chain the loops are cut, and the passive joints of the remaining tree follow from the actuated ones.
Γ = ∂γ/∂q_a is never obtained by differentiation: the velocity constraint of the loop,
Φ_p q̇_p + Φ_k q̇_k = 0, gives its columns, and the same equation differentiated once more gives Γ̇. Applied
in reverse, Φ_pᵀ λ = τ_p, it gives the force λ at the cut: the passive joints have no motor, so the loop must
exert what the tree requires of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dalembert.base.algebra.scalars import Grid, Scalar, Values, atan2, cos, dot, less, select, sin, sqrt, zeros
from dalembert.mechanics.coordinates.closure import Closure, CoupledMechanism, Linear, PolynomialClosure
from dalembert.mechanics.coordinates.formula import Formula
from dalembert.mechanics.coordinates.loop_closure import Plane, joined, rates, stacked
from dalembert.mechanics.coordinates.triangles import Triangle, triangle_places
from dalembert.robot.model.mechanism import Mechanism

AnyMechanism = Mechanism | CoupledMechanism
NAN = float("nan")
SINGULAR = 1e-9  # sine of the angle between the directions in which the two passive joints move the cut


class Angle:
    """A joint position given by its cosine and sine; a constant may be added to it."""

    __slots__ = ("_cos", "_sin", "shift")

    def __init__(self, c: Scalar, s: Scalar, shift: float = 0.0) -> None:
        self._cos, self._sin, self.shift = c, s, shift

    def __add__(self, other: float) -> Angle:
        return Angle(self._cos, self._sin, self.shift + other)

    __radd__ = __add__

    def cos(self) -> Scalar:
        """cos x"""
        c, s = _turn(self.shift)
        return c * self._cos - s * self._sin if s else c * self._cos

    def sin(self) -> Scalar:
        """sin x"""
        c, s = _turn(self.shift)
        return s * self._cos + c * self._sin if s else c * self._sin

    def radians(self) -> Scalar:
        """x between −π and π"""
        return atan2(self.sin(), self.cos())


def _turn(angle: float) -> tuple[float, float]:
    return (cos(angle), sin(angle)) if abs(angle) > 1e-15 else (1.0, 0.0)


def _sum_of(weights: Values, values: Values) -> Scalar:
    total: Scalar = 0.0
    for w, x in zip(weights, values, strict=True):
        if isinstance(w, float) and w in (0.0, 1.0, -1.0):
            total = total if w == 0.0 else total + x if w > 0 else total - x
        else:
            total = total + w * x
    return total


# -- dependence of passive joints ----------------------------------------------------------------


class _Two:
    """Two equations for two passive joints: the inverse of a 2×2 matrix given by columns."""

    def __init__(self, columns: Sequence[Values]) -> None:
        (a, c), (b, d) = columns
        det = a * d - b * c
        sizes = (a * a + c * c) * (b * b + d * d)
        over = 1.0 / select(less(det * det, SINGULAR * SINGULAR * sizes), NAN, det)
        self.a, self.b, self.c, self.d = a * over, b * over, c * over, d * over

    def solve(self, y: Values) -> list[Scalar]:
        return [self.d * y[0] - self.b * y[1], self.a * y[1] - self.c * y[0]]

    def solve_transposed(self, t: Values) -> list[Scalar]:
        return [self.d * t[0] - self.c * t[1], self.a * t[1] - self.b * t[0]]


class Many:
    """m ≥ p consistent equations for p passive joints: Φ_p = Q R by Gram–Schmidt, applied twice for accuracy."""

    def __init__(self, columns: Sequence[Values]) -> None:
        self.Q: Grid = []
        self.R = zeros(len(columns))
        self.over: list[Scalar] = []
        for k, column in enumerate(columns):
            v = list(column)
            first = dot(v, v)
            for _ in range(2):
                for j, e in enumerate(self.Q):
                    along = dot(v, e)
                    self.R[j][k] = self.R[j][k] + along
                    v = [x - along * y for x, y in zip(v, e, strict=True)]
            left = dot(v, v)
            self.over.append(1.0 / sqrt(select(less(left, SINGULAR * SINGULAR * first), NAN, left)))
            self.Q.append([x * self.over[k] for x in v])

    def solve(self, y: Values) -> list[Scalar]:
        x: list[Scalar] = [0.0] * len(self.Q)
        for k in reversed(range(len(x))):
            rest = dot(self.Q[k], y)
            for j in range(k + 1, len(x)):
                rest = rest - self.R[k][j] * x[j]
            x[k] = rest * self.over[k]
        return x

    def solve_transposed(self, t: Values) -> list[Scalar]:
        """The minimum-norm λ with Φ_pᵀ λ = t."""
        z: list[Scalar] = []
        for k in range(len(self.Q)):
            rest = t[k]
            for j in range(k):
                rest = rest - self.R[j][k] * z[j]
            z.append(rest * self.over[k])
        return [dot(z, [e[r] for e in self.Q]) for r in range(len(self.Q[0]))]


@dataclass
class Cut:
    """Some loops and the passive joints that they determine: Φ_p q̇_p + Φ_k q̇_k = 0."""

    loops: tuple[int, ...]
    passive: tuple[int, ...]
    known: tuple[int, ...]
    inverse: _Two | Many
    columns: dict[int, list[Scalar]]
    columns_dot: dict[int, list[Scalar]]

    def follow(self, v: list[Scalar]) -> None:
        """Set the passive entries of v from the known ones: v_p = −Φ_p⁻¹ Φ_k v_k."""
        self._set(v, self._times(self.columns, self.known, v))

    def drift(self, v: list[Scalar], column: Values) -> None:
        """The same for Γ̇: v_p = −Φ_p⁻¹ (Φ_k v_k + Φ̇ column)."""
        y = self._times(self.columns, self.known, v)
        yd = self._times(self.columns_dot, (*self.known, *self.passive), column)
        self._set(v, [a + b for a, b in zip(y, yd, strict=True)])

    def _set(self, v: list[Scalar], y: Values) -> None:
        for i, x in zip(self.passive, self.inverse.solve(y), strict=True):
            v[i] = -x

    def _times(self, columns: dict[int, list[Scalar]], joints: Sequence[int], v: Values) -> list[Scalar]:
        m = len(next(iter(self.columns.values())))
        return [dot([columns[j][r] for j in joints], [v[j] for j in joints]) for r in range(m)]

    def pull(self, tau: list[Scalar]) -> list[Scalar]:
        """Transfer the torques of the passive joints to the known ones; returns the force λ at the cuts."""
        force = self.inverse.solve_transposed([tau[i] for i in self.passive])
        for j in self.known:
            tau[j] = tau[j] - dot(self.columns[j], force)
        return force

    def differentiate(self, chain: Chain) -> None:
        """Φ̇ at the chain's velocities."""
        loops = [chain.closed.loops[k] for k in self.loops]
        at = [rates(chain.tree, loop, chain.q, chain.qd) for loop in loops]
        self.columns_dot = joined(loops, at, "columns_dot")


@dataclass
class Explicit:
    """Joints that are functions of known ones: q̇_p = S q̇_k, with Ṡ if S is not constant."""

    passive: tuple[int, ...]
    known: tuple[int, ...]
    slopes: Sequence[Values]
    bends: Callable[[Values], Sequence[Values]] | None = None
    slopes_dot: Sequence[Values] | None = None

    def follow(self, v: list[Scalar]) -> None:
        """v_p = S v_k"""
        for i, row in zip(self.passive, self.slopes, strict=True):
            v[i] = _sum_of(row, [v[j] for j in self.known])

    def drift(self, v: list[Scalar], column: Values) -> None:
        """v_p = S v_k + Ṡ column_k"""
        self.follow(v)
        for i, row in zip(self.passive, self.slopes_dot or (), strict=self.slopes_dot is not None):
            v[i] = v[i] + _sum_of(row, [column[j] for j in self.known])

    def pull(self, tau: list[Scalar]) -> list[Scalar]:
        """τ_k + Sᵀ τ_p; there is no cut, and therefore no force at it."""
        t = [tau[i] for i in self.passive]
        for k, j in enumerate(self.known):
            tau[j] = tau[j] + _sum_of([row[k] for row in self.slopes], t)
        return []

    def differentiate(self, chain: Chain) -> None:
        """Ṡ at the chain's velocities."""
        if self.bends is not None:
            assert chain.qd is not None
            self.slopes_dot = self.bends(chain.qd)


class Chain:
    """A mechanism at one state: q of its tree, and Γ and Γ̇ as operators.

    With ``forces``, the equations of loops with a linear closure are set up too, so that λ can be computed.
    """

    def __init__(self, closed: AnyMechanism, q_a: Values, qd_a: Values | None = None, forces: bool = False) -> None:
        self.closed, self.tree = closed, closed.tree
        self.n = closed.n
        self.steps: list[Cut | Explicit] = []
        self.qd: list[Scalar] | None = None
        if closed.by_newton:
            self.q = list(q_a)
            passive = tuple(i for group in closed.passive for i in group)
            self.steps += [self._explicit(closure) for closure in closed.closures]
            behind = [k for k, step in enumerate(self.steps) if not set(passive).isdisjoint(step.known)]
            cut = self._cut(tuple(range(len(closed.loops))), passive)
            self.steps.insert(behind[0] if behind else len(self.steps), cut)
        else:
            self.q = on_tree(closed, q_a)
            for closure in closed.closures:
                place(closed, closure, self.q)
                by_cut = isinstance(closure, Triangle) or (forces and closure.loops)
                self.steps.append(self._cut(closure.loops, closure.passive) if by_cut else self._explicit(closure))
        if qd_a is not None:
            self.qd = self.push(qd_a)
            for step in self.steps:
                step.differentiate(self)

    def _explicit(self, closure: Closure) -> Explicit:
        """The relation of joints whose closure gives them as functions."""
        if isinstance(closure, PolynomialClosure | Formula):
            x, curve = [self.q[j] for j in closure.known], closure
            return Explicit(
                curve.passive, curve.known, curve.slopes(x), lambda v: curve.bends(x, [v[j] for j in curve.known])
            )
        assert isinstance(closure, Linear)
        return Explicit(closure.passive, closure.known, closure.A)

    def _cut(self, loops: tuple[int, ...], passive: tuple[int, ...]) -> Cut:
        """The relation of joints that are determined by loops."""
        _, columns = stacked(self.tree, [self.closed.loops[k] for k in loops], self.q)
        known = tuple(j for j in sorted(columns) if j not in passive)
        inside = [columns[i] for i in passive]
        inverse = _Two(inside) if len(inside) == len(inside[0]) == 2 else Many(inside)
        return Cut(loops, passive, known, inverse, columns, {})

    def push(self, v_a: Values) -> list[Scalar]:
        """Γ v_a"""
        v = on_tree(self.closed, v_a)
        for step in self.steps:
            step.follow(v)
        return v

    def accelerations(self, qdd_a: Values, column: Values | None = None) -> list[Scalar]:
        """q̈ = Γ q̈_a + Γ̇ q̇_a; with ``column``, which is Γ e, Γ q̈_a + Γ̇ e"""
        assert self.qd is not None
        v = on_tree(self.closed, qdd_a)
        for step in self.steps:
            step.drift(v, self.qd if column is None else column)
        return v

    def pull(self, tau: Values) -> list[Scalar]:
        """Γᵀ τ"""
        return self.torques_and_forces(tau)[0]

    def pull_rows(self, A: Sequence[Values]) -> Grid:
        """Γᵀ A, for any number of columns"""
        return [list(row) for row in zip(*map(self.pull, zip(*A, strict=True)), strict=True)]

    def torques_and_forces(self, tau: Values) -> tuple[list[Scalar], list[list[Scalar]]]:
        """(Γᵀ τ, λ of every step)"""
        t = list(tau)
        forces = [step.pull(t) for step in reversed(self.steps)]
        return [t[i] for i in self.closed.actuated], forces[::-1]

    @property
    def Gamma(self) -> Grid:
        """Γ by columns: n columns of length N."""
        return [self.push([1.0 if i == j else 0.0 for i in range(self.n)]) for j in range(self.n)]

    def Gamma_dot(self, Gamma: Grid) -> Grid:
        """Γ̇ by columns."""
        return [self.accelerations([0.0] * self.n, column) for column in Gamma]


# -- positions -----------------------------------------------------------------------------------


def on_tree(mechanism: AnyMechanism, values: Values) -> list[Scalar]:
    """Values of the independent joints, extended to all joints of the tree by 0 for dependent ones."""
    v: list[Scalar] = [0.0] * mechanism.tree.n
    for i, x in zip(mechanism.actuated, values, strict=True):
        v[i] = x
    return v


def place(mechanism: AnyMechanism, closure: Closure, q: list[Scalar]) -> None:
    """γ: write the joints of the tree that ``closure`` determines into q."""
    bodies = mechanism.tree.bodies
    if isinstance(closure, Triangle):
        loop = mechanism.loops[closure.loop]
        assert isinstance(loop, Plane)
        for i, x in zip(closure.passive, triangle_places(mechanism.tree, loop, closure, q), strict=True):
            q[i] = Angle(x[0], x[1], -bodies[i].offset) if bodies[i].revolute else x - bodies[i].offset
        return
    if isinstance(closure, PolynomialClosure | Formula):
        for i, x in zip(closure.passive, closure.values([q[j] for j in closure.known]), strict=True):
            q[i] = x
        return
    for i, row, b in zip(closure.passive, closure.A, closure.b, strict=True):
        terms = [(a, q[j]) for a, j in zip(row, closure.known, strict=True) if a]
        if bodies[i].revolute and any(isinstance(x, Angle) for _, x in terms):
            q[i] = _added(terms) + b
        elif not bodies[i].revolute or not closure.loops:
            q[i] = b + _sum_of([a for a, _ in terms], [x for _, x in terms])
        else:  # sums that differ only in sign share their sine and cosine
            weight = 1.0 if not terms or terms[0][0] > 0 else -1.0
            x = _sum_of([weight * a for a, _ in terms], [y for _, y in terms])
            q[i] = Angle(cos(x), weight * sin(x), b)


def _added(terms: Sequence[tuple[float, Any]]) -> Angle:
    """The sum of angles, some of which are given only by cosine and sine."""
    c: Scalar = 1.0
    s: Scalar = 0.0
    for a, x in terms:
        cx, sx = cos(x), sin(x)
        sx = sx if a > 0 else -sx
        for _ in range(round(abs(a))):
            c, s = c * cx - s * sx, s * cx + c * sx
    return Angle(c, s)
