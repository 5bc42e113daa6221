"""Convex cone programs in the form of the interior-point solver Clarabel.

    minimise  ½ ‖A v − a‖² + ½ Σ w_k (v_k − c_k)² + lᵀv    subject to   h − G v in a product of cones

G is assembled once. A and a, which come from a log, change from one solve to the next. The rows A v − y = a have
variables y of their own, so AᵀA is never formed and the condition number stays that of A.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.base.arrays import Array
from dalembert.base.environment.extras import extra
from dalembert.errors import DalembertError
from dalembert.work.logs.scipy_package import scipy

SETTLED = ("Solved", "AlmostSolved")  # solver states with a usable solution
WANTED = 1e-10  # gap and residuals at which the solver stops: predicted torques are then accurate to about 1e-6
ROUGH = 1e-7  # the same, for comparisons of models: predicted torques are then accurate to about 1e-4
ACCURATE = 1e-8  # gap and residuals that count as full accuracy
# settings that differ from the solver's defaults, tried one after another if it makes no progress
CAREFUL: tuple[dict[str, Any], ...] = (
    {},
    {"max_step_fraction": 0.9},
    {"max_step_fraction": 0.8, "equilibrate_enable": False},
)


def clarabel() -> Any:
    """The solver, if it is installed."""
    with extra("identify", "a physically consistent estimate"):
        import clarabel
    return clarabel


def stacked(M: Array) -> Array:
    """(…, k(k+1)/2): the upper triangle of symmetric M (…, k, k), column by column, off-diagonal entries times √2.

    >>> stacked(np.array([[1.0, 2.0], [2.0, 3.0]])).round(3).tolist()
    [1.0, 2.828, 3.0]
    """
    column, row = np.tril_indices(M.shape[-1])
    symmetric = 0.5 * (M + np.swapaxes(M, -1, -2))
    return symmetric[..., row, column] * np.where(row == column, 1.0, np.sqrt(2.0))


class ConeProgram:
    """A program in ``size`` variables, built by adding rows and solved for any number of least-squares problems.

    weights, centres   (size,) w and c of the quadratic part; set them, and ``slope`` l, before solving
    """

    def __init__(self, size: int) -> None:
        self.size, self.solver = size, clarabel()
        self.weights, self.centres, self.slope = np.zeros(size), np.zeros(size), np.zeros(size)
        self._blocks: list[tuple[Array, Array]] = []
        self._cones: list[Any] = []
        self._fixed: Any = None  # the rows of all blocks as one sparse matrix

    def zero(self, G: Array, h: Array) -> None:
        """G v = h."""
        self._add(G, h, self.solver.ZeroConeT)

    def not_negative(self, G: Array, h: Array) -> None:
        """h + G v ≥ 0."""
        self._add(-G, h, self.solver.NonnegativeConeT)

    def semidefinite(self, units: Array, constant: Array) -> None:
        """constant + Σ v_k units_k ⪰ 0, with units (size, k, k)."""
        self._add(-stacked(units).T, stacked(constant), lambda _: self.solver.PSDTriangleConeT(len(constant)))

    def log_at_least(self, value: int, bound: int) -> None:
        """log v[value] ≥ v[bound]."""
        G = np.zeros((3, self.size))
        G[0, bound] = G[2, value] = -1.0
        self._add(G, np.array([0.0, 1.0, 0.0]), lambda _: self.solver.ExponentialConeT())

    def _add(self, G: Array, h: Array, cone: Callable[[int], Any]) -> None:
        if len(h):
            self._blocks.append((G, h))
            self._fixed = None
            self._cones.append(cone(len(h)))

    def solved(self, A: Array, a: Array, scale: float = 1.0, wanted: float = WANTED) -> tuple[Array, bool]:
        """(v (size,), whether solved to full accuracy); the objective is divided by ``scale`` for the solver, which stops
        at the gap and residuals ``wanted``."""
        m, sparse = len(a), scipy.sparse
        if self._fixed is None:
            self._fixed = sparse.csc_matrix(np.concatenate([G for G, _ in self._blocks]))
        rows = sparse.hstack([sparse.csc_matrix(A), -sparse.identity(m)])
        fixed = sparse.hstack([self._fixed, sparse.csc_matrix((self._fixed.shape[0], m))])
        G = sparse.vstack([rows, fixed], format="csc")
        h = np.concatenate([a, *(h for _, h in self._blocks)])
        weights = np.concatenate([self.weights, np.ones(m)]) / scale
        slope = np.concatenate([self.slope - self.weights * self.centres, np.zeros(m)]) / scale
        P = sparse.csc_matrix((weights, (range(len(weights)),) * 2))
        cones = [self.solver.ZeroConeT(m)] * (m > 0) + self._cones
        for careful in CAREFUL:  # exponential cones may stall long steps
            settings = self.solver.DefaultSettings()
            settings.verbose = False
            settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = wanted
            for name, value in careful.items():
                setattr(settings, name, value)
            solution = self.solver.DefaultSolver(P, slope, G, h, cones, settings).solve()
            status = str(solution.status)
            if status in SETTLED or "Infeasible" in status:
                break
        if "Infeasible" in status:
            raise DalembertError(
                f"no physically consistent parameters satisfy the constraints: the semidefinite program is infeasible ({status})"
            )
        if status not in SETTLED:
            raise DalembertError(f"the semidefinite program was not solved: the solver stopped with '{status}'")
        gap = abs(solution.obj_val - solution.obj_val_dual) / max(1.0, abs(solution.obj_val))
        accurate = status == "Solved" or max(gap, solution.r_prim, solution.r_dual) <= ACCURATE
        return np.asarray(solution.x)[: self.size], accurate
