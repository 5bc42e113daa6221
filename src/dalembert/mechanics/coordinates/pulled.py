"""Every quantity in independent coordinates, from that of the tree: pulled back through Γ.

With q = γ(q_a), q̇ = Γ q̇_a, q̈ = Γ q̈_a + Γ̇ q̇_a (:mod:`chain`), virtual work gives, as in S 7.3.3,

    τ_a = Γᵀ τ(q, q̇, q̈),    B_a = Γᵀ B Γ,    C_a = Γᵀ (C Γ + B Γ̇),    g_a = Γᵀ g,

and C_a again consists of the Christoffel symbols of B_a. If γ is the identity, as for every open arm, the equations
of the tree are used directly. ``tree`` is the formulation used for the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dalembert.base.algebra.scalars import Grid, Scalar, Values, total, zeros
from dalembert.base.algebra.vectors import ZERO, Mat, Vec
from dalembert.mechanics.coordinates.chain import AnyMechanism, Chain, on_tree
from dalembert.mechanics.coordinates.loop_closure import rates
from dalembert.mechanics.equations import (
    centrifugal,
    composite,
    dalembert,
    factorisation,
    friction,
    kinematics,
    lagrange,
    lagrange_euler,
    lean_newton_euler,
    passive_newton_euler,
)
from dalembert.mechanics.equations import torque_terms as terms
from dalembert.mechanics.equations.newton_euler import BaseMotion
from dalembert.mechanics.equations.recursion import NewtonEulerSteps
from dalembert.mechanics.equations.recursion import recursion as tree_recursion
from dalembert.mechanics.equations.regressor import WIDTH
from dalembert.mechanics.equations.regressor import reference_regressor as tree_regressor
from dalembert.robot.model.mechanism import Body

Torques = Callable[..., list[Scalar]]
Matrix = Callable[..., Grid]
Wrench = Values | None
Base = BaseMotion | None


def inverse_dynamics(
    mechanism: AnyMechanism,
    q: Values,
    qd: Values,
    qdd: Values,
    h_e: Wrench = None,
    base: Base = None,
    tree: Torques = lean_newton_euler.inverse_dynamics,
) -> list[Scalar]:
    """τ_a = Γᵀ τ(q, q̇, q̈), S (7.42), without the terms that an approximate model omits."""
    if mechanism.omitted:
        return _approximate_torque(mechanism, q, qd, qdd, h_e, base, tree)
    extra = () if base is None else (base,)
    chain = Chain(mechanism, q, qd)
    tau = chain.pull(tree(unloaded(mechanism).tree, chain.q, chain.qd, chain.accelerations(qdd), h_e, *extra))
    return with_loads(mechanism, chain.q, qd, tau)


def reference_torque(
    mechanism: AnyMechanism,
    q: Values,
    qd: Values,
    qd_r: Values,
    qdd_r: Values,
    tree: Torques = passive_newton_euler.reference_torque,
) -> list[Scalar]:
    """B_a q̈_r + C_a q̇_r + g_a = Γᵀ (B (Γ q̈_r + Γ̇ q̇_r) + C Γ q̇_r + g), with Christoffel's C_a."""
    if mechanism.identity:
        return tree(mechanism, q, qd, qd_r, qdd_r)
    chain = Chain(mechanism, q, qd)
    speeds = chain.push(qd_r)
    tau = tree(unloaded(mechanism).tree, chain.q, chain.qd, speeds, chain.accelerations(qdd_r, speeds))
    return with_loads(mechanism, chain.q, qd_r, chain.pull(tau))


# -- approximate models: S (7.40) in independent coordinates, without some of its summands ---------


def _approximate_torque(
    mechanism: AnyMechanism, q: Values, qd: Values, qdd: Values, h_e: Wrench, base: Base, tree: Torques
) -> list[Scalar]:
    """Σ_j b_ij q̈_j + Σ_jk h_ijk q̇_j q̇_k + g_i + Jᵀ h_e without omitted summands, plus friction at the full q̇."""
    rest, omitted, chain = [0.0] * mechanism.n, mechanism.omitted, Chain(mechanism, q)
    bare = _whole(mechanism.with_tree(friction.bare(mechanism.tree)))
    v = rest if "coriolis" in omitted else qd
    tau = inverse_dynamics(bare, q, v, rest if "off-diagonal" in omitted else qdd, h_e, base, tree)
    if ("coriolis" in omitted) != ("centrifugal" in omitted):
        sign = 1.0 if "coriolis" in omitted else -1.0
        tau = [t + sign * x for t, x in zip(tau, _centrifugal(bare, q, qd, tree), strict=True)]
    if "off-diagonal" in omitted:
        B = inertia_matrix(mechanism, q)
        tau = [t + B[i][i] * qdd[i] for i, t in enumerate(tau)]
    rubbed = friction_torque(unloaded(mechanism), qd, q, None)
    return with_loads(mechanism, chain.q, qd, [t + f for t, f in zip(tau, rubbed, strict=True)])


def _centrifugal(mechanism: AnyMechanism, q: Values, qd: Values, tree: Torques) -> list[Scalar]:
    """Σ_j h_ijj q̇_j²: the torques with one joint moving at a time, summed over the joints."""
    if mechanism.identity:
        return centrifugal.centrifugal_torques(mechanism.tree, q, qd)
    n, light = mechanism.n, weightless(mechanism)
    alone = ([qd[j] if i == j else 0.0 for i in range(n)] for j in range(n))
    return list(map(total, zip(*(inverse_dynamics(light, q, v, [0.0] * n, tree=tree) for v in alone), strict=True)))


def _whole(mechanism: AnyMechanism) -> Any:
    """A copy without omissions in S (7.40)."""
    return mechanism.with_tree(replace(mechanism.tree, omitted=()))


def _diagonal(B: Grid) -> Grid:
    """Only the entries b_ii."""
    return [[x if i == j else 0.0 for j, x in enumerate(row)] for i, row in enumerate(B)]


# -- load-dependent friction, which only independent joints can have ------------------------------


def unloaded(mechanism: AnyMechanism) -> Any:
    """A copy without the terms that depend on the load."""
    if not friction.loaded(mechanism.tree):
        return mechanism
    bodies = tuple(replace(b, terms=tuple(t for t in b.terms if "load" not in t.of)) for b in mechanism.tree.bodies)
    return mechanism.with_tree(replace(mechanism.tree, bodies=bodies))


def loaded_joints(mechanism: AnyMechanism) -> list[tuple[int, int, Body]]:
    """The independent joints with load-dependent terms: number among them, number in the tree, body."""
    bodies = mechanism.tree.bodies
    return [(k, i, bodies[i]) for k, i in enumerate(mechanism.actuated) if bodies[i].depends("load")]


def loads(mechanism: AnyMechanism, q: Values, qd: Values, tau: Values) -> dict[int, Scalar]:
    """{independent joint with load-dependent terms: its load}, from the torques without these terms.

    q   of the whole tree
    """
    return {k: tau[k] - friction.friction(body, q[i], qd[k], 0.0) for k, i, body in loaded_joints(mechanism)}


def with_loads(mechanism: AnyMechanism, q: Values, qd: Values, tau: Values) -> list[Scalar]:
    """The torques including load-dependent terms, from those without them; q of the whole tree."""
    whole = list(tau)
    for k, i, body in loaded_joints(mechanism):
        whole[k] = friction.with_load(body, q[i], qd[k], tau[k])
    return whole


def relieved(mechanism: AnyMechanism, q: Values, qd: Values, tau: Values) -> tuple[Any, Values]:
    """The mechanism and the torques, with load-dependent terms moved from the mechanism to the torques."""
    if not friction.loaded(mechanism.tree):
        return mechanism, tau
    tree, x, net = mechanism.tree, Chain(mechanism, q).q, list(tau)
    bodies = list(tree.bodies)
    for k, i, body in loaded_joints(mechanism):
        net[k] = friction.load_of(body, x[i], qd[k], tau[k])
        bodies[i] = body.bare
    return mechanism.with_tree(replace(tree, bodies=tuple(bodies))), net


def friction_torque(mechanism: AnyMechanism, qd: Values, q: Values | None, load: Values | None) -> list[Scalar]:
    """Γᵀ times the friction of all joints; q is not needed if Γ is constant and no term depends on it."""
    chain = Chain(mechanism, [0.0] * mechanism.n if q is None else q)
    rest = on_tree(mechanism, [0.0] * mechanism.n if load is None else load)
    return chain.pull(friction.friction_torque(mechanism.tree, chain.q, chain.push(qd), rest))


def congruent(Gamma: Grid, B: Sequence[Values]) -> Grid:
    """Γᵀ B Γ for a symmetric B."""
    n = len(Gamma)
    BG = [[sparse_dot(row, column) for row in B] for column in Gamma]
    out = zeros(n)
    for i in range(n):
        for j in range(i + 1):
            out[i][j] = out[j][i] = sparse_dot(Gamma[i], BG[j])
    return out


def sparse_dot(a: Values, b: Values) -> Scalar:
    """aᵀb, without the products of which one factor is the number 0."""
    product: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        if not any(isinstance(z, float) and z == 0.0 for z in (x, y)):
            product = product + x * y
    return product


def inertia_matrix(mechanism: AnyMechanism, q: Values, tree: Matrix = composite.inertia_matrix) -> Grid:
    """B_a = Γᵀ B Γ, S (7.32)."""
    if "off-diagonal" in mechanism.omitted:
        return _diagonal(inertia_matrix(_whole(mechanism), q, tree))
    if mechanism.identity:
        return tree(mechanism, q)
    chain = Chain(mechanism, q)
    return congruent(chain.Gamma, tree(mechanism.tree, chain.q))


def coriolis_matrix(mechanism: AnyMechanism, q: Values, qd: Values, tree: Matrix = composite.coriolis_matrix) -> Grid:
    """C_a = Γᵀ (C Γ + B Γ̇), S (7.44); if Coriolis or centrifugal torques are omitted, so they are in C_a q̇_a."""
    if {"coriolis", "centrifugal"} & set(mechanism.omitted):
        return _approximate_coriolis(mechanism, q, qd, tree)
    if mechanism.identity:
        return tree(mechanism, q, qd)
    chain = Chain(mechanism, q, qd)
    C = tree(mechanism.tree, chain.q, chain.qd)
    Gamma = chain.Gamma
    CG = [[sparse_dot(row, column) for row in C] for column in Gamma]
    if not mechanism.linear:
        B = composite.inertia_matrix(mechanism.tree, chain.q)
        for column, column_dot in zip(CG, chain.Gamma_dot(Gamma), strict=True):
            column[:] = [x + sparse_dot(row, column_dot) for x, row in zip(column, B, strict=True)]
    return [[sparse_dot(Gamma[i], CG[j]) for j in range(mechanism.n)] for i in range(mechanism.n)]


def _approximate_coriolis(mechanism: AnyMechanism, q: Values, qd: Values, tree: Matrix) -> Grid:
    """c_ijj q̇_j in column j, or Σ_k c_ijk q̇_k over the other k; zero if both are omitted."""
    n, whole = mechanism.n, _whole(mechanism)
    if {"coriolis", "centrifugal"} <= set(mechanism.omitted):
        return zeros(n)
    alone = [coriolis_matrix(whole, q, [qd[j] if i == j else 0.0 for i in range(n)], tree) for j in range(n)]
    own = [[alone[j][i][j] for j in range(n)] for i in range(n)]
    if "coriolis" in mechanism.omitted:
        return own
    C = coriolis_matrix(whole, q, qd, tree)
    return [[x - y for x, y in zip(*rows, strict=True)] for rows in zip(C, own, strict=True)]


def inertia_derivative(mechanism: AnyMechanism, q: Values, qd: Values) -> Grid:
    """Ḃ_a = C_a + C_aᵀ, since Ḃ_a − 2C_a is skew-symmetric, S (7.47)."""
    C = coriolis_matrix(_whole(mechanism), q, qd)
    Bd = [[C[i][j] + C[j][i] for j in range(mechanism.n)] for i in range(mechanism.n)]
    return _diagonal(Bd) if "off-diagonal" in mechanism.omitted else Bd


def christoffel(mechanism: AnyMechanism, q: Values, tree: Matrix = composite.coriolis_matrix) -> list[Grid]:
    """c_ijk of B_a: C_a is linear in q̇_a, so c_ij at q̇_a = e_k is c_ijk."""
    n = mechanism.n
    at = [coriolis_matrix(mechanism, q, [1.0 if j == k else 0.0 for j in range(n)], tree) for k in range(n)]
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


def factorised(mechanism: AnyMechanism, B: Sequence[Values]) -> Any:
    """The factors of B_a: along the tree if γ is the identity, dense otherwise.

    In a closed chain there are no branches that are dynamically decoupled.
    """
    if mechanism.identity:
        return factorisation.factorised(mechanism.tree, B)
    n = len(B)
    L = zeros(n)
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
    mechanism: AnyMechanism, q: Values, qd: Values, tau: Values, h_e: Wrench = None, base: Base = None
) -> list[Scalar]:
    """q̈_a = B_a⁻¹ (τ_a − τ′_a), S (7.115)."""
    mechanism, tau = relieved(mechanism, q, qd, tau)
    rest = inverse_dynamics(mechanism, q, qd, [0.0] * mechanism.n, h_e, base)
    factor = factorised(mechanism, inertia_matrix(mechanism, q))
    return factor.solve([t - r for t, r in zip(tau, rest, strict=True)])


def torque_derivatives(
    mechanism: AnyMechanism, q: Values, qd: Values, qdd: Values, tree: Callable[..., tuple[Grid, Grid]]
) -> list[Grid]:
    """∂τ_a/∂q_a and ∂τ_a/∂q̇_a for linear γ: Γᵀ (∂τ/∂q) Γ, plus the effect of the load on joint friction."""
    chain, plain = Chain(mechanism, q, qd), unloaded(mechanism)
    on_tree = tree(plain.tree, chain.q, chain.qd, chain.accelerations(qdd))
    parts = [chain.pull_rows([chain.pull(row) for row in part]) for part in on_tree]
    tau = inverse_dynamics(plain, q, qd, qdd) if friction.loaded(mechanism.tree) else []
    for k, i, body in loaded_joints(mechanism):
        *own, by_tau = friction.slopes(friction.with_load, body, chain.q[i], qd[k], tau[k])
        for part, slope in zip(parts, own, strict=True):
            part[k] = [by_tau * y + (slope if j == k else 0.0) for j, y in enumerate(part[k])]
    return parts


def forward_derivative(mechanism: AnyMechanism, q: Values, qd: Values, tau: Values) -> Grid:
    """∂q̈_a/∂τ_a: B_a⁻¹ times the share of its torque that a joint transmits."""
    n, x = mechanism.n, Chain(mechanism, q).q
    factor = factorised(mechanism, inertia_matrix(mechanism, q))
    inverse = [factor.solve([1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]
    for k, i, body in loaded_joints(mechanism):
        passed_on = friction.slopes(friction.load_of, body, x[i], qd[k], tau[k])[-1]
        for row in inverse:
            row[k] = row[k] * passed_on
    return inverse


def regressor(mechanism: AnyMechanism, q: Values, qd: Values, qdd: Values) -> Grid:
    """Y_a = Γᵀ Y, for the parameters of all links of the tree; block-triangular for a chain as in S (7.80)."""
    return reference_regressor(mechanism, q, qd, qd, qdd)


def reference_regressor(
    mechanism: AnyMechanism, q: Values, qd: Values, qd_r: Values, qdd_r: Values, tree: Matrix = tree_regressor
) -> Grid:
    """Y_a = Γᵀ Y of :func:`reference_torque`."""
    if mechanism.identity:
        return tree(mechanism, q, qd, qd_r, qdd_r)
    chain = Chain(mechanism, q, qd)
    speeds = chain.push(qd_r)
    Y = chain.pull_rows(tree(mechanism.tree, chain.q, chain.qd, speeds, chain.accelerations(qdd_r, speeds)))
    if friction.loaded(mechanism.tree):
        tau = reference_torque(unloaded(mechanism), q, qd, qd_r, qdd_r)
        _fill_loaded(Y, mechanism, loads(mechanism, chain.q, qd_r, tau), chain.q, qd_r)
    return Y


def _fill_loaded(Y: Grid, mechanism: AnyMechanism, load: dict[int, Scalar], q: Values, qd: Values) -> None:
    """The columns of load-dependent terms, at the loads of the independent joints."""
    at = WIDTH * mechanism.tree.n
    for i, body in enumerate(mechanism.tree.bodies):
        for term in body.further:
            last = at + len(term.linear())
            if "load" in term.of:
                k = list(mechanism.actuated).index(i)
                Y[k][at:last] = term.columns(q[i], qd[k], load[k])
            at = last


def tip_frame(mechanism: AnyMechanism, q: Values) -> tuple[Mat, Vec]:
    """R and p of the tip in the base frame."""
    F = kinematics.frames(mechanism.tree, Chain(mechanism, q).q)
    return F.R_tip, F.p_tip


def jacobian(mechanism: AnyMechanism, q: Values) -> Grid:
    """J_a = J Γ, 6×n, S (7.18), (7.19)."""
    chain = Chain(mechanism, q)
    return [chain.pull(row) for row in kinematics.jacobian(mechanism.tree, chain.q)]


def jacobian_derivative(mechanism: AnyMechanism, q: Values, qd: Values) -> Grid:
    """J̇_a = J̇ Γ + J Γ̇"""
    chain = Chain(mechanism, q, qd)
    assert chain.qd is not None
    Jd = [chain.pull(row) for row in kinematics.jacobian_derivative(mechanism.tree, chain.q, chain.qd)]
    if mechanism.linear:
        return Jd
    J, dots = kinematics.jacobian(mechanism.tree, chain.q), chain.Gamma_dot(chain.Gamma)
    return [
        [x + sparse_dot(row, column_dot) for x, column_dot in zip(xs, dots, strict=True)]
        for xs, row in zip(Jd, J, strict=True)
    ]


def body_jacobians(mechanism: AnyMechanism, q: Values) -> list[Any]:
    """The Jacobians of all links and rotors of the tree, each as 3×n: J Γ, S (7.16)–(7.19), (7.25)–(7.29)."""
    chain = Chain(mechanism, q)
    steps = lagrange.body_jacobians(mechanism.tree, chain.q)

    def rows(bodies: list[list[Vec]]) -> list[Grid]:
        return [[chain.pull([J[k] for J in columns]) for k in range(3)] for columns in bodies]

    return [rows(x) if name.endswith(("linear", "angular")) else x for name, x in steps._asdict().items()]


def base_torque(mechanism: AnyMechanism, q: Values, qd: Values, base: BaseMotion) -> list[Scalar]:
    """Torques due to the motion of the base, Γᵀ times those of the tree; products with q̇ count as Coriolis torques."""
    chain = Chain(mechanism, q)
    v = [0.0] * mechanism.n if "coriolis" in mechanism.omitted else qd
    return chain.pull(terms.base_torque(mechanism.tree, chain.q, chain.push(v), base))


def gravity_torque(mechanism: AnyMechanism, q: Values, base: Base = None) -> list[Scalar]:
    """g_a = Γᵀ g, S (7.39), on a base that moves."""
    chain, rest = Chain(mechanism, q), [0.0] * mechanism.tree.n
    return chain.pull(
        lean_newton_euler.inverse_dynamics(friction.bare(mechanism.tree), chain.q, rest, rest, None, base)
    )


def contact_torque(mechanism: AnyMechanism, q: Values, h_e: Values) -> list[Scalar]:
    """Jᵀ h_e on the actuated joints."""
    chain = Chain(mechanism, q)
    return chain.pull(kinematics.contact_torque(mechanism.tree, chain.q, h_e))


def torque_terms(
    mechanism: AnyMechanism, q: Values, qd: Values, qdd: Values, h_e: Wrench = None, base: Base = None
) -> tuple[Any, ...]:
    """The parts of :func:`dalembert.mechanics.equations.torque_terms.torque_terms`, on the actuated joints."""
    n, span = mechanism.n, range(mechanism.n)
    bodies = mechanism.tree.bodies
    still = mechanism.with_tree(
        replace(mechanism.tree, bodies=tuple(replace(body, rotor_inertia=0.0) for body in bodies))
    )
    B, B_links, c = inertia_matrix(mechanism, q), inertia_matrix(still, q), christoffel(mechanism, q)
    chain = Chain(mechanism, q)
    speeds, rest = chain.push(qd), [0.0] * mechanism.tree.n
    contact = [0.0] * n if h_e is None else contact_torque(mechanism, q, h_e)
    other = chain.pull(
        [friction.further(*of) for of in zip(unloaded(mechanism).tree.bodies, chain.q, speeds, rest, strict=True)]
    )
    tau = inverse_dynamics(unloaded(mechanism), q, qd, qdd, h_e, base) if friction.loaded(mechanism.tree) else []
    for k, load in loads(mechanism, chain.q, qd, tau).items():
        i = mechanism.actuated[k]
        without, with_load = (friction.further(bodies[i], chain.q[i], qd[k], x) for x in (0.0, load))
        other[k] = other[k] + (with_load - without)
    return (
        [[B_links[i][j] * qdd[j] for j in span] for i in span],
        [[(B[i][j] - B_links[i][j]) * qdd[j] for j in span] for i in span],
        terms.velocity_terms(c, qd),
        chain.pull(lean_newton_euler.inverse_dynamics(friction.bare(mechanism.tree), chain.q, rest, rest)),
        chain.pull([friction.viscous(body, v) for body, v in zip(bodies, speeds, strict=True)]),
        chain.pull([friction.coulomb(body, v) for body, v in zip(bodies, speeds, strict=True)]),
        other,
        contact,
        [0.0] * n if base is None else base_torque(mechanism, q, qd, base),
    )


def lagrange_euler_coefficients(mechanism: AnyMechanism, q: Values) -> tuple[Any, ...]:
    """D_a = Γᵀ D Γ, c_a = Γᵀ c, and h_a the Christoffel symbols of D_a: M (2.11), (2.14), (2.15)."""
    chain = Chain(mechanism, q)
    at = lagrange_euler.coefficients(mechanism.tree, chain.q)
    return congruent(chain.Gamma, at.D), christoffel(mechanism, q), chain.pull(at.c)


def dalembert_coefficients(mechanism: AnyMechanism, q: Values, qd: Values) -> tuple[Any, ...]:
    """D_rot and D_tran by Γ on both sides; h by Γᵀ, each with its own D times Γ̇ q̇_a: M (4.2)–(4.5)."""
    chain = Chain(mechanism, q, qd)
    assert chain.qd is not None
    at = dalembert.coefficients(mechanism.tree, chain.q, chain.qd)
    drift = chain.accelerations([0.0] * mechanism.n)

    def with_drift(h: list[Scalar], D: list[list[Scalar]]) -> list[Scalar]:
        return [y + sparse_dot(row, drift) for y, row in zip(h, D, strict=True)]

    Gamma = chain.Gamma
    return (
        congruent(Gamma, at.D_rot),
        congruent(Gamma, at.D_tran),
        chain.pull(with_drift(at.h_tran, at.D_tran)),
        chain.pull(with_drift(at.h_rot, at.D_rot)),
        chain.pull(at.c),
    )


def dalembert_terms(mechanism: AnyMechanism, q: Values, qd: Values) -> list[Any]:
    """M (4.3), (4.4) term by term, for all links of the tree, at the independent joints; p, q number the tree's joints.

    The last entries are D^tran and D^rot times Γ̇ q̇_a, the accelerations of joints that follow others nonlinearly.
    """
    still, chain = [0.0] * mechanism.n, Chain(mechanism, q, qd)
    assert chain.qd is not None
    terms = list(map(chain.pull_rows, dalembert.velocity_terms(mechanism.tree, chain.q, chain.qd)))
    if mechanism.identity:
        return [*terms, still, still]
    at, drift = dalembert.coefficients(mechanism.tree, chain.q, chain.qd), chain.accelerations(still)
    return [*terms, *(chain.pull([sparse_dot(row, drift) for row in D]) for D in (at.D_tran, at.D_rot))]


# -- reduced mechanisms --------------------------------------------------------------------------


def smooth(mechanism: AnyMechanism, viscous: bool = True) -> Any:
    """A copy without dry friction, or without any friction, also in passive joints; springs stay."""
    bodies = (friction.sliding(body) if viscous else body.frictionless for body in mechanism.tree.bodies)
    return mechanism.with_tree(replace(mechanism.tree, bodies=tuple(bodies)))


def weightless(mechanism: AnyMechanism) -> Any:
    """A copy without gravity and friction: its torques are B q̈ + C q̇."""
    return mechanism.with_tree(replace(friction.bare(mechanism.tree), gravity=ZERO))


# -- forces at the cuts --------------------------------------------------------------------------


def loop_wrenches(
    mechanism: AnyMechanism, q: Values, qd: Values, qdd: Values, h_e: Wrench = None, base: Base = None
) -> list[list[Scalar]]:
    """[f, μ] for every loop: the wrench exerted by link b on link a at the cut, in base axes.

    For a planar loop f lies in the plane and μ is 0: the other bearing forces are not determined by
    the motion. For other loops with more equations than passive joints it is the minimum-norm solution.
    """
    return [[*f, *mu] for f, mu in _cut(mechanism, q, qd, qdd, h_e, base)[0]]


def joint_wrenches(
    mechanism: AnyMechanism, q: Values, qd: Values, qdd: Values, h_e: Wrench = None, base: Base = None
) -> list[list[Scalar]]:
    """[f_i, μ_i] of all joints of the tree, including the loop forces on its links, S (7.112), (7.113)."""
    steps = recursion(mechanism, q, qd, qdd, h_e, base)
    return [[*f, *mu] for f, mu in zip(steps.f, steps.mu, strict=True)]


def recursion(
    mechanism: AnyMechanism,
    q: Values,
    qd: Values,
    qdd: Values,
    h_e: Wrench = None,
    base: Base = None,
    axes: str = "link",
) -> NewtonEulerSteps:
    """Every step of S 7.5.2 for all joints of the tree, including loop forces on its links; the torques are Γᵀ τ."""
    if mechanism.identity:
        return tree_recursion(mechanism.tree, q, qd, qdd, h_e, base, axes=axes)
    cuts, chain, qdd_tree = _cut(mechanism, q, qd, qdd, h_e, base)
    assert chain.qd is not None
    F = kinematics.frames(mechanism.tree, chain.q)
    loads: dict[int, tuple[Vec, Vec]] = {}
    for loop, (f, mu) in zip(mechanism.loops, cuts, strict=True):
        # link a exerts the opposite wrench on link b; both count as exerted by the link on the environment
        for body, place, sign in (
            (loop.ends.body_a, loop.ends.place_a, -1.0),
            (loop.ends.body_b, loop.ends.place_b, 1.0),
        ):
            if body < 0:
                continue
            f_i = sign * f
            mu_i = sign * mu + (F.R[body] @ place.translation).cross(f_i)
            old_f, old_mu = loads.get(body, (ZERO, ZERO))
            loads[body] = (old_f + f_i, old_mu + mu_i)
    steps = tree_recursion(unloaded(mechanism).tree, chain.q, chain.qd, qdd_tree, h_e, base, loads, axes)
    if friction.loaded(mechanism.tree):  # the loads of independent joints include those of all joints that follow them
        without = chain.pull(steps.tau)
        for k, whole in enumerate(with_loads(mechanism, chain.q, qd, without)):
            i = mechanism.actuated[k]
            steps.tau[i] = steps.tau[i] + (whole - without[k])
    return steps


def _cut(
    mechanism: AnyMechanism, q: Values, qd: Values, qdd: Values, h_e: Wrench, base: Base
) -> tuple[list[tuple[Vec, Vec]], Chain, list[Scalar]]:
    chain = Chain(mechanism, q, qd, forces=True)
    assert chain.qd is not None
    qdd_tree = chain.accelerations(qdd)
    tau = lean_newton_euler.inverse_dynamics(mechanism.tree, chain.q, chain.qd, qdd_tree, h_e, base)
    _, forces = chain.torques_and_forces(tau)
    F = kinematics.frames(mechanism.tree, chain.q)
    groups = [tuple(range(len(mechanism.loops)))] if mechanism.by_newton else [c.loops for c in mechanism.closures]
    out: dict[int, tuple[Vec, Vec]] = {}
    for group, force in zip(groups, forces, strict=True):
        at = 0
        for k in group:
            loop = mechanism.loops[k]
            f, mu = ZERO, ZERO
            for row, (linear, angular) in enumerate(rates(mechanism.tree, loop, chain.q).rows):
                f, mu = f + force[at + row] * linear, mu + force[at + row] * angular
            at += row + 1
            i = loop.ends.ancestor
            R = F.R[i] if i >= 0 else mechanism.base.rotation
            out[k] = (R @ f, R @ mu)
    return [out[k] for k in range(len(mechanism.loops))], chain, qdd_tree


def residuals(mechanism: AnyMechanism, q: Values) -> list[Scalar]:
    """Closure errors of all loops (m; sines for rotations): zero when they are closed."""
    chain = Chain(mechanism, q)
    return [x for loop in mechanism.loops for x in rates(mechanism.tree, loop, chain.q).residual]
