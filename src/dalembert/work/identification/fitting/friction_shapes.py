"""Shapes of friction in which the torque is nonlinear: Stribeck speeds, and widths of gradual Coulomb friction.

Stribeck speeds are found by trial. Gradual Coulomb friction is tanh((q̇ − c)/w): in gears with grease and elastic teeth,
friction does not change sign abruptly, and measured speeds have offsets. The published models of Franka's and Universal
Robots' arms have this shape of friction.

The torques are linear in everything except w and c, so these are found with all the rest eliminated (variable
projection): with Q an orthonormal basis of the columns of joint j's equations without Coulomb friction, (w, c) is where
the part of tanh((q̇ − c)/w) that is orthogonal to Q explains most of τ_j. Every joint has its own equations for it,
low-passed like the torques.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dalembert.base.arrays import Array
from dalembert.base.environment.progress import Progress
from dalembert.base.per_joint import per_joint
from dalembert.robot.terms import Stribeck, Tanh
from dalembert.work.identification.fitting import least_squares as lsq
from dalembert.work.identification.fitting.base_parameters import base_parameters
from dalembert.work.identification.fitting.evidence import LogEquations, RestWeights
from dalembert.work.identification.fitting.methods import FitProblem
from dalembert.work.identification.fitting.model_parameters import at_every_joint
from dalembert.work.identification.fitting.parameter_set import ParameterSet
from dalembert.work.logs.conditioning import Conditioned
from dalembert.work.logs.scipy_package import scipy

Given = bool | float | Sequence[float]

STRIBECK_SPEEDS = (0.02, 0.04, 0.08, 0.16, 0.32)  # of a joint's largest speed, tried one after another
WIDTHS = (0.003, 0.01, 0.03, 0.1, 0.3)  # of a joint's largest speed; the search starts from the best of them
NARROWEST, WIDEST, FARTHEST = 1e-4, 1.0, 0.1  # of the same: bounds of w and of |c|


def with_stribeck(
    parameters: ParameterSet, value: Given, ready: Conditioned, problem_of: Callable[[ParameterSet], FitProblem]
) -> tuple[ParameterSet, list[str]]:
    """The set with Stribeck friction exp(−(q̇/v)²), its speeds as given or those that explain the torques best; and notes."""
    arm = parameters.arm
    if value is not True:
        speeds = per_joint("stribeck", value, arm.n, positive=True)
        return parameters.with_terms(at_every_joint(arm, Stribeck, speeds)), []
    fastest = np.abs(ready.qd).max(axis=0)
    speeds, squares = np.maximum(np.outer(STRIBECK_SPEEDS, fastest), 1e-9), []
    for tried in speeds:
        problem = problem_of(parameters.with_terms(at_every_joint(arm, Stribeck, tried)))
        start, evidence = problem.base.values, problem.evidence
        values = lsq.least_squares(evidence, start, problem.fixed(evidence), 1).values
        squares.append(lsq.squares(evidence, values))
    best = speeds[np.argmin(squares, axis=0), np.arange(arm.n)]
    note = f"the Stribeck speeds were chosen by trial: {', '.join(f'{v:.3g}' for v in best)} rad/s"
    return parameters.with_terms(at_every_joint(arm, Stribeck, best)), [note]


def with_sigmoid(
    parameters: ParameterSet, value: Given, ready: Conditioned, rests: RestWeights, step: Progress
) -> tuple[ParameterSet, list[str]]:
    """The set with gradual Coulomb friction, its widths as given or its shape by least squares; and notes."""
    arm = parameters.arm
    if value is not True:
        widths = per_joint("sigmoid", value, arm.n, positive=True)
        return parameters.with_terms(at_every_joint(arm, Tanh, widths, np.zeros(arm.n))), []
    sharp = tuple((j, term) for j, term in parameters.further if not isinstance(term, Tanh))
    base = base_parameters(replace(parameters, terms=sharp))
    equations = LogEquations(base.joint_columns, ready, rests)  # with all columns except those of Coulomb friction
    parts, weights = equations.columns.parts, np.where(equations.moving, 1.0, rests.factor)
    widths, centres = np.zeros(arm.n), np.zeros(arm.n)
    rows = np.concatenate([block.rows for block in equations], axis=1)
    for j, part in enumerate(parts):
        widths[j], centres[j] = _best(rows[part].T, ready, weights[:, j], j)
        step("shape of friction", (j + 1) / arm.n)
    note = (
        f"Coulomb friction changes sign as tanh((q̇ − c)/w), w = {', '.join(f'{w:.3g}' for w in widths)} and "
        f"c = {', '.join(f'{c:.2g}' for c in centres)} rad/s by least squares"
    )
    return parameters.with_terms(at_every_joint(arm, Tanh, widths, centres)), [note]


def _best(rows: Array, ready: Conditioned, weight: Array, j: int) -> tuple[float, float]:
    """(w, c) of joint j in rad/s, whose columns without Coulomb friction at the kept samples are ``rows`` (M, b_j)."""
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
