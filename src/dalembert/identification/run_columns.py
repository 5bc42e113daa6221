"""The predicted torques of a run as columns times base parameters: one triangle per joint, and the columns at some
samples.

They give the error of a run for any values of the parameters, without processing the run again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.environment.brief import brief
from dalembert.identification.accumulate import taken_in
from dalembert.identification.base import BaseParameters
from dalembert.identification.result import PredictedRun
from dalembert.logs.conditioning import Stretch

Array = NDArray[np.float64]


@brief
@dataclass(frozen=True, eq=False)
class RunColumns:
    """For each joint j, its low-passed columns Ŷ_j, with τ̂_j = Ŷ_j π over the whole run.

    columns    (c_j,) the base parameters that act on joint j
    triangles  (c_j + 1, c_j + 1) upper triangular, RᵀR = [Ŷ_j, τ_j]ᵀ[Ŷ_j, τ_j] over all kept samples, τ_j as measured
    instants   (S,) some of the kept samples
    values     (c_j, S) the columns there
    """

    columns: tuple[NDArray[np.intp], ...]
    triangles: tuple[Array, ...]
    instants: NDArray[np.intp]
    values: tuple[Array, ...]

    def squares(self, pi: Array) -> Array:
        """‖τ_j − Ŷ_j π‖² of every joint (n,)."""
        parts = zip(self.columns, self.triangles, strict=True)
        return np.array([np.sum((R[:, -1] - R[:, :-1] @ pi[columns]) ** 2) for columns, R in parts])


def run_columns(base: BaseParameters, run: PredictedRun, most: int) -> RunColumns:
    """The columns of a run as used in its prediction, including rest, at no more than ``most`` samples.

    >>> import numpy as np, dalembert as da
    >>> arm, t = da.load("pendulum"), np.arange(0, 20, 0.01)
    >>> q, qd, qdd = da.fourier([[[0.5, 0.3]], [[0.2, 0.4]]], 0.2, duration=20.0)(t)
    >>> log = {"t": t, "q": q, "qd": qd, "tau": arm.inverse_dynamics(q, qd, qdd) + np.sin(50 * t)[:, None]}
    >>> fit = da.identify(arm, log, cutoff=10.0, selection=False)
    >>> columns = run_columns(fit.base, fit.run, 100)
    >>> error = np.sqrt(columns.squares(fit.parameters).sum()) / np.linalg.norm(fit.run.measured)
    >>> bool(abs(error - fit.relative_error) < 1e-12), columns.values[0].shape[1] <= 100
    (True, True)
    """
    felt, ready = base.felt, run.conditioned
    upper = [np.zeros((len(columns) + 1,) * 2, order="F") for columns in felt.columns]
    instants = np.linspace(0, ready.count - 1, min(ready.count, most)).round().astype(np.intp)
    values, done = np.empty((felt.parts[-1].stop, len(instants))), 0
    for piece, kept in ready.blocks():
        at = slice(done, done + len(kept))
        rows = ready.low_passed(_predicting_rows(base, run.held, piece), kept)
        inside = np.flatnonzero((instants >= at.start) & (instants < at.stop))
        values[:, inside] = rows[:, instants[inside] - done]
        for j, part in enumerate(felt.parts):
            upper[j] = taken_in(upper[j], np.asfortranarray(np.vstack([rows[part], run.measured[at, j]]).T))
        done = at.stop
    triangles = tuple(np.triu(R) for R in upper)
    return RunColumns(tuple(felt.columns), triangles, instants, tuple(values[part] for part in felt.parts))


def _predicting_rows(base: BaseParameters, held: float, piece: Stretch) -> Array:
    """The columns (columns of all joints, N) of a stretch; at rest, ``held`` of the speed-dependent part remains."""
    felt, (q, qd, qdd) = base.felt, piece.states
    rows = felt.rows(q, qd, qdd, piece.temperature)
    at_rest = np.flatnonzero(piece.resting.any(axis=1)) if piece.rest is not None else np.zeros(0, np.intp)
    if len(at_rest):
        stopped = np.where(piece.resting[at_rest], 0.0, qd[at_rest])
        warm = None if piece.temperature is None else piece.temperature[at_rest]
        still = felt.rows(q[at_rest], stopped, qdd[at_rest], warm)
        rows[:, at_rest] -= (1.0 - held) * (rows[:, at_rest] - still)
    return rows
