"""Choice of the estimator by cross-validation: variants of least squares, and physically consistent links with or
without a prior.

Every candidate computes π from the Gram matrices of all parts but one and is evaluated on that part, as the laws are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import record
from dalembert.base.files.journal import Journal
from dalembert.errors import DalembertError
from dalembert.work.identification.fitting.base_parameters import base_parameters, smallest_inertia
from dalembert.work.identification.fitting.energy_method import energy_equations
from dalembert.work.identification.fitting.fit_options import EstimatorOptions
from dalembert.work.identification.fitting.log_equations import levels
from dalembert.work.identification.fitting.model_parameters import belief_of
from dalembert.work.identification.fitting.parameter_set import ParameterSet
from dalembert.work.identification.fitting.physical_consistency import Belief, ConsistentProblem
from dalembert.work.identification.fitting.result import make_run
from dalembert.work.identification.fitting.robust import CORNER, robust_scale, row_weights
from dalembert.work.identification.fitting.solution import correlation_times
from dalembert.work.identification.fitting.triangular_systems import column_lengths
from dalembert.work.identification.selection.blocks import (
    PER_PART,
    STILL,
    Grams,
    Material,
    moving_weights,
    several_grams,
)
from dalembert.work.identification.selection.crossvalidation import (
    CrossValidation,
    difference,
    noise_weights,
    regularised,
    relative_gain,
    usual_squares,
)
from dalembert.work.identification.selection.model_search import DEVIATIONS, Progress, has_inertias
from dalembert.work.identification.selection.selection_result import Trial
from dalembert.work.logs.conditioning import Conditioned, Stretch

UNSEEN = 1e-12  # of the largest eigenvalue: smaller ones are rounding errors
FAR = 6.0  # standard deviations: an equation with a larger residual is an outlier
OFTEN = 1e-3  # fraction of outliers above which robust least squares are tried
WORTH = 0.05  # of the squared error: minimum improvement over a simpler estimator
POSES = 1000  # at which B(q) is checked
HIGH = 300.0  # condition number, with columns of length one, above which a prior is preferred


@record
class Estimator:
    """An estimator: its options, the normal matrices [Y, τ]ᵀ[Y, τ] without each part, and the function from them to π."""

    words: str
    options: EstimatorOptions
    normal: Array
    solve: Callable[[Array], Array]


class EstimatorStudy:
    """The equations of one parameter set at one cut-off, in blocks."""

    def __init__(self, parameters: ParameterSet, material: Material, cutoff: float, standard_errors: float) -> None:
        self.base = base_parameters(parameters)
        self.material, self.standard_errors = material, standard_errors
        self.ready, judged = material.at(cutoff)
        self.fastest = np.abs(self.ready.qd).max(axis=0)
        self.fitted, self.judged = self._grams(self.ready), self._grams(judged)
        self.start = self.base.values
        columns, totals = np.arange(self.base.rank), [G.sum(axis=0) for G in self.fitted.G]
        self.plain = self._cv()
        self.weights, pi = noise_weights(self.fitted, self.judged, self.start, columns, totals)
        self.run = make_run(self.base, pi, self.ready)
        self.moving = np.abs(self.ready.qd) >= STILL * self.fastest
        self.times = correlation_times(self.run, self.moving)
        self.cv = self._cv(self.weights)
        errors, _ = self.cv.errors([columns])
        self.cv.usual = usual_squares(self.judged, errors)
        self.at_cutoff = CrossValidation(self.fitted, self.fitted, self.start, self.weights)
        # relative error of weighted least squares on parts left out, low-passed as for the fit
        self.error = self.at_cutoff.relative(self.at_cutoff.errors([columns])[0])

    def _cv(self, weights: Array | None = None) -> CrossValidation:
        return CrossValidation(self.fitted, self.judged, self.start, weights)

    def _grams(self, ready: Conditioned, factors: Array | None = None) -> Grams:
        """The Gram matrices of a conditioned log; ``factors`` (M, n) multiply the equations of its kept samples."""
        by_joint, done = self.base.joint_columns, 0

        def rows(piece: Stretch) -> list[Array]:
            whole = by_joint.rows(*piece.states, piece.temperature)
            return [whole[part] for part in by_joint.parts]

        def weights(piece: Stretch, indices: NDArray[np.intp]) -> Array:
            nonlocal done
            w, mine = moving_weights(piece, indices, self.fastest), slice(done, done + len(indices))
            done += len(indices)
            return (w if factors is None else w * factors[mine]).T

        labels = self.material.blocks(ready, 1.0 / float(self.material.cutoffs[0]))
        return several_grams([ready], [labels], by_joint.columns, rows, weights)[0]

    @property
    def condition(self) -> float:
        """The condition number of the weighted equations of all parts, with columns of length one."""
        N = self.cv.normal[-1][:-1, :-1]
        d = column_lengths(np.sqrt(np.maximum(np.diag(N), 0.0))[None])
        values = np.linalg.eigvalsh(N / d.T / d)
        values = values[values > UNSEEN * values[-1]]
        return float(np.sqrt(values[-1] / values[0])) if len(values) else 1.0

    def estimators(self, arm: Arm) -> list[Estimator]:
        """The estimators to be tried, in order of preference: weighted least squares, physically consistent links with
        increasingly strong priors, and then those for special logs."""
        correlated = self._cv(self.weights / np.sqrt(self.times)).normal

        def plain(N: Array) -> Array:
            return regularised(N[None], self.start)[0]

        out = [Estimator("weighted least squares", EstimatorOptions(method="weighted"), correlated, plain)]
        sizes = levels(self.base, self.ready)
        possible = EstimatorOptions(method="weighted", physical=True)
        consistent = {"physically consistent links": possible}
        for deviation in DEVIATIONS if has_inertias(arm) else ():
            words = f"physically consistent links with the arm's own as a prior ({100 * deviation:g} %)"
            consistent[words] = replace(possible, prior=arm, prior_deviation=deviation)
        for words, options in consistent.items():
            problem = ConsistentProblem(self.base, belief_of(options) or Belief(), sizes)

            def solve(N: Array, problem: ConsistentProblem = problem) -> Array:
                return self.base.K @ problem.solve(*_triangle(N))[0]

            out.append(Estimator(words, options, correlated, solve))
        if (robust := self._robust()) is not None:
            out.append(Estimator("robust least squares", EstimatorOptions(method="robust"), robust, plain))
        out.append(Estimator("ordinary least squares", EstimatorOptions(method="ordinary"), self.plain.normal, plain))
        if (energy := self._energy()) is not None:
            out.append(Estimator("energy, without accelerations", EstimatorOptions(method="energy"), energy, plain))
        return out

    def _robust(self) -> Array | None:
        """The normal matrices with Huber's weights; None if hardly any equation would be down-weighted."""
        residual, moving = self.run.residual, self.moving
        noise = np.maximum(robust_scale(residual, moving), 1e-12)
        weights = row_weights(residual, noise)
        if not np.mean(weights[moving] < CORNER / FAR) > OFTEN:
            return None
        fitted = self._grams(self.ready, np.sqrt(weights))
        return CrossValidation(fitted, self.judged, self.start, 1.0 / noise).normal

    def _energy(self) -> Array | None:
        """The normal matrices of the energy balances; None if a term needs accelerations."""
        members = self.base.parameters.members
        if any(x.loaded or x.torque is not None for x in members):
            return None
        E, e, _ = energy_equations(self.base, self.ready)
        label, parts = self.material.blocks(self.ready, 0.0)
        whole, part = np.column_stack([E, e]), label[: len(e)] // PER_PART
        sums = np.stack([whole[part == k].T @ whole[part == k] for k in range(parts)])
        return np.stack([*(sums.sum(axis=0) - mine for mine in sums), sums.sum(axis=0)])

    def _left(self, estimator: Estimator) -> dict[str, Any]:
        """``left`` (n, B), squared residuals of an estimator on parts left out, and the relative error there ``at_cutoff``
        itself; empty if its cone program cannot be solved."""
        left, own = np.zeros_like(self.judged.rows), np.zeros_like(self.fitted.rows)
        try:
            for part in range(self.cv.parts):
                pi = estimator.solve(estimator.normal[part])
                left += self.cv.squares(pi, part)
                own += self.at_cutoff.squares(pi, part)
        except DalembertError:
            return {}
        return {"left": left, "at_cutoff": self.at_cutoff.relative(own)}

    def choose(
        self, estimators: Sequence[Estimator], step: Progress, journal: Journal
    ) -> tuple[EstimatorOptions, list[Trial]]:
        """The estimator that predicts best; of those within one standard error of it the simplest, or at a high
        condition number the one with the strongest prior. If B(q) of the simplest is not positive definite, physically
        consistent links are preferred to it."""
        scores, errors, own = [], [], []
        for k, estimator in enumerate(estimators):
            step("estimators", k / len(estimators))
            tried = journal.step(f"estimator {estimator.words}", partial(self._left, estimator))
            left = tried.get("left", np.full(self.judged.rows.shape, np.inf))
            scores.append(self.cv.scores(left))
            errors.append(self.cv.relative(left))
            own.append(float(tried.get("at_cutoff", np.inf)))
        best = int(np.argmin([float(s.mean()) for s in scores]))
        near = []
        for k, s in enumerate(scores):
            if not np.isfinite(s).all():
                continue
            loss, spread = difference(s, scores[best], self.cv.parts)
            if k == best or loss <= max(self.standard_errors * spread, WORTH * float(scores[best].mean())):
                near.append(k)
        believing = [k for k in near if estimators[k].options.physical]
        index = believing[-1] if believing and self.condition > HIGH else near[0]
        won = estimators[index]
        if not won.options.physical and not smallest_inertia(self.base, won.solve(won.normal[-1]), POSES) > 0:
            index = next(iter(believing), index)
        self.error = own[index]
        trials = []
        for k, (estimator, error) in enumerate(zip(estimators, errors, strict=True)):
            if not np.isfinite(error):
                trials.append(Trial("estimator", "", f"{estimator.words}: no solution", np.inf, -np.inf, 0.0, 0, False))
                continue
            gain = relative_gain(scores[0], scores[k], self.cv.parts)
            trials.append(Trial("estimator", "", estimator.words, error, *gain, 0, k == index))
        return estimators[index].options, trials


def _triangle(N: Array) -> tuple[Array, Array]:
    """(R, z) with RᵀR = YᵀY and Rᵀz = Yᵀτ, from eigenvectors with columns of length one."""
    A, b = N[:-1, :-1], N[:-1, -1]
    d = np.sqrt(np.maximum(np.diag(A), 1e-300))
    values, V = np.linalg.eigh(A / d[:, None] / d)
    seen = values > UNSEEN * values[-1]  # the others are rounding errors
    root, V = np.sqrt(values[seen]), V[:, seen]
    return root[:, None] * V.T * d, (V.T @ (b / d)) / root
