"""The whole selection, which pins the options that the user left open, and its last step, the choice of the estimator:
variants of least squares, and physically consistent links with or without a prior.

Every candidate computes π from the evidence of all parts but one and is evaluated on that part, as the laws are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.progress import Progress
from dalembert.base.environment.short_repr import record
from dalembert.errors import DalembertError
from dalembert.work.identification.fitting.base_parameters import base_parameters
from dalembert.work.identification.fitting.evidence import LogEquations, RestWeights
from dalembert.work.identification.fitting.fit_options import AskedSettings, EstimatorOptions
from dalembert.work.identification.fitting.methods import levels
from dalembert.work.identification.fitting.model_parameters import parameter_set
from dalembert.work.identification.fitting.parameter_set import ParameterSet
from dalembert.work.identification.fitting.physical_consistency import ConsistentProblem
from dalembert.work.identification.fitting.result import correlation_times, make_run
from dalembert.work.identification.fitting.robust import CORNER, robust_scale, row_weights
from dalembert.work.identification.selection.crossvalidation import (
    CrossValidation,
    difference,
    regularised,
    weighted_study,
)
from dalembert.work.identification.selection.model_search import DEVIATIONS, Selector, has_inertias
from dalembert.work.identification.selection.selection_result import Selection, Trial
from dalembert.work.identification.selection.time_blocks import TimeBlocks, time_blocks
from dalembert.work.logs.conditioning import Conditioned

UNSEEN = 1e-12  # of the largest eigenvalue: smaller ones are rounding errors
FAR = 6.0  # standard deviations: an equation with a larger residual is an outlier
OFTEN = 1e-3  # fraction of outliers above which robust least squares are tried
CLEARLY = 2.0  # times the standard errors by which laws must be better: a clearly better estimator
WORTH = 0.05  # of the squared error: minimum improvement over a simpler estimator
MOST = 0.25  # of the squared error: an estimator that loses more than this is clearly worse, however large the standard errors
FREE = 0.01  # of the error on the log: what physically consistent links may cost to be preferred
HIGH = 300.0  # condition number, with columns of length one, above which a prior is preferred


@record
class Estimator:
    """An estimator: its options, the normal matrices [Y, τ]ᵀ[Y, τ] without each part, and the function from them to π."""

    words: str
    options: EstimatorOptions
    normal: Array
    solve: Callable[[Array], Array]


class ScoredEstimator(NamedTuple):
    """An estimator that was tried: its relative error on parts left out, and its scores (B',) by blocks."""

    estimator: Estimator
    error: float
    scores: Array


class EstimatorStudy:
    """The equations of one parameter set, in blocks."""

    def __init__(
        self, parameters: ParameterSet, ready: Conditioned, blocks: TimeBlocks, standard_errors: float
    ) -> None:
        self.base, self.ready = base_parameters(parameters), ready
        self.blocks, self.standard_errors = blocks, standard_errors
        rests = RestWeights.of(parameters.arm, ready)
        self.equations = LogEquations(self.base.columns_for(ready.sparse), ready, rests)
        evidence = self.equations.gathered(self.base.rank, blocks.labels)
        columns = np.arange(self.base.rank)
        self.cv = weighted_study(evidence, self.base.values, columns)
        values = self.cv.fit(columns)
        self.run = make_run(self.base, values, ready, predicted=self.equations.predicted(values))
        # relative error of weighted least squares on parts left out
        self.error = self.cv.relative(self.cv.errors([columns])[0])

    @property
    def condition(self) -> float:
        """The condition number of the weighted equations of all parts, with columns of length one."""
        size, _, _ = _spectrum(self.cv.normal[-1][:-1, :-1])
        return float(size[-1] / size[0]) if len(size) else 1.0

    def estimators(self, arm: Arm) -> list[Estimator]:
        """The estimators to be tried, in order of preference: weighted least squares, physically consistent links with
        increasingly strong priors, and then those for special logs."""
        times = correlation_times(self.run, self.equations.moving)
        correlated = self.cv.without_parts(self.cv.weights / np.sqrt(times))

        def plain(N: Array) -> Array:
            return regularised(N[None], self.base.values)[0]

        out = [Estimator("weighted least squares", EstimatorOptions(method="weighted"), self.cv.normal, plain)]
        sizes = levels(self.base, self.ready)
        possible = EstimatorOptions(method="weighted", physical=True)
        consistent = {"physically consistent links": possible}
        for deviation in DEVIATIONS if has_inertias(arm) else ():
            words = f"physically consistent links with the arm's own as a prior ({100 * deviation:g} %)"
            consistent[words] = replace(possible, prior=arm, prior_deviation=deviation)
        for words, options in consistent.items():
            problem = ConsistentProblem(self.base, options, sizes)

            def solve(N: Array, problem: ConsistentProblem = problem) -> Array:
                root, V, d = _spectrum(N[:-1, :-1])  # (R, z) with RᵀR = YᵀY and Rᵀz = Yᵀτ
                return problem.base_values(root[:, None] * V.T * d, (V.T @ (N[:-1, -1] / d)) / root)

            out.append(Estimator(words, options, correlated, solve))
        if (robust := self._robust()) is not None:
            out.append(Estimator("robust least squares", EstimatorOptions(method="robust"), robust, plain))
        ordinary = self.cv.without_parts(np.ones(arm.n))
        out.append(Estimator("ordinary least squares", EstimatorOptions(method="ordinary"), ordinary, plain))
        return out

    def _robust(self) -> Array | None:
        """The normal matrices with Huber's weights; None if hardly any equation would be down-weighted."""
        residual, moving = self.run.residual, self.equations.moving
        noise = np.maximum(robust_scale(residual, moving), 1e-12)
        weights = row_weights(residual, noise)
        if not np.mean(weights[moving] < CORNER / FAR) > OFTEN:
            return None
        evidence = self.equations.gathered(self.base.rank, self.blocks.labels, weights)
        return CrossValidation(evidence, self.base.values, 1.0 / noise).normal

    def _left(self, estimator: Estimator) -> Array:
        """(n, B) squared residuals of an estimator on parts left out; infinite if its cone program cannot be solved."""
        left = np.zeros_like(self.cv.rows)
        try:
            for part in range(self.cv.parts):
                left += self.cv.squares(estimator.solve(estimator.normal[part]), part)
        except DalembertError:
            return np.full_like(left, np.inf)
        return left

    def _score(self, left: Array, first: Array) -> Array:
        """(B',) squared errors of every block relative to those of the first estimator: half of the joints' torques together,
        in which heavy joints count most, and half of each joint by itself, in which all count alike."""
        rows = self.cv.rows[:, self.cv.counted].sum(axis=0)
        together, before = (x[:, self.cv.counted].sum(axis=0) / rows for x in (left, first))
        apart, apart_before = self.cv.scores(left), self.cv.scores(first)
        return 0.5 * (together / max(before.mean(), 1e-300) + apart / max(apart_before.mean(), 1e-300))

    def _on_log(self, estimator: Estimator) -> float:
        """The relative error of an estimator on the whole log."""
        return self.cv.relative(self.cv.squares(estimator.solve(estimator.normal[-1])))

    def choose(self, estimators: Sequence[Estimator], step: Progress) -> tuple[EstimatorOptions, list[Trial]]:
        """The estimator that predicts best; of those that are not clearly worse the simplest, or at a high condition number
        the one with the strongest prior. Physically consistent links are preferred if they fit the log as well."""
        tried, first, weaker = list[ScoredEstimator](), self._left(estimators[0]), True
        for k, estimator in enumerate(estimators):
            step("estimators", k / len(estimators))
            if estimator.options.prior is not None and not weaker:
                continue
            left = self._left(estimator) if k else first
            tried.append(ScoredEstimator(estimator, self.cv.relative(left), self._score(left, first)))
            if estimator.options.prior is not None:  # stronger ones are tried until one is worse than a weaker one
                weaker = bool(tried[-1].scores.mean() <= tried[-2].scores.mean())
        won = self._preferred(tried)
        self.error = won.error
        size, trials = max(float(tried[0].scores.mean()), 1e-300), []
        for x in tried:
            words, gain, spread = f"{x.estimator.words}: no solution", -np.inf, 0.0
            if np.isfinite(x.error):
                words, (gain, spread) = x.estimator.words, difference(tried[0].scores, x.scores, self.cv.parts)
            trials.append(Trial("estimator", "", words, x.error, gain / size, spread / size, 0, x is won))
        return won.estimator.options, trials

    def _preferred(self, tried: Sequence[ScoredEstimator]) -> ScoredEstimator:
        """The estimator to be used, of those that are not clearly worse than the best."""
        best = min(tried, key=lambda x: float(x.scores.mean()))
        least, near = float(best.scores.mean()), []
        for x in tried:
            if np.isfinite(x.scores).all():
                loss, spread = difference(x.scores, best.scores, self.cv.parts)
                if x is best or loss <= max(min(CLEARLY * self.standard_errors * spread, MOST * least), WORTH * least):
                    near.append(x)
        believing = [x for x in near if x.estimator.options.physical]
        if believing and self.condition > HIGH:
            return believing[-1]
        if near[0].estimator.options.physical:
            return near[0]
        if believing and self._on_log(believing[0].estimator) <= (1.0 + FREE) * self._on_log(near[0].estimator):
            return believing[0]  # those after it have stronger priors and fit the log less well
        return near[0]


def _spectrum(A: Array) -> tuple[Array, Array, Array]:
    """(s (k,), V (p, k), d (p,)) with A = D V S² Vᵀ D and D the lengths of the columns; without rounding errors in S."""
    d = np.sqrt(np.maximum(np.diag(A), 1e-300))
    values, V = np.linalg.eigh(A / d[:, None] / d)
    seen = values > UNSEEN * values[-1]
    return np.sqrt(values[seen]), V[:, seen], d


def choose(
    arm: Arm, ready: Conditioned, settings: AskedSettings, rotor: bool, first: Mapping[str, float], step: Progress
) -> tuple[AskedSettings, Selection, list[str]]:
    """The settings with all open choices made, the trials, and notes.

    first  values of base parameters from a first fit, by name
    """
    assert settings.selection is not None
    open_, selection = settings.open, settings.selection
    blocks = time_blocks(ready, selection.blocks)
    selector = Selector(arm, ready, blocks, settings, rotor, first, step)
    laws, trials, plain = selector.run()
    model, estimator = selector.options(laws), settings.estimator
    filtering = replace(settings.filtering, cutoff=ready.cutoff)
    fixed = replace(model, sigmoid=None, stribeck=None)  # ideal Coulomb friction in place of shapes to be fitted
    parameters, _ = parameter_set(arm, fixed, rotor, ready.log.mean_temperature)
    study = EstimatorStudy(parameters, ready, blocks, selection.standard_errors)
    if "estimator" in open_:
        estimator, more = study.choose(study.estimators(arm), step)
        trials += more
    pinned = replace(settings, model=model, filtering=filtering, estimator=estimator, selection=None)
    drives = tuple((v.drive.i + 1, v.drive.j + 1, v.drive.ratio) for v in laws.values() if v.drive is not None)
    structure = {
        name: tuple(family for (k, family), variant in laws.items() if k == j and variant.drive is None)
        for j, name in enumerate(arm.joint_names)
    }
    outcome = Selection(
        open_, structure, drives, tuple(trials), blocks.parts, ready.cutoff, plain, study.error, model, filtering,
        estimator, selection.standard_errors,
    )  # fmt: skip
    return pinned, outcome, blocks.extrapolated(arm, ready)
