"""B = Lᵀ D L along the tree, and the solution of linear systems with it.

B has a zero wherever two joints lie on different branches, and elimination from the tips to the base
preserves all of these zeros (Featherstone, Rigid Body Dynamics Algorithms, 6.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.base.algebra.scalars import Grid, Scalar, Values, zeros
from dalembert.mechanics.equations.composite import inertia_matrix
from dalembert.mechanics.equations.kinematics import frames
from dalembert.robot.model.mechanism import Mechanism

ROUNDING = 1e-14  # a pivot below this fraction of its upper bound is zero up to rounding


@dataclass(frozen=True)
class TreeFactor:
    """L (unit lower triangular, only along ancestors) and the reciprocals of D."""

    ancestors: list[list[int]]
    L: Grid
    over_D: list[Scalar]

    def numbers(self) -> list[Scalar]:
        """All entries in one list, as :func:`factor_of` takes them."""
        return [*self.over_D, *(self.L[i][j] for i, above in enumerate(self.ancestors) for j in above)]

    def solve(self, b: Values) -> list[Scalar]:
        """B⁻¹ b"""
        x = list(b)
        n = len(x)
        for i in reversed(range(n)):
            for j in self.ancestors[i]:
                x[j] = x[j] - self.L[i][j] * x[i]
        x = [x[i] * self.over_D[i] for i in range(n)]
        for i in range(n):
            for j in self.ancestors[i]:
                x[i] = x[i] - self.L[i][j] * x[j]
        return x


def ancestors_of(mechanism: Mechanism) -> list[list[int]]:
    """For every joint, the joints between it and the base, the nearest first."""
    return [list(reversed(mechanism.path(body.parent))) for body in mechanism.bodies]


def factor_of(mechanism: Mechanism, numbers: Values) -> TreeFactor:
    """The factors from a list of their entries."""
    n, ancestors = mechanism.n, ancestors_of(mechanism)
    L, rest = zeros(n), iter(numbers[n:])
    for i, above in enumerate(ancestors):
        for j in above:
            L[i][j] = next(rest)
    return TreeFactor(ancestors, L, list(numbers[:n]))


def factorised(mechanism: Mechanism, B: Sequence[Values]) -> TreeFactor:
    """The factors of B, whose entries are taken from the lower triangle."""
    n, ancestors = mechanism.n, ancestors_of(mechanism)
    H = [list(row) for row in B]
    L = zeros(n)
    over_D: list[Scalar] = [0.0] * n
    for k in reversed(range(n)):
        over_D[k] = 1.0 / H[k][k]
        for i in ancestors[k]:
            L[k][i] = H[k][i] * over_D[k]
            for j in [i, *ancestors[i]]:
                H[i][j] = H[i][j] - L[k][i] * H[k][j]
    return TreeFactor(ancestors, L, over_D)


def inert_joints(mechanism: Mechanism) -> list[int]:
    """The joints that move no inertia: their pivot D vanishes in every configuration.

    Such an arm has no B⁻¹. Three asymmetric poses distinguish it from an arm that is merely in a
    special pose.
    """
    suspects = set(range(mechanism.n))
    for pose in range(3):
        q = asymmetric_pose(mechanism, pose)
        suspects &= unresisted(inertia_matrix(mechanism, q), inertia_bounds(mechanism, q))
    return sorted(suspects)


def asymmetric_pose(mechanism: Mechanism, number: int) -> list[float]:
    """A pose without symmetry: rad for revolute joints, fractions of the arm's own size for prismatic ones."""
    vectors = (v for b in mechanism.bodies for v in (b.placement.translation, b.link_frame.translation, b.inertia.com))
    size = max((v.norm for v in vectors), default=0.0) or 1.0
    return [
        (0.7 * (k + 1) ** 0.5 + 1.1 * number) * (1.0 if body.revolute else size)
        for k, body in enumerate(mechanism.bodies)
    ]


def inertia_bounds(mechanism: Mechanism, q: Sequence[float]) -> list[float]:
    """The largest value that B_kk of every joint can take, whatever the direction of its axis (kg m² or kg).

    ∫|p|² dm over everything that a revolute joint moves, p relative to the origin of its frame, or its mass for a
    prismatic joint; and the rotor's k_r² I_m. B_kk has rounding errors of a few ulp of this bound, so the bound tells
    whether B_kk is nothing but rounding, in the joint's own unit: no joint is compared with another.
    """
    F = frames(mechanism, q)
    bounds = [body.gear * body.gear * body.rotor_inertia for body in mechanism.bodies]
    for i, body in enumerate(mechanism.bodies):
        m, p_C = body.inertia.mass, F.p[i] + F.R[i] @ body.inertia.com
        for k in mechanism.path(i):
            r = p_C - F.p_joint[k]
            bounds[k] += m * r.dot(r) + 0.5 * body.inertia.tensor.trace if mechanism.bodies[k].revolute else m
    return bounds


def unresisted(B: Sequence[Sequence[float]], bounds: Sequence[float]) -> set[int]:
    """The joints whose pivot D is nothing but rounding compared with their own bound; elimination continues past them."""
    H = [list(row) for row in B]
    loose = set()
    for k in reversed(range(len(H))):
        if not H[k][k] > ROUNDING * abs(bounds[k]):  # an approximate model may have a negative one
            loose.add(k)
            continue
        coupled = [i for i in range(k) if H[k][i]]
        for i in coupled:
            for j in coupled:
                H[i][j] -= H[k][i] * H[k][j] / H[k][k]
    return loose
