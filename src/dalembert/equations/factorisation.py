"""B = Lᵀ D L along the tree, and what is solved with it.

B has a zero wherever two joints lie on different branches, and eliminating from the tips to the base
keeps every one of them (Featherstone, Rigid Body Dynamics Algorithms, 6.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.equations.composite import inertia_matrix
from dalembert.robot.linalg import Scalar
from dalembert.robot.mechanism import Mechanism


@dataclass(frozen=True)
class Factor:
    """L (unit lower triangular, only along ancestors) and the reciprocals of D."""

    ancestors: list[list[int]]
    L: list[list[Scalar]]
    over_D: list[Scalar]

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
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


def factorised(mechanism: Mechanism, B: Sequence[Sequence[Scalar]]) -> Factor:
    """The factors of B, whose entries are taken from the lower triangle."""
    n = mechanism.n
    ancestors = [list(reversed(mechanism.path(mechanism.bodies[i].parent))) for i in range(n)]
    H = [list(row) for row in B]
    L: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    over_D: list[Scalar] = [0.0] * n
    for k in reversed(range(n)):
        over_D[k] = 1.0 / H[k][k]
        for i in ancestors[k]:
            L[k][i] = H[k][i] * over_D[k]
            for j in [i, *ancestors[i]]:
                H[i][j] = H[i][j] - L[k][i] * H[k][j]
    return Factor(ancestors, L, over_D)


def inert_joints(mechanism: Mechanism) -> list[str]:
    """The joints behind which nothing resists: their pivot D vanishes wherever the arm stands.

    Such an arm has no B⁻¹. Three poses without any symmetry tell it from an arm that is merely in a
    bad pose.
    """
    n = mechanism.n
    suspects = set(range(n))
    for pose in range(3):
        B = inertia_matrix(mechanism, [0.7 * (k + 1) ** 0.5 + 1.1 * pose for k in range(n)])
        tiny = 1e-14 * max((B[k][k] for k in range(n)), default=0.0)
        suspects &= {k for k, pivot in enumerate(_pivots(mechanism, B, tiny)) if pivot <= tiny}
    return [mechanism.bodies[k].name for k in sorted(suspects)]


def _pivots(mechanism: Mechanism, B: list[list[float]], tiny: float) -> list[float]:
    """D of the factorisation, going on past a pivot that vanishes."""
    H = [list(row) for row in B]
    for k in reversed(range(mechanism.n)):
        if H[k][k] > tiny:
            above = mechanism.path(mechanism.bodies[k].parent)
            for i in above:
                for j in above:
                    H[i][j] -= H[k][i] * H[k][j] / H[k][k]
    return [H[k][k] for k in range(mechanism.n)]
