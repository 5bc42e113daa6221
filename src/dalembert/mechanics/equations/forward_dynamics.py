"""Direct dynamics, S 7.6: q̈ = B⁻¹(q) (τ − τ′(q, q̇)), (7.115), (7.116).

Three methods: with the inertia matrix (composite bodies and a factorisation, few operations for arms of
ordinary length), with articulated bodies (:mod:`articulated`, linear in the number of joints), and as
described in S 7.6, with the recursion called once for τ′ and once for each column of B.
"""

from __future__ import annotations

from dataclasses import replace

from dalembert.base.algebra.scalars import Grid, Scalar, Values, dot
from dalembert.base.algebra.vectors import ZERO
from dalembert.mechanics.equations import lean_newton_euler
from dalembert.mechanics.equations.composite import coriolis_matrix, inertia_matrix, torque_derivatives
from dalembert.mechanics.equations.factorisation import factor_of, factorised
from dalembert.mechanics.equations.friction import bare, friction, load_of, loaded, relieved, slopes
from dalembert.mechanics.equations.newton_euler import BaseMotion, newton_euler
from dalembert.robot.model.mechanism import Mechanism


def forward_dynamics(
    mechanism: Mechanism, q: Values, qd: Values, tau: Values, h_e: Values | None = None, base: BaseMotion | None = None
) -> list[Scalar]:
    """q̈ by (7.115), τ′ being the inverse dynamics with q̈ = 0 as S 7.6 proposes."""
    mechanism, tau = relieved(mechanism, q, qd, tau)
    rest = lean_newton_euler.inverse_dynamics(mechanism, q, qd, [0.0] * mechanism.n, h_e, base)
    factor = factorised(mechanism, inertia_matrix(mechanism, q))
    return factor.solve([t - r for t, r in zip(tau, rest, strict=True)])


def as_in_the_book(
    mechanism: Mechanism, q: Values, qd: Values, tau: Values, h_e: Values | None = None, base: BaseMotion | None = None
) -> list[Scalar]:
    """q̈ by (7.115), with τ′ and every column of B by the recursion of Fig. 7.14, as S 7.6 proposes."""
    mechanism, tau = relieved(mechanism, q, qd, tau)
    rest = newton_euler(mechanism, q, qd, [0.0] * mechanism.n, h_e, base).tau
    factor = factorised(mechanism, column_by_column(mechanism, q))
    return factor.solve([t - r for t, r in zip(tau, rest, strict=True)])


def forward_derivatives(mechanism: Mechanism, q: Values, qd: Values, tau: Values) -> tuple[Grid, Grid, Grid]:
    """(∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ): B q̈ + τ′ = τ differentiated, at the q̈ that solves it."""
    n = mechanism.n
    factor = factorised(mechanism, inertia_matrix(mechanism, q))
    plain, net = relieved(mechanism, q, qd, tau)
    qdd = factor.solve([t - r for t, r in zip(net, _at_rest(plain, q, qd), strict=True)])
    dq, dqd = torque_derivatives(plain, q, qd, qdd)
    passed_on = [1.0] * n
    for i in loaded(mechanism):  # B q̈ + τ′ = ℓ(q, q̇, τ)
        by_q, by_qd, passed_on[i] = slopes(load_of, mechanism.bodies[i], q[i], qd[i], tau[i])
        dq[i][i], dqd[i][i] = dq[i][i] - by_q, dqd[i][i] - by_qd

    def minus_inverse_times(A: Grid) -> Grid:
        columns = [factor.solve([-A[i][j] for i in range(n)]) for j in range(n)]
        return [[columns[j][i] for j in range(n)] for i in range(n)]

    inverse = [factor.solve([1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]
    if loaded(mechanism):
        inverse = [[x * y for x, y in zip(row, passed_on, strict=True)] for row in inverse]
    return minus_inverse_times(dq), minus_inverse_times(dqd), inverse


# the same in three acts, for machines with few registers: each needs little more than the results of the previous one


def acceleration_and_factor(mechanism: Mechanism, q: Values, qd: Values, tau: Values) -> tuple[Values, Values]:
    """q̈, and the factors of B."""
    factor = factorised(mechanism, inertia_matrix(mechanism, q))
    rest = lean_newton_euler.inverse_dynamics(mechanism, q, qd, [0.0] * mechanism.n)
    return factor.solve([t - r for t, r in zip(tau, rest, strict=True)]), factor.numbers()


def solved_derivatives(mechanism: Mechanism, factor: Values, dq: Values, dqd: Values) -> tuple[Grid, Grid, Grid]:
    """(−B⁻¹ ∂τ/∂q, −B⁻¹ ∂τ/∂q̇, B⁻¹) from the factors of B and the entries of both matrices."""
    n, B = mechanism.n, factor_of(mechanism, factor)

    def minus_inverse_times(A: Values) -> Grid:
        columns = [B.solve([-A[n * i + j] for i in range(n)]) for j in range(n)]
        return [[columns[j][i] for j in range(n)] for i in range(n)]

    inverse = [B.solve([1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]
    return minus_inverse_times(dq), minus_inverse_times(dqd), inverse


def _at_rest(mechanism: Mechanism, q: Values, qd: Values) -> list[Scalar]:
    """τ′ = C q̇ + F_v q̇ + F_s sgn(q̇) + g of S (7.115), from C, which ∂τ/∂q̇ needs in any case."""
    C, nothing = coriolis_matrix(mechanism, q, qd), [0.0] * mechanism.n
    g = lean_newton_euler.inverse_dynamics(bare(mechanism), q, nothing, nothing)
    f = [friction(body, x, v, 0.0) for body, x, v in zip(mechanism.bodies, q, qd, strict=True)]
    return [dot(row, qd) + (f_i + g_i) for row, f_i, g_i in zip(C, f, g, strict=True)]


def column_by_column(mechanism: Mechanism, q: Values) -> Grid:
    """B(q) as S 7.6 constructs it: column i is the torque for g_0 = 0, q̇ = 0, q̈ = e_i."""
    n, weightless = mechanism.n, replace(bare(mechanism), gravity=ZERO)
    rest = [0.0] * n
    columns = [newton_euler(weightless, q, rest, [1.0 if k == i else 0.0 for k in range(n)]).tau for i in range(n)]
    return [[columns[j][i] for j in range(n)] for i in range(n)]
