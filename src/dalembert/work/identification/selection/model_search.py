"""Model selection by blocked cross-validation: the cut-off, and the laws of every joint.

The log is divided into consecutive parts. Every candidate is fitted to all parts but one and evaluated on the remaining
one, for each part; shape parameters in which the torque is nonlinear are chosen inside that fit. A candidate with more
parameters replaces a simpler one only if it is better by more than one standard error of the block-wise difference
between the two, and by enough to justify a parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.progress import Progress
from dalembert.base.files.journal import Journal
from dalembert.robot.terms import Offset
from dalembert.work.identification.fitting.base_parameters import base_parameters
from dalembert.work.identification.fitting.fit_options import AskedSettings, ModelOptions
from dalembert.work.identification.fitting.model_parameters import parameter_set, pattern_of
from dalembert.work.identification.fitting.parameter_set import FRICTION
from dalembert.work.identification.fitting.physical_consistency import scales
from dalembert.work.identification.selection.blocks import Grams, Material, moving_weights, several_grams
from dalembert.work.identification.selection.crossvalidation import (
    CrossValidation,
    better_in,
    difference,
    noise_weights,
    relative_gain,
    usual_squares,
)
from dalembert.work.identification.selection.friction_candidates import (
    Candidates,
    Family,
    LawVariant,
    families_of,
    gas_springs,
)
from dalembert.work.identification.selection.selection_result import Trial
from dalembert.work.logs.conditioning import Conditioned, Stretch

Columns = NDArray[np.intp]
Laws = dict[tuple[int, str], LawVariant]  # the laws of a model, by joint and family

WORTH = 0.15  # minimum reduction of a joint's squared error by another law
MOSTLY = 0.8  # fraction of the parts of the log in which it must be better
NEAR = 0.01  # relative: laws whose scores differ by less are equally good
LEAST = 0.3  # of a joint's squared error with viscous and Coulomb friction: floor of the error used as a scale
HEAVY = 0.1  # of the largest torque: joints with less torque get no counterbalance
BEYOND = 1.5  # times the band: a higher cut-off is chosen only if all others are worse
BALANCING = ("gas_spring", "balance", "harmonic")  # laws that a gas spring may replace
FINER = (0.0, 0.1, 0.04, 0.016)  # step sizes in the shape of a gas spring; 0: the listed shapes
ROUNDS = 4  # of adding laws, maximum
DEVIATIONS = (1.0, 0.3, 0.1, 0.03)  # relative deviations of a prior around the arm's own inertias
LOADED = ("load", "gear")  # laws that depend on the torque transmitted by a joint
SIGNED = ("viscous", "coulomb", "tanh", "stribeck", "drag", "load", "gear", "spring", "drive")  # nonnegative


@dataclass(frozen=True, eq=False)
class CutoffStage:
    """The equations at one cut-off (Hz), in the bands used for fitting and for evaluation."""

    cutoff: float
    fitted: Grams
    judged: Grams


class Better(NamedTuple):
    """A law that was tried at a joint: the best variant of its family, and the scores (B,) of the model that contains it."""

    trial: Trial
    family: Family
    variant: LawVariant
    scores: Array


class Selector:
    """One selection: the Gram matrices of the log at every cut-off, and the search over them."""

    def __init__(
        self, arm: Arm, material: Material, settings: AskedSettings, rotor: bool, step: Progress, journal: Journal
    ) -> None:
        assert settings.selection is not None
        self.journal = journal
        self.arm, self.settings, self.step, self.open = arm, settings, step, settings.open
        self.errors_needed = settings.selection.standard_errors
        self.material = material
        model = settings.model
        if "offset" in self.open:
            model = replace(model, offset=False)
        plain = replace(model, sigmoid=None, stribeck=None)
        shared, _ = parameter_set(arm, plain, rotor, material.log.mean_temperature)
        if "friction" in self.open:
            own = {f"{kind}_{j + 1}" for j in arm.mechanism.actuated for kind in ("Fv", "Fs")}
            shared = replace(shared, only=[name for name in shared.names if name not in own])
        self.shared = base_parameters(shared)
        middle = float(self.material.cutoffs[len(self.material.cutoffs) // 2])
        fit, _ = self.material.at(middle)
        self.fastest = np.abs(fit.qd).max(axis=0)
        torques = np.sqrt(np.mean(fit.tau**2, axis=0))
        heavy, heated = torques > HEAVY * torques.max(), material.log.temperature is not None
        self._offer(
            family
            for j in range(arm.n)
            for family in families_of(arm, j, float(self.fastest[j]), bool(heavy[j]), heated, self.open)
        )
        self.load_from = self.shared.values  # defines the transmitted torques of load-dependent laws
        self.plain: Laws = {}
        for key, family in self.candidates.families.items():
            if family.name in FRICTION:
                self.plain[key] = family.variants[0]
        if any(name in LOADED for _, name in self.candidates.families):
            self.load_from = self._first(fit)

    def _offer(self, families: Iterable[Family]) -> None:
        """Use these families as the candidates."""
        self.candidates = Candidates(self.arm, self.shared.rank, families, self.material.thinned)
        self.start = np.zeros(self.candidates.size)
        self.start[: self.shared.rank] = self.shared.values
        self.columns = [
            np.concatenate([places, np.array(self.candidates.columns_at(j), np.intp)])
            for j, places in enumerate(self.shared.joint_columns.columns)
        ]
        self._studies: dict[CutoffStage, CrossValidation] = {}  # without a prior
        self._precisions: dict[float, Array] = {}  # precision of the prior, by its deviation

    def _first(self, ready: Conditioned) -> Array:
        """The shared parameters from a first fit with viscous and Coulomb friction."""
        (fitted,) = self._grams(ready)
        return CrossValidation(fitted, fitted, self.start).fit(self.columns_of(self.plain))[: self.shared.rank]

    # -- Gram matrices ------------------------------------------------------------------------------

    def rows(self, piece: Stretch) -> list[Array]:
        """The columns of every joint at the samples of a piece: (columns, samples) each."""
        by_joint, (q, qd, qdd), usual = self.shared.joint_columns, piece.states, self.material.log.mean_temperature
        common = by_joint.rows(q, qd, qdd, piece.temperature)
        warmth = None if piece.temperature is None or usual is None else piece.temperature - usual
        out = []
        for j, (places, part) in enumerate(zip(by_joint.columns, by_joint.parts, strict=True)):
            load = self.load_from[places] @ common[part]
            out.append(np.vstack([common[part], self.candidates.rows(j, q, qd, qdd, load, warmth)]))
        return out

    def weights(self, piece: Stretch, indices: NDArray[np.intp]) -> Array:
        """(n, M): the weights of the equations; those of a joint at rest are small."""
        return moving_weights(piece, indices, self.fastest).T

    def stage(self, cutoff: float) -> CutoffStage:
        """The Gram matrices at a cut-off."""
        return CutoffStage(cutoff, *self._grams(*self.material.at(cutoff)))

    def errors(self, cv: CrossValidation, variants: Sequence[Columns]) -> tuple[Array, int]:
        """((n, B) squares on parts left out, the variant that fits all parts best): a candidate, scored."""

        def computed() -> dict[str, Any]:
            errors, which = cv.errors(variants)
            return {"errors": errors, "which": which}

        step = self.journal.step("candidate", computed)
        return step["errors"], int(step["which"])

    def _grams(self, *low_passes: Conditioned) -> list[Grams]:
        gap = 1.0 / float(self.material.cutoffs[0])
        labels = [self.material.blocks(ready, gap) for ready in low_passes]
        return several_grams(low_passes, labels, self.columns, self.rows, self.weights)

    def judged(self, stage: CutoffStage, usual: Array | None = None, deviation: float | None = None) -> CrossValidation:
        """Cross-validation at a stage, each joint weighted by its noise with viscous and Coulomb friction."""
        columns = self.columns_of(self.plain)
        if stage not in self._studies:
            totals = [G[-1] for G in stage.fitted.without_parts]
            weights, _ = noise_weights(stage.fitted, stage.judged, self.start, columns, totals)
            self._studies[stage] = CrossValidation(stage.fitted, stage.judged, self.start, weights)
        cv = copy(self._studies[stage])  # the copy shares the sums
        cv.usual = usual_squares(stage.judged, self.errors(cv, [columns])[0]) if usual is None else usual
        if deviation is not None:
            if deviation not in self._precisions:
                self._precisions[deviation] = self.precision(deviation)
            cv.precision = self._precisions[deviation]
        return cv

    def precision(self, deviation: float) -> Array:
        """(P, P) precision of a prior around the arm's own inertias: the inverse of K S² Kᵀ, S holding the standard
        deviations."""
        base = self.shared
        inertial = np.array([x.unit is None and x.torque is None and x.slope is None for x in base.parameters.members])
        K = base.K[:, inertial] * (deviation * scales(base.parameters)[inertial])
        spread = K @ K.T
        mine = np.flatnonzero(np.diag(spread) > 0)
        d = 1.0 / np.sqrt(np.diag(spread)[mine])
        out = np.zeros((self.candidates.size,) * 2)
        out[np.ix_(mine, mine)] = (
            d[:, None] * np.linalg.pinv(spread[np.ix_(mine, mine)] * d[:, None] * d, rcond=1e-12) * d
        )
        return out

    # -- the search -----------------------------------------------------------------------------------

    def columns_of(self, laws: Laws) -> Columns:
        """All columns of a model."""
        own = sorted({c for variant in laws.values() for c in variant.columns})
        return np.array([*range(self.shared.rank), *own], np.intp)

    def moves(self, laws: Laws) -> Iterable[tuple[Family, Laws]]:
        """Every family that a model does not have, with the model that it would extend: the law that it replaces is removed."""
        for key, family in self.candidates.families.items():
            if key not in laws:
                rest = {k: v for k, v in laws.items() if not (k[0] == family.joint and k[1] in family.replaces)}
                yield family, rest

    def laws(self, cv: CrossValidation, laws: Laws) -> tuple[Laws, dict[tuple[int, str], Trial]]:
        """The model with the laws that are worth their parameters and without the others; also the last trial of each."""
        trials: dict[tuple[int, str], Trial] = {}
        plain, _ = self.errors(cv, [self.columns_of(self.plain)])
        self.plain_share = [self.share(cv, plain, j) for j in range(self.arm.n)]
        for done in range(ROUNDS):
            before, _ = self.errors(cv, [self.columns_of(laws)])
            better: dict[int, list[Better]] = {}
            for count, (family, rest) in enumerate(self.moves(laws)):
                self.step("selection", (done + count / len(self.candidates.families)) / ROUNDS)
                tried, enough = self.tried(cv, before, laws, rest, family)
                trials[family.key] = tried.trial
                if enough:
                    better.setdefault(family.joint, []).append(tried)
            if not better:
                break
            for joint, several in better.items():
                won = self.simplest(several)
                laws = {k: v for k, v in laws.items() if not (k[0] == joint and k[1] in won.family.replaces)}
                laws[won.family.key] = won.variant
        laws = self.without(cv, laws)
        return laws, {key: replace(trial, chosen=key in laws) for key, trial in trials.items()}

    def simplest(self, several: Sequence[Better]) -> Better:
        """The simplest law within one standard error of the best."""
        best = max(several, key=lambda x: x.trial.gain)
        near = [best]
        for other in several:
            loss, spread = difference(other.scores, best.scores, self.material.part_count)
            if loss <= max(self.errors_needed * spread, NEAR * float(other.scores.mean())):
                near.append(other)
        return min(near, key=lambda x: (x.trial.parameters, -x.trial.gain))

    def tried(self, cv: CrossValidation, before: Array, laws: Laws, rest: Laws, family: Family) -> tuple[Better, bool]:
        """The gain of a family beside a model with errors ``before``, and whether it is sufficient."""
        models = [{**rest, family.key: variant} for variant in family.variants]
        errors, which = self.errors(cv, [self.columns_of(model) for model in models])
        gain, spread = difference(cv.scores(before), cv.scores(errors), cv.parts)
        unit = self.unit(cv, before, family.joint)
        more = len(self.columns_of(models[which])) - len(self.columns_of(laws)) + (len(family.variants) > 1)
        freedom = 1 if family.choice == "coupling" else max(1, more)  # the three parameters of a drive belong together
        needed = max(
            self.errors_needed * spread * sqrt(freedom) if more > 0 else 0.0, WORTH * unit * max(1.0, 0.5 * more)
        )
        enough = gain > needed and self.possible(cv, models[which], family)
        if more > 0:
            enough = enough and better_in(cv.scores(before), cv.scores(errors), cv.parts) >= MOSTLY
        variant = family.variants[which]
        trial = Trial(
            family.choice, self.arm.joint_names[family.joint], variant.words, cv.relative(errors), gain / unit,
            spread / unit, more, False,
        )  # fmt: skip
        return Better(trial, family, variant, cv.scores(errors)), enough

    def share(self, cv: CrossValidation, errors: Array, joint: int) -> float:
        """The contribution of a joint to the score of these errors."""
        own = (errors[joint] / np.maximum(cv.judged.rows[joint], 1.0) / cv.usual[joint])[cv.counted].mean()
        return max(float(own), 1e-12) / self.arm.n

    def unit(self, cv: CrossValidation, errors: Array, joint: int) -> float:
        """The scale for gains at a joint: its contribution to these errors, with a lower bound."""
        return max(self.share(cv, errors, joint), LEAST * self.plain_share[joint], cv.floor(joint))

    def possible(self, cv: CrossValidation, laws: Laws, family: Family) -> bool:
        """Whether the coefficients of a law have signs that a mechanism can have."""
        if family.name not in SIGNED:
            return True
        pi = cv.fit(self.columns_of(laws))
        columns = laws[family.key].columns
        # the rest position of a spring can have either sign, and a drive's inertia may be indistinguishable from
        # those of links
        signed = {"spring": columns[:1], "drive": columns[1:]}.get(family.name, columns)
        return bool((pi[list(signed)] > 0).all())

    def without(self, cv: CrossValidation, laws: Laws) -> Laws:
        """The model without laws whose removal costs less than one standard error, the least needed removed first."""
        while True:
            before, _ = self.errors(cv, [self.columns_of(laws)])
            losses = []
            for key in laws:
                rest = {k: v for k, v in laws.items() if k != key}
                errors, _ = self.errors(cv, [self.columns_of(rest)])
                loss, spread = difference(cv.scores(errors), cv.scores(before), cv.parts)
                unit, basic = self.unit(cv, before, key[0]), key[1] in FRICTION
                # viscous and Coulomb friction are removed only if the error does not grow at all
                limit = 0.0 if basic else max(self.errors_needed * spread, WORTH * unit)
                if loss <= max(limit, (NEAR if basic else WORTH) * cv.floor(key[0])):
                    losses.append((loss, key))
            if not losses:
                return laws
            least = min(losses)[1]
            laws = {key: variant for key, variant in laws.items() if key != least}

    # -- the whole selection ------------------------------------------------------------------------------------

    def run(self) -> tuple[float, Laws, list[Trial], float]:
        """(cut-off, laws, trials, error with viscous and Coulomb friction alone): laws at the best cut-off for viscous
        and Coulomb friction, and again at the best cut-off for those laws if it is a different one."""
        cutoffs, stages = self.material.cutoffs, list[CutoffStage]()
        for k, cutoff in enumerate(cutoffs):
            self.step("cut-offs", k / len(cutoffs))
            stages.append(self.stage(float(cutoff)))
        usual, parts = self.judged(stages[len(stages) // 2]).usual, self.material.part_count
        laws, trials, now = self.plain, dict[tuple[int, str], Trial](), -1
        for _ in range(2):
            deviation, scores = self.believed(stages, usual, laws)
            best = self.best_cutoff([s for s, _ in scores])
            cut = [
                Trial(
                    "cutoff",
                    "",
                    f"{stage.cutoff:.3g} Hz",
                    error,
                    *relative_gain(scores[best][0], s, parts),
                    0,
                    k == best,
                )
                for k, (stage, (s, error)) in enumerate(zip(stages, scores, strict=True))
            ]
            if best == now:
                break
            now, cv = best, self.judged(stages[best], usual, deviation)
            laws, trials = self.laws(cv, self.plain)
        plain = self.plain_error(stages[now])
        laws, finer = self.finer(stages[now].cutoff, laws, deviation)
        coarse = {(joint, name) for joint in finer for name in BALANCING}  # replaced by the fine ones
        tried = [replace(trial, chosen=False) if key in coarse else trial for key, trial in trials.items()]
        return stages[now].cutoff, laws, [*cut, *tried, *finer.values()], plain

    def finer(self, cutoff: float, laws: Laws, deviation: float | None) -> tuple[Laws, dict[int, Trial]]:
        """The model with gas springs of finely tuned shape at joints with a gas spring or a similar law, and their
        trials by joint.

        A counterbalance is replaced by a gas spring that is better, and ripple by one that is clearly better.
        """
        trials = dict[int, Trial]()
        for joint, own in list(laws):
            if own not in BALANCING or (joint, "gas_spring") not in self.candidates.families:
                continue
            trial, best = self._finest(joint, cutoff, laws, deviation)
            needed = {"gas_spring": -np.inf, "balance": 0.0}.get(own, max(WORTH, self.errors_needed * trial.spread))
            if trial.gain > needed:
                place = self.candidates.families[joint, "gas_spring"].variants[0].columns
                laws = {key: law for key, law in laws.items() if key != (joint, own)}
                laws[joint, "gas_spring"] = replace(best, columns=place)
                trials[joint] = replace(trial, chosen=True)
        return laws, trials

    def _finest(self, joint: int, cutoff: float, laws: Laws, deviation: float | None) -> tuple[Trial, LawVariant]:
        """The gas spring of a joint that predicts best beside the other laws, searched with decreasing steps in its shape."""
        mine = (joint, "gas_spring")
        others = [replace(self.candidates.families[key], variants=(law,)) for key, law in laws.items() if key != mine]
        plain = [self.candidates.families[key] for key in self.plain if key not in laws]
        tried: list[tuple[Trial, LawVariant]] = []
        for step in FINER:
            around = tried[-1][1] if tried else None
            search = copy(self)
            search._offer([*others, *plain, Family(mine[1], joint, "spring", tuple(gas_springs(around, step)))])
            offered = search.candidates.families
            search.plain = {key: offered[key].variants[0] for key in self.plain}
            before = {key: offered[key].variants[0] for key in laws if key != mine}
            rest = {key: law for key, law in before.items() if key not in ((joint, "balance"), (joint, "harmonic"))}
            cv = search.judged(search.stage(cutoff), None, deviation)
            errors, _ = self.errors(cv, [search.columns_of(before)])
            search.plain_share = [search.share(cv, errors, j) for j in range(self.arm.n)]
            better, _ = search.tried(cv, errors, before, rest, offered[mine])
            tried.append((better.trial, better.variant))
        return min(tried, key=lambda x: x[0].error)

    def plain_error(self, stage: CutoffStage) -> float:
        """The error with viscous and Coulomb friction alone on the parts left out, low-passed as for the fit."""
        cv = CrossValidation(stage.fitted, stage.fitted, self.start, self._studies[stage].weights)
        return cv.relative(self.errors(cv, [self.columns_of(self.plain)])[0])

    def best_cutoff(self, scores: Sequence[Array]) -> int:
        """The best cut-off; of those within one standard error of it the highest, but not far above the band."""
        best = int(np.argmin([float(s.mean()) for s in scores]))
        near = []
        for k, s in enumerate(scores):
            loss, spread = difference(s, scores[best], self.material.part_count)
            if loss <= self.errors_needed * spread and self.material.cutoffs[k] <= BEYOND * self.material.band:
                near.append(k)
        return max(near, default=best)

    def believed(
        self, stages: list[CutoffStage], usual: Array, laws: Laws
    ) -> tuple[float | None, list[tuple[Array, float]]]:
        """(deviation of a prior around the arm's inertias, if one helps; scores and errors of all stages)."""

        def scored(deviation: float | None) -> list[tuple[Array, float]]:
            out = []
            for stage in stages:
                cv = self.judged(stage, usual, deviation)
                errors, _ = self.errors(cv, [self.columns_of(laws)])
                out.append((cv.scores(errors), cv.relative(errors)))
            return out

        def best(scores: list[tuple[Array, float]]) -> Array:
            return min((s for s, _ in scores), key=lambda s: float(s.mean()))

        best_deviation, scores = None, scored(None)
        for deviation in DEVIATIONS if has_inertias(self.arm) else ():
            others = scored(deviation)
            gain, spread = difference(best(scores), best(others), self.material.part_count)
            if gain > self.errors_needed * spread:
                best_deviation, scores = deviation, others
        return best_deviation, scores

    def model(self, laws: Laws) -> ModelOptions:
        """The options that request exactly these laws."""
        names = self.arm.joint_names
        own = [(names[j], term) for (j, family), v in laws.items() if family not in FRICTION for term in v.terms]
        further = ((name, term) for name, term in own if not isinstance(term, Offset))
        terms = pattern_of(names, further, (names[j] for (j, _), v in laws.items() if v.heated))
        pinned = self.settings.model
        friction: dict[str | int, Sequence[str]] = {
            name: tuple(kind for kind in FRICTION if (j, kind) in laws) for j, name in enumerate(names)
        }
        offset = [
            name
            for j, name in enumerate(names)
            if any(isinstance(term, Offset) for key, v in laws.items() if key[0] == j for term in v.terms)
        ]
        drives = [v.drive for v in laws.values() if v.drive is not None]
        return replace(
            pinned,
            friction=friction if "friction" in self.open else pinned.friction,
            offset=offset if "offset" in self.open else pinned.offset,
            coupling=[(d.i + 1, d.j + 1, d.ratio) for d in drives] if "coupling" in self.open else pinned.coupling,
            terms=terms if any(terms.values()) else pinned.terms,
        )


def has_inertias(arm: Arm) -> bool:
    """Whether an arm has inertias that a prior could use."""
    return any(not body.inertia.is_zero for body in arm.mechanism.tree.bodies)
