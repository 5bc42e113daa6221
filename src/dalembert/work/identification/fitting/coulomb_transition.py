"""Shape of a joint's gradual Coulomb friction: tanh((q̇ − c)/w), with w and c by least squares.

In gears with grease and elastic teeth, friction does not change sign abruptly, and measured speeds have offsets. The
published models of Franka's and Universal Robots' arms have this shape of friction.

The torques are linear in everything except w and c, so these are found with all the rest eliminated (variable
projection): with Q an orthonormal basis of the columns of joint j's equations without Coulomb friction, (w, c) is where
the part of tanh((q̇ − c)/w) that is orthogonal to Q explains most of τ_j. Every joint has its own equations for it,
low-passed like the torques.
"""

from __future__ import annotations

import numpy as np

from dalembert.base.arrays import Array
from dalembert.base.environment.progress import Progress
from dalembert.work.identification.fitting.base_parameters import BaseParameters
from dalembert.work.logs.conditioning import Conditioned
from dalembert.work.logs.scipy_package import scipy

WIDTHS = (0.003, 0.01, 0.03, 0.1, 0.3)  # of a joint's largest speed; the search starts from the best of them
NARROWEST, WIDEST, FARTHEST = 1e-4, 1.0, 0.1  # of the same: bounds of w and of |c|


def turn_overs(base: BaseParameters, ready: Conditioned, weights: Array, step: Progress) -> tuple[Array, Array]:
    """(w, c) of every joint, (n,) each in rad/s; ``base`` has all columns except those of Coulomb friction.

    ``weights`` (M, n) are the weights of the joints' equations at the kept samples.
    """
    n, by_joint = base.parameters.arm.n, base.joint_columns
    widths, centres = np.zeros(n), np.zeros(n)
    rows = np.concatenate(
        [
            ready.low_passed(by_joint.rows(*piece.states, piece.temperature), indices)
            for piece, indices in ready.blocks()
        ],
        axis=1,
    )
    for j, part in enumerate(by_joint.parts):
        widths[j], centres[j] = _best(rows[part].T, ready, weights[:, j], j)
        step("shape of friction", (j + 1) / n)
    return widths, centres


def _best(rows: Array, ready: Conditioned, weight: Array, j: int) -> tuple[float, float]:
    """(w, c) of joint j, whose columns without Coulomb friction at the kept samples are ``rows`` (M, b_j)."""
    rows = weight[:, None] * rows
    size = np.linalg.norm(rows, axis=0)
    U, s, _ = np.linalg.svd(rows[:, size > 0] / size[size > 0], full_matrices=False)
    Q = U[:, s > 1e-10 * s[0]]
    tau = weight * ready.tau[:, j]
    left = tau - Q @ (Q.T @ tau)
    fastest = max(float(np.abs(ready.qd[:, j]).max()), 1e-9)

    def residual(x: Array) -> Array:
        w, c = fastest * np.exp(x[0]), fastest * x[1]
        shape = weight * ready.thinned(lambda piece: np.tanh((piece.states[1][:, j] - c) / w))
        shape = shape - Q @ (Q.T @ shape)
        along = float(shape @ shape)
        return left - shape * (float(shape @ left) / along if along > 0 else 0.0)

    start = min((np.array([np.log(share), 0.0]) for share in WIDTHS), key=lambda x: float(np.sum(residual(x) ** 2)))
    bounds = ([np.log(NARROWEST), -FARTHEST], [np.log(WIDEST), FARTHEST])
    width, centre = scipy.optimize.least_squares(
        residual, start, bounds=bounds, x_scale=(1.0, 0.01), diff_step=1e-4, max_nfev=40
    ).x
    return float(fastest * np.exp(width)), float(fastest * centre)
