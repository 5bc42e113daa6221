"""Friction of passive joints, and the distance of a closed chain from a singular pose.

A passive joint p of a closed chain moves with γ̇_p = Γ_p q̇_a, where Γ_p is its row of Γ. Its friction
acts on the actuated joints as Γ_pᵀ times its torque. At rest, the friction is whatever torque up to F_s keeps
γ̇_p = 0: a constraint along the direction Γ_p, just as a held joint is one along a coordinate. Several such
directions may be linearly dependent (all joints of a four-bar linkage rest together); then the first independent ones
bear the load, and the others none, until one of the first gives way at its full F_s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dalembert.base.algebra.scalars import Grid, Scalar, Values, dot, less, select
from dalembert.mechanics.coordinates.chain import AnyMechanism, Chain, Cut, Many
from dalembert.mechanics.coordinates.pulled import loaded_joints
from dalembert.mechanics.coordinates.triangles import Triangle, square_of
from dalembert.mechanics.equations.friction import dry, friction, moving, sliding

DEPENDENT = 1e-10  # remainder of gᵀB⁻¹g after projection on the previous directions, below which g depends on them


def actuated(mechanism: AnyMechanism, q: Values) -> list[Scalar]:
    """q_a from the positions in the equations of motion: those of the whole tree if Newton's method closes loops."""
    return [q[i] for i in mechanism.actuated] if mechanism.by_newton else list(q)


def dry_torque(mechanism: AnyMechanism, q: Values, qd: Values, way: Values, tau: Values) -> list[Scalar]:
    """Torque of dry friction, in addition to τ, for joints that move this way; for a closed chain Γᵀ F_s sgn(Γ q̇_a).

    tau  the torques without dry and load-dependent friction, which determine the loads
    """
    chain = Chain(mechanism, q)
    moves = zip(mechanism.tree.bodies, chain.q, chain.push(way), strict=True)
    own = [dry(body, x, 0.0, w, 0.0) for body, x, w in moves]
    torques = chain.pull(own)
    for k, i, body in loaded_joints(mechanism):
        passed = torques[k] - own[i]  # the share of the passive joints
        load = tau[k] + passed - friction(sliding(body), chain.q[i], qd[k], 0.0)
        torques[k] = passed + dry(body, chain.q[i], qd[k], way[k], load)
    return torques


def moving_torque(mechanism: AnyMechanism, q: Values, qd: Values) -> list[Scalar]:
    """F_v q̇, and further terms that depend on the speed; for a closed chain, Γᵀ times these at Γ q̇_a."""
    chain = Chain(mechanism, q)
    return chain.pull([moving(*of) for of in zip(mechanism.tree.bodies, chain.q, chain.push(qd), strict=True)])


def directions(mechanism: AnyMechanism, q: Values, joints: Sequence[int]) -> Grid:
    """Γ_p for these joints of the tree."""
    columns = Chain(mechanism, q).Gamma
    return [[column[p] for column in columns] for p in joints]


def drifts(mechanism: AnyMechanism, q: Values, qd: Values, joints: Sequence[int]) -> list[Scalar]:
    """Γ̇_p q̇_a: acceleration of these joints if the actuated ones do not accelerate."""
    a = Chain(mechanism, q, qd).accelerations([0.0] * mechanism.n)
    return [a[p] for p in joints]


@dataclass(frozen=True)
class Brakes:
    """Directions g_k, some of which are held, orthogonalised successively in the metric of B.

    G      the directions
    u      B⁻¹ĝ_k, where ĝ_k = g_k − Σ c_ki ĝ_i is orthogonal to the previous ones; 0 for a direction that is
           not held, or that the previous ones already hold
    c      the coefficients
    over   1 / ĝ_kᵀB⁻¹ĝ_k, or 0
    """

    G: Grid
    u: Grid
    c: Grid
    over: list[Scalar]

    def hold(self, x: Values, drift: Values, most: Values | None = None) -> tuple[list[Scalar], list[Scalar]]:
        """(x, λ): x changed by the smallest B⁻¹ Gᵀλ that makes g_kᵀx + drift_k = 0 for all held directions.

        most  limit above which a direction is released
        """
        x = list(x)
        force: list[Scalar] = []
        for k, (g, u, o, b) in enumerate(zip(self.G, self.u, self.over, drift, strict=True)):
            f = -((dot(g, x) + b) * o)
            force.append(f if most is None else select(less(f * f, most[k] * most[k]), f, 0.0))
            x = [y + force[-1] * z for y, z in zip(x, u, strict=True)]
        for k in reversed(range(len(force))):  # from ĝ to g
            for i in range(k):
                force[i] = force[i] - self.c[k][i] * force[k]
        return x, force


def brakes(
    B: Sequence[Values], solve: Callable[[Values], list[Scalar]], G: Sequence[Values], held: Sequence[Scalar]
) -> Brakes:
    """The directions G, held as ``held`` says; ``solve`` applies B⁻¹, with 0 for coordinates that are held."""
    orthogonal = Brakes([], [], [], [])
    for g, h in zip(G, held, strict=True):
        u = solve(g)
        size: Scalar = 0.0
        for i, x in enumerate(g):
            size = size + x * x / B[i][i]
        c: list[Scalar] = []
        for v, o in zip(orthogonal.u, orthogonal.over, strict=True):
            c.append(dot(g, v) * o)
            u = [x - c[-1] * y for x, y in zip(u, v, strict=True)]
        left = dot(g, u)
        counts = select(h, less(DEPENDENT * size, left), 0.0)
        orthogonal.G.append(list(g))
        orthogonal.u.append([select(counts, x, 0.0) for x in u])
        orthogonal.c.append([select(counts, x, 0.0) for x in c])
        orthogonal.over.append(select(counts, 1.0 / select(counts, left, 1.0), 0.0))
    return orthogonal


# -- singular poses ------------------------------------------------------------------------------


def clearance_count(mechanism: AnyMechanism) -> int:
    """Number of values that :func:`clearances` returns: 0 if no pose is singular."""
    if mechanism.linear:
        return 0
    if mechanism.by_newton:
        return sum(map(len, mechanism.passive)) - 1
    return sum(closure.clearances for closure in mechanism.closures if isinstance(closure, Triangle))


def clearances(closed: AnyMechanism, q: Values, qd: Values) -> tuple[list[Scalar], list[Scalar]]:
    """Distance of each passive joint's effect on the cuts from the span of the joints before it, and its rate.

    For the columns a_k of Φ_p, the distance of a_k from the span of the previous ones is r_k = e_kᵀa_k. As the
    span rotates, ṙ_k = e_kᵀ(ȧ_k − Σ c_j ȧ_j) with the c_j for which Σ c_j a_j is nearest. In a singular pose
    one of them is 0. They are relative to |a_k|, hence dimensionless. A pivot on the line of its link moves nothing:
    there the length of its column, relative to that of the loop, is 0 instead.
    """
    chain = Chain(closed, q, qd)
    away: list[Scalar] = []
    rate: list[Scalar] = []
    for step in chain.steps:
        if not isinstance(step, Cut):
            continue
        columns = [step.columns[i] for i in step.passive]
        dots = [step.columns_dot[i] for i in step.passive]
        for k in range(1, len(columns)):
            before = Many(columns[:k])
            c = before.solve(columns[k])
            rest = list(columns[k])
            change = list(dots[k])
            for j in range(k):
                rest = [x - c[j] * y for x, y in zip(rest, columns[j], strict=True)]
                change = [x - c[j] * y for x, y in zip(change, dots[j], strict=True)]
            size = dot(columns[k], columns[k])
            square = dot(rest, rest)  # r², whose rate is 2 eᵀ… r: no root is needed
            away.append(square / size)
            rate.append(2.0 * dot(rest, change) / size)
    for closure in closed.closures:
        if isinstance(closure, Triangle) and closure.slides:
            loop, step = closed.loops[closure.loop], chain.steps[closed.closures.index(closure)]
            assert isinstance(step, Cut)
            pivot = next(i for i in closure.passive if closed.tree.bodies[i].revolute)
            over = 1.0 / square_of(loop)  # type: ignore[arg-type]
            away.append(over * dot(step.columns[pivot], step.columns[pivot]))
            rate.append(2.0 * over * dot(step.columns[pivot], step.columns_dot[pivot]))
    return away, rate
