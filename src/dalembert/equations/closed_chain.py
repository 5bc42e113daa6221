"""The dynamics of closed chains on their actuated joints, as S 7.3.3 composes them.

The loops are cut, and the tree that is left has q = γ(q_a), q̇ = Γ q̇_a, q̈ = Γ q̈_a + Γ̇ q̇_a with
Γ = ∂γ/∂q_a. By virtual work

    τ_a = Γᵀ τ(q, q̇, q̈),    B_a = Γᵀ B Γ,    C_a = Γᵀ (C Γ + B Γ̇),    g_a = Γᵀ g,

and C_a is again the one of Christoffel's symbols, of B_a. Γ is never differentiated: what the loop asks
of velocities, Φ_p q̇_p + Φ_k q̇_k = 0, gives its columns, and the same equation differentiated once more
gives Γ̇. Applied backwards, Φ_pᵀ λ = τ_p, it gives the force λ at the cut: the passive joints have no
motor, so the loop must exert what the tree asks of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dalembert.equations import composite, energy, friction, kinematics, lean_newton_euler, newton_euler
from dalembert.equations.closure import ClosedMechanism, Linear, Triangle, triangle_places
from dalembert.equations.loops import Plane, Rates, rates
from dalembert.equations.newton_euler import BaseMotion
from dalembert.equations.regressor import regressor as tree_regressor
from dalembert.robot.linalg import (
    Scalar,
    Vector,
    add,
    cos,
    cross,
    exact_cos,
    exact_sin,
    less,
    matvec,
    scale,
    select,
    sin,
    sqrt,
    tmatvec,
)

Values = Sequence[Scalar]
Grid = list[list[Scalar]]
NAN = float("nan")
SINGULAR = 1e-9  # of the sine between the two ways in which the passive joints move the cut


class Angle:
    """A joint position that is known by its cosine and sine; a constant may be added to it."""

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


def _turn(angle: float) -> tuple[float, float]:
    return (exact_cos(angle), exact_sin(angle)) if abs(angle) > 1e-15 else (1.0, 0.0)


def _sum_of(weights: Values, values: Values) -> Scalar:
    total: Scalar = 0.0
    for w, x in zip(weights, values, strict=True):
        if isinstance(w, float) and w in (0.0, 1.0, -1.0):
            total = total if w == 0.0 else total + x if w > 0 else total - x
        else:
            total = total + w * x
    return total


# -- how passive joints follow -------------------------------------------------------------------


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


class _Many:
    """m ≥ p equations that agree, for p passive joints: Φ_p = Q R by Gram and Schmidt, twice for accuracy."""

    def __init__(self, columns: Sequence[Values]) -> None:
        self.Q: list[list[Scalar]] = []
        p = len(columns)
        self.R: Grid = [[0.0] * p for _ in range(p)]
        self.over: list[Scalar] = []
        for k, column in enumerate(columns):
            v = list(column)
            first = _dot(v, v)
            for _ in range(2):
                for j, e in enumerate(self.Q):
                    along = _dot(v, e)
                    self.R[j][k] = self.R[j][k] + along
                    v = [x - along * y for x, y in zip(v, e, strict=True)]
            left = _dot(v, v)
            self.over.append(1.0 / sqrt(select(less(left, SINGULAR * SINGULAR * first), NAN, left)))
            self.Q.append([x * self.over[k] for x in v])

    def solve(self, y: Values) -> list[Scalar]:
        x: list[Scalar] = [0.0] * len(self.Q)
        for k in reversed(range(len(x))):
            rest = _dot(self.Q[k], y)
            for j in range(k + 1, len(x)):
                rest = rest - self.R[k][j] * x[j]
            x[k] = rest * self.over[k]
        return x

    def solve_transposed(self, t: Values) -> list[Scalar]:
        """The least λ with Φ_pᵀ λ = t."""
        z: list[Scalar] = []
        for k in range(len(self.Q)):
            rest = t[k]
            for j in range(k):
                rest = rest - self.R[j][k] * z[j]
            z.append(rest * self.over[k])
        return [_dot(z, [e[r] for e in self.Q]) for r in range(len(self.Q[0]))]


def _dot(a: Values, b: Values) -> Scalar:
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


@dataclass
class _Step:
    """Some loops and the passive joints they determine: Φ_p q̇_p + Φ_k q̇_k = 0."""

    passive: tuple[int, ...]
    known: tuple[int, ...]
    linear: Linear | None
    inverse: _Two | _Many | None
    columns: dict[int, list[Scalar]]
    columns_dot: dict[int, list[Scalar]]

    def follow(self, v: list[Scalar]) -> None:
        """Set the passive entries of v from the known ones: v_p = −Φ_p⁻¹ Φ_k v_k."""
        self._set(v, self._times(self.columns, self.known, v) if self.linear is None else None)

    def drift(self, v: list[Scalar], column: Values) -> None:
        """The same for Γ̇: v_p = −Φ_p⁻¹ (Φ_k v_k + Φ̇ column)."""
        if self.linear is not None:
            return self.follow(v)
        y = self._times(self.columns, self.known, v)
        yd = self._times(self.columns_dot, (*self.known, *self.passive), column)
        return self._set(v, [a + b for a, b in zip(y, yd, strict=True)])

    def _set(self, v: list[Scalar], y: Values | None) -> None:
        if self.linear is not None:
            for i, row in zip(self.passive, self.linear.A, strict=True):
                v[i] = _sum_of(row, [v[j] for j in self.linear.known])
            return
        assert y is not None and self.inverse is not None
        for i, x in zip(self.passive, self.inverse.solve(y), strict=True):
            v[i] = -x

    def _times(self, columns: dict[int, list[Scalar]], joints: Sequence[int], v: Values) -> list[Scalar]:
        m = len(next(iter(self.columns.values())))
        return [_dot([columns[j][r] for j in joints], [v[j] for j in joints]) for r in range(m)]

    def pull(self, tau: list[Scalar]) -> list[Scalar]:
        """Move what the passive joints must bear to the known ones; λ where there is one."""
        t = [tau[i] for i in self.passive]
        if self.linear is not None:
            for k, j in enumerate(self.linear.known):
                tau[j] = tau[j] + _sum_of([row[k] for row in self.linear.A], t)
            return []
        assert self.inverse is not None
        force = self.inverse.solve_transposed(t)
        for j in self.known:
            tau[j] = tau[j] - _dot(self.columns[j], force)
        return force


class Chain:
    """A closed chain at one state: q of the tree, and Γ and Γ̇ as things that can be applied.

    With ``forces`` the equations of loops with a linear closure are set up too: their λ is wanted.
    """

    def __init__(self, closed: ClosedMechanism, q_a: Values, qd_a: Values | None = None, forces: bool = False) -> None:
        self.closed, self.tree = closed, closed.tree
        self.N, self.n = closed.tree.n, closed.n
        self.q: list[Scalar] = [0.0] * self.N
        self.steps: list[_Step] = []
        self.qd: list[Scalar] | None = None
        if closed.by_newton:
            self.q = list(q_a)
            self._add(tuple(range(len(closed.loops))), tuple(i for group in closed.passive for i in group), None)
        else:
            for i, x in zip(closed.actuated, q_a, strict=True):
                self.q[i] = x
            for closure in closed.closures:
                self._place(closure)
                self._add(
                    closure.loops, closure.passive, closure if isinstance(closure, Linear) and not forces else None
                )
        if qd_a is not None:
            self.qd = self.push(qd_a)
            for step in self.steps:
                if step.linear is None:
                    self._differentiate(step)

    # -- positions -------------------------------------------------------------------------------

    def _place(self, closure: Linear | Triangle) -> None:
        """γ: where the passive joints are."""
        bodies = self.tree.bodies
        if isinstance(closure, Triangle):
            loop = self.closed.loops[closure.loop]
            assert isinstance(loop, Plane)
            for i, x in zip(closure.passive, triangle_places(self.tree, loop, closure, self.q), strict=True):
                self.q[i] = Angle(x[0], x[1], -bodies[i].offset) if bodies[i].revolute else x - bodies[i].offset
            return
        for i, row, b in zip(closure.passive, closure.A, closure.b, strict=True):
            terms = [(a, self.q[j]) for a, j in zip(row, closure.known, strict=True) if a]
            if not bodies[i].revolute:
                self.q[i] = b + _sum_of([a for a, _ in terms], [x for _, x in terms])
            elif any(isinstance(x, Angle) for _, x in terms):
                self.q[i] = _added(terms) + b
            else:  # sums that differ in sign only share their sine and cosine
                weight = 1.0 if not terms or terms[0][0] > 0 else -1.0
                x = _sum_of([weight * a for a, _ in terms], [y for _, y in terms])
                self.q[i] = Angle(cos(x), weight * sin(x), b)

    # -- velocities ------------------------------------------------------------------------------

    def _add(self, loops: tuple[int, ...], passive: tuple[int, ...], linear: Linear | None) -> None:
        if linear is not None:
            self.steps.append(_Step(passive, linear.known, linear, None, {}, {}))
            return
        columns = self._columns([rates(self.tree, self.closed.loops[k], self.q) for k in loops], loops, "columns")
        known = tuple(j for j in sorted(columns) if j not in passive)
        inside = [columns[i] for i in passive]
        inverse = _Two(inside) if len(inside) == len(inside[0]) == 2 else _Many(inside)
        self.steps.append(_Step(passive, known, None, inverse, columns, {}))

    def _columns(self, found: Sequence[Rates], loops: tuple[int, ...], which: str) -> dict[int, list[Scalar]]:
        m, at = sum(len(one.residual) for one in found), 0
        columns: dict[int, list[Scalar]] = {}
        for one, k in zip(found, loops, strict=True):
            for j, column in zip(self.closed.loops[k].ends.joints, getattr(one, which), strict=True):
                columns.setdefault(j, [0.0] * m)[at : at + len(column)] = column
            at += len(one.residual)
        return columns

    def _differentiate(self, step: _Step) -> None:
        number = self.steps.index(step)
        loops = tuple(range(len(self.closed.loops))) if self.closed.by_newton else self.closed.closures[number].loops
        found = [rates(self.tree, self.closed.loops[k], self.q, self.qd) for k in loops]
        step.columns_dot = self._columns(found, loops, "columns_dot")

    def push(self, v_a: Values) -> list[Scalar]:
        """Γ v_a"""
        v: list[Scalar] = [0.0] * self.N
        for i, x in zip(self.closed.actuated, v_a, strict=True):
            v[i] = x
        for step in self.steps:
            step.follow(v)
        return v

    def drift(self, column: Values) -> list[Scalar]:
        """Γ̇ e, where ``column`` is Γ e."""
        v: list[Scalar] = [0.0] * self.N
        for step in self.steps:
            step.drift(v, column)
        return v

    def accelerations(self, qdd_a: Values) -> list[Scalar]:
        """q̈ = Γ q̈_a + Γ̇ q̇_a"""
        assert self.qd is not None
        v: list[Scalar] = [0.0] * self.N
        for i, x in zip(self.closed.actuated, qdd_a, strict=True):
            v[i] = x
        for step in self.steps:
            step.drift(v, self.qd)
        return v

    def pull(self, tau: Values) -> list[Scalar]:
        """Γᵀ τ"""
        return self.torques_and_forces(tau)[0]

    def torques_and_forces(self, tau: Values) -> tuple[list[Scalar], list[list[Scalar]]]:
        """(Γᵀ τ, λ of every step)"""
        t = list(tau)
        forces = [step.pull(t) for step in reversed(self.steps)]
        return [t[i] for i in self.closed.actuated], forces[::-1]

    @property
    def Gamma(self) -> Grid:
        """Γ by columns: n of them, N long."""
        return [self.push([1.0 if i == j else 0.0 for i in range(self.n)]) for j in range(self.n)]

    def Gamma_dot(self, Gamma: Grid) -> Grid:
        """Γ̇ by columns."""
        return [self.drift(column) for column in Gamma]


def _added(terms: Sequence[tuple[float, Any]]) -> Angle:
    """The sum of angles, some of which are known by cosine and sine only."""
    c: Scalar = 1.0
    s: Scalar = 0.0
    for a, x in terms:
        cx, sx = cos(x), sin(x)
        sx = sx if a > 0 else -sx
        for _ in range(round(abs(a))):
            c, s = c * cx - s * sx, s * cx + c * sx
    return Angle(c, s)


# -- on the actuated joints ----------------------------------------------------------------------


def inverse_dynamics(
    closed: ClosedMechanism,
    q: Values,
    qd: Values,
    qdd: Values,
    h_e: Values | None = None,
    base: BaseMotion | None = None,
    tree: Callable[..., list[Scalar]] = lean_newton_euler.inverse_dynamics,
) -> list[Scalar]:
    """τ_a = Γᵀ τ(q, q̇, q̈); ``tree`` is the formulation that the tree is computed by."""
    chain = Chain(closed, q, qd)
    extra = () if base is None else (base,)
    return chain.pull(tree(closed.tree, chain.q, chain.qd, chain.accelerations(qdd), h_e, *extra))


def gravity_torque(closed: ClosedMechanism, q: Values) -> list[Scalar]:
    """g_a = Γᵀ g"""
    chain, rest = Chain(closed, q), [0.0] * closed.tree.n
    return chain.pull(lean_newton_euler.inverse_dynamics(closed.tree, chain.q, rest, rest))


def congruent(Gamma: Grid, B: Sequence[Values]) -> Grid:
    """Γᵀ B Γ for a symmetric B."""
    n = len(Gamma)
    BG = [[_sparse_dot(row, column) for row in B] for column in Gamma]
    out: Grid = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            out[i][j] = out[j][i] = _sparse_dot(Gamma[i], BG[j])
    return out


def _sparse_dot(a: Values, b: Values) -> Scalar:
    """aᵀb, where many entries are the numbers 0 and ±1."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        zero = any(isinstance(z, float) and z == 0.0 for z in (x, y))
        if not zero:
            total = total + x * y
    return total


def inertia_matrix(closed: ClosedMechanism, q: Values, tree: Callable[..., Grid] = composite.inertia_matrix) -> Grid:
    """B_a = Γᵀ B Γ"""
    chain = Chain(closed, q)
    return congruent(chain.Gamma, tree(closed.tree, chain.q))


def coriolis_matrix(
    closed: ClosedMechanism, q: Values, qd: Values, tree: Callable[..., Grid] = composite.coriolis_matrix
) -> Grid:
    """C_a = Γᵀ (C Γ + B Γ̇)"""
    chain = Chain(closed, q, qd)
    C = tree(closed.tree, chain.q, chain.qd)
    Gamma = chain.Gamma
    CG = [[_sparse_dot(row, column) for row in C] for column in Gamma]
    if not closed.linear:
        B = composite.inertia_matrix(closed.tree, chain.q)
        for column, dot in zip(CG, chain.Gamma_dot(Gamma), strict=True):
            column[:] = [x + _sparse_dot(row, dot) for x, row in zip(column, B, strict=True)]
    return [[_sparse_dot(Gamma[i], CG[j]) for j in range(closed.n)] for i in range(closed.n)]


def inertia_derivative(closed: ClosedMechanism, q: Values, qd: Values) -> Grid:
    """Ḃ_a = C_a + C_aᵀ, since Ḃ_a − 2C_a is skew-symmetric."""
    C = coriolis_matrix(closed, q, qd)
    return [[C[i][j] + C[j][i] for j in range(closed.n)] for i in range(closed.n)]


def christoffel(
    closed: ClosedMechanism, q: Values, tree: Callable[..., Grid] = composite.coriolis_matrix
) -> list[Grid]:
    """c_ijk of B_a: C_a is linear in q̇_a, so c_ij at q̇_a = e_k is c_ijk."""
    n = closed.n
    at = [coriolis_matrix(closed, q, [1.0 if j == k else 0.0 for j in range(n)], tree) for k in range(n)]
    return [[[at[max(j, k)][i][min(j, k)] for k in range(n)] for j in range(n)] for i in range(n)]


@dataclass(frozen=True)
class Factor:
    """B_a = L D Lᵀ, dense, and the reciprocals of D."""

    L: Grid
    over_D: list[Scalar]

    def solve(self, b: Values) -> list[Scalar]:
        """B_a⁻¹ b"""
        x, n = list(b), len(b)
        for i in range(n):
            for j in range(i):
                x[i] = x[i] - self.L[i][j] * x[j]
        x = [x[i] * self.over_D[i] for i in range(n)]
        for i in reversed(range(n)):
            for j in range(i + 1, n):
                x[i] = x[i] - self.L[j][i] * x[j]
        return x


def factorised(B: Sequence[Values]) -> Factor:
    """The factors of B_a: joints of a closed chain have no branches that do not feel each other."""
    n = len(B)
    L: Grid = [[0.0] * n for _ in range(n)]
    over: list[Scalar] = []
    H = [list(row) for row in B]
    for k in range(n):
        over.append(1.0 / H[k][k])
        for i in range(k + 1, n):
            L[i][k] = H[i][k] * over[k]
            for j in range(k + 1, i + 1):
                H[i][j] = H[i][j] - L[i][k] * H[j][k]
                H[j][i] = H[i][j]
    return Factor(L, over)


def forward_dynamics(
    closed: ClosedMechanism, q: Values, qd: Values, tau: Values, h_e: Values | None = None
) -> list[Scalar]:
    """q̈_a = B_a⁻¹ (τ_a − τ′_a), S (7.115)."""
    rest = inverse_dynamics(closed, q, qd, [0.0] * closed.n, h_e)
    return factorised(inertia_matrix(closed, q)).solve([t - r for t, r in zip(tau, rest, strict=True)])


def kinetic_energy(closed: ClosedMechanism, q: Values, qd: Values) -> Scalar:
    """T of the tree at q̇ = Γ q̇_a."""
    chain = Chain(closed, q)
    return energy.kinetic_energy(closed.tree, chain.q, chain.push(qd))


def potential_energy(closed: ClosedMechanism, q: Values) -> Scalar:
    """U of the tree at q = γ(q_a)."""
    return energy.potential_energy(closed.tree, Chain(closed, q).q)


def friction_torque(closed: ClosedMechanism, q: Values, qd: Values) -> list[Scalar]:
    """Γᵀ (F_v q̇ + F_s sgn(q̇)): passive joints rub too."""
    chain = Chain(closed, q)
    return chain.pull(friction.friction_torque(closed.tree, chain.push(qd)))


def regressor(closed: ClosedMechanism, q: Values, qd: Values, qdd: Values) -> Grid:
    """Y_a = Γᵀ Y: the parameters are those of all links of the tree."""
    chain = Chain(closed, q, qd)
    Y = tree_regressor(closed.tree, chain.q, chain.qd, chain.accelerations(qdd))  # type: ignore[arg-type]
    columns = [chain.pull([row[k] for row in Y]) for k in range(len(Y[0]))]
    return [[column[i] for column in columns] for i in range(closed.n)]


def pose(closed: ClosedMechanism, q: Values) -> Grid:
    """The tip in the base frame."""
    return kinematics.pose(closed.tree, Chain(closed, q).q)


def link_poses(closed: ClosedMechanism, q: Values) -> list[Grid]:
    """The frames of all links of the tree."""
    return kinematics.link_poses(closed.tree, Chain(closed, q).q)


def jacobian(closed: ClosedMechanism, q: Values) -> Grid:
    """J_a = J Γ"""
    chain = Chain(closed, q)
    return [chain.pull(row) for row in kinematics.jacobian(closed.tree, chain.q)]


def jacobian_derivative(closed: ClosedMechanism, q: Values, qd: Values) -> Grid:
    """J̇_a = J̇ Γ + J Γ̇"""
    chain = Chain(closed, q, qd)
    assert chain.qd is not None
    Jd = [chain.pull(row) for row in kinematics.jacobian_derivative(closed.tree, chain.q, chain.qd)]
    if closed.linear:
        return Jd
    J, dots = kinematics.jacobian(closed.tree, chain.q), chain.Gamma_dot(chain.Gamma)
    return [[x + _sparse_dot(row, dot) for x, dot in zip(xs, dots, strict=True)] for xs, row in zip(Jd, J, strict=True)]


def torque_terms(
    closed: ClosedMechanism, q: Values, qd: Values, qdd: Values, h_e: Values | None = None
) -> tuple[Any, ...]:
    """The parts of :func:`dalembert.equations.terms.torque_terms`, on the actuated joints."""
    n, span = closed.n, range(closed.n)
    bodies = closed.tree.bodies
    still = replace(closed, tree=replace(closed.tree, bodies=tuple(replace(b, rotor_inertia=0.0) for b in bodies)))
    B, B_links, c = inertia_matrix(closed, q), inertia_matrix(still, q), christoffel(closed, q)
    chain = Chain(closed, q)
    speeds = chain.push(qd)
    contact: list[Scalar] = [0.0] * n
    if h_e is not None:
        J = kinematics.jacobian(closed.tree, chain.q)
        contact = chain.pull([_dot([J[k][i] for k in range(6)], h_e) for i in range(closed.tree.n)])
    return (
        [[B_links[i][j] * qdd[j] for j in span] for i in span],
        [[(B[i][j] - B_links[i][j]) * qdd[j] for j in span] for i in span],
        [[c[i][j][j] * (qd[j] * qd[j]) for j in span] for i in span],
        [[[2.0 * c[i][j][k] * (qd[j] * qd[k]) if j < k else 0.0 for k in span] for j in span] for i in span],
        gravity_torque(closed, q),
        chain.pull([friction.viscous(body, v) for body, v in zip(bodies, speeds, strict=True)]),
        chain.pull([friction.coulomb(body, v) for body, v in zip(bodies, speeds, strict=True)]),
        contact,
    )


# -- forces at the cuts --------------------------------------------------------------------------


def loop_wrenches(
    closed: ClosedMechanism,
    q: Values,
    qd: Values,
    qdd: Values,
    h_e: Values | None = None,
    base: BaseMotion | None = None,
) -> list[list[Scalar]]:
    """For every loop [f, μ]: what link b exerts on link a at the cut, in base axes.

    Of a planar loop f lies in the plane and μ is 0: what else its bearings carry is not determined by
    the motion. Of other loops with more equations than passive joints it is the least that will do.
    """
    return [[*f, *mu] for f, mu in _cut(closed, q, qd, qdd, h_e, base)[0]]


def joint_wrenches(
    closed: ClosedMechanism,
    q: Values,
    qd: Values,
    qdd: Values,
    h_e: Values | None = None,
    base: BaseMotion | None = None,
) -> list[list[Scalar]]:
    """[f_i, μ_i] of all joints of the tree with the loops' forces on its links, S (7.112), (7.113)."""
    cuts, chain, qdd_tree = _cut(closed, q, qd, qdd, h_e, base)
    F = kinematics.frames(closed.tree, chain.q)
    loads: dict[int, tuple[Vector, Vector]] = {}
    for loop, (f, mu) in zip(closed.loops, cuts, strict=True):
        # link a exerts the opposite on link b; both as what the link exerts on something else
        for body, place, sign in (
            (loop.ends.body_a, loop.ends.place_a, -1.0),
            (loop.ends.body_b, loop.ends.place_b, 1.0),
        ):
            if body < 0:
                continue
            f_i, mu_i = scale(sign, tmatvec(F.R[body], f)), scale(sign, tmatvec(F.R[body], mu))
            mu_i = add(mu_i, cross(place.translation, f_i))
            old_f, old_mu = loads.get(body, ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
            loads[body] = (add(old_f, f_i), add(old_mu, mu_i))
    assert chain.qd is not None
    run = newton_euler.newton_euler(closed.tree, chain.q, chain.qd, qdd_tree, h_e, base, loads=loads)
    return [[*f, *mu] for f, mu in zip(run.f, run.mu, strict=True)]


def _cut(
    closed: ClosedMechanism, q: Values, qd: Values, qdd: Values, h_e: Values | None, base: BaseMotion | None
) -> tuple[list[tuple[Vector, Vector]], Chain, list[Scalar]]:
    chain = Chain(closed, q, qd, forces=True)
    assert chain.qd is not None
    qdd_tree = chain.accelerations(qdd)
    tau = lean_newton_euler.inverse_dynamics(closed.tree, chain.q, chain.qd, qdd_tree, h_e, base)
    _, forces = chain.torques_and_forces(tau)
    F = kinematics.frames(closed.tree, chain.q)
    groups = [tuple(range(len(closed.loops)))] if closed.by_newton else [c.loops for c in closed.closures]
    out: dict[int, tuple[Vector, Vector]] = {}
    for group, force in zip(groups, forces, strict=True):
        at = 0
        for k in group:
            loop = closed.loops[k]
            f: Vector = (0.0, 0.0, 0.0)
            mu: Vector = (0.0, 0.0, 0.0)
            for row, (linear, angular) in enumerate(rates(closed.tree, loop, chain.q).rows):
                f, mu = add(f, scale(force[at + row], linear)), add(mu, scale(force[at + row], angular))
            at += row + 1
            i = loop.ends.ancestor
            R = F.R[i] if i >= 0 else closed.base.rotation
            out[k] = (matvec(R, f), matvec(R, mu))
    return [out[k] for k in range(len(closed.loops))], chain, qdd_tree


def residuals(closed: ClosedMechanism, q: Values) -> list[Scalar]:
    """How far the ends of every loop are apart (m; for what turns, the sine): zero when it is closed."""
    chain = Chain(closed, q)
    return [x for loop in closed.loops for x in rates(closed.tree, loop, chain.q).residual]
