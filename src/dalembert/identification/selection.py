"""Model selection by blocked cross-validation: the cut-off, and the laws of every joint.

The log is cut into parts, one after another in time. Every candidate is fitted to all parts but one and judged on that
one, for each of them; what has a shape that the torque is not linear in gets its shape inside that fit. A candidate with
more parameters replaces a simpler one only if it is better by more than one standard error of the difference between the
two, block by block, and by a share that is worth a parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.identification.base import base_parameters
from dalembert.identification.blocks import REST, STILL, Grams, Material, grams
from dalembert.identification.candidates import Candidates, Family, Variant
from dalembert.identification.crossvalidation import CrossValidation, difference, usual_squares
from dalembert.identification.modelled import parameter_set
from dalembert.identification.options import Settings
from dalembert.identification.physical import scales
from dalembert.logs.conditioning import Conditioned, Stretch
from dalembert.logs.log import Log

Array = NDArray[np.float64]
Columns = NDArray[np.intp]
Progress = Callable[[str, float], None]
Laws = dict[tuple[int, str], Variant]  # what the joints have, by joint and family

WORTH = 0.01  # of a joint's squared error: what another law must take away
ROUNDS = 4  # of adding laws, at most
DEVIATIONS = (1.0, 0.3, 0.1, 0.03)  # of a prior around the arm's own inertias, relative
SIGNED = ("viscous", "coulomb", "tanh", "stribeck", "drag", "load", "gear", "spring", "drive")  # not below zero
NEGATIVE = 0.05  # of the size with which it would make the whole torque: what a coefficient may be below zero


@dataclass(frozen=True)
class Trial:
    """Something that was tried.

    choice      what it is about: one of CHOICES
    joint       whose law it is, or ""
    option      what was tried, in words
    error       the relative torque error on parts of the log that were left out
    gain        how much of the squared error of the model before it takes away: of the joint's, or of all joints'
    spread      the standard error of that
    parameters  how many it has more than the model before
    chosen      whether it is part of the result
    """

    choice: str
    joint: str
    option: str
    error: float
    gain: float
    spread: float
    parameters: int
    chosen: bool


@dataclass(frozen=True, eq=False)
class Stage:
    """The equations at one cut-off (Hz), as they are fitted and as they are judged."""

    cutoff: float
    fitted: Grams
    judged: Grams


class Selector:
    """One selection: the log's Gram matrices at every cut-off, and the search in them."""

    def __init__(self, arm: Arm, log: Log, settings: Settings, rotor: bool, step: Progress) -> None:
        assert settings.selection is not None
        self.arm, self.settings, self.step, self.open = arm, settings, step, settings.open
        self.errors_needed = settings.selection.standard_errors
        self.trials: list[Trial] = []
        pinned = settings.filtering.cutoff
        self.material = Material(log, settings.selection.blocks, pinned)
        model = settings.model
        if "offset" in self.open:
            model = replace(model, offset=False)
        shared = parameter_set(arm, replace(model, sigmoid=None, stribeck=None), rotor, [])
        if "friction" in self.open:
            own = {f"{kind}_{j + 1}" for j in arm.mechanism.actuated for kind in ("Fv", "Fs")}
            shared = replace(shared, only=[name for name in shared.names if name not in own])
        self.shared = base_parameters(shared)
        middle = float(self.material.cutoffs[len(self.material.cutoffs) // 2])
        fit, _ = self.material.at(middle)
        self.fastest = np.abs(fit.qd).max(axis=0)
        self.candidates = Candidates(arm, self.shared.rank, self.fastest, self.open)
        self.start = np.zeros(self.candidates.size)
        self.start[: self.shared.rank] = self.shared.values
        felt = self.shared.felt
        self.columns = [
            np.concatenate([places, np.array(self.candidates.columns_at(j), np.intp)])
            for j, places in enumerate(felt.columns)
        ]
        self.load_from = self.shared.values  # what joints pass on, for laws that depend on it
        self.plain: Laws = {}
        for j in range(arm.n):
            for name in ("viscous", "coulomb") if "friction" in self.open else ():
                self._put(self.plain, (j, name), 0)

    def _put(self, laws: Laws, key: tuple[int, str], variant: int) -> None:
        if key in self.candidates.families:
            laws[key] = self.candidates.families[key].variants[variant]

    # -- Gram matrices ------------------------------------------------------------------------------

    def rows(self, piece: Stretch) -> list[Array]:
        """What the joints feel at the samples of a piece: (columns, samples) each."""
        felt, (q, qd, qdd) = self.shared.felt, piece.states
        common = felt.rows(q, qd, qdd)
        out = []
        for j, (places, part) in enumerate(zip(felt.columns, felt.parts, strict=True)):
            load = self.load_from[places] @ common[part]
            out.append(np.vstack([common[part], self.candidates.rows(j, q, qd, qdd, load)]))
        return out

    def weights(self, piece: Stretch, kept: NDArray[np.intp]) -> Array:
        """(n, M): a joint's equations count little while it rests."""
        return np.where(np.abs(piece.qd[kept]) >= STILL * self.fastest, 1.0, REST).T

    def stage(self, cutoff: float) -> Stage:
        """The Gram matrices at a cut-off."""
        return Stage(cutoff, *(self._grams(ready) for ready in self.material.at(cutoff)))

    def _grams(self, ready: Conditioned) -> Grams:
        label, blocks = self.material.blocks(ready, 1.0 / float(self.material.cutoffs[0]))
        return grams(ready, label, blocks, self.columns, self.rows, self.weights)

    def judged(self, stage: Stage, usual: Array | None = None, deviation: float | None = None) -> CrossValidation:
        """Cross-validation at a stage, each joint weighted by the noise that viscous and Coulomb friction leave there."""
        ones, columns = np.ones(self.arm.n), self.columns_of(self.plain)
        weights, errors = ones, np.zeros(0)
        for _ in range(2):
            cv = CrossValidation(stage.fitted, stage.judged, self.candidates.size, self.start, weights, ones)
            pi, _ = cv.solve(cv.parts, columns)
            rows = np.maximum(stage.fitted.rows.sum(axis=1), 1.0)
            left = [
                x @ G.sum(axis=0) @ x
                for G, x in ((G, np.append(pi[at], -1.0)) for G, at in zip(stage.fitted.G, self.columns, strict=True))
            ]
            noise = np.sqrt(np.maximum(left, 0.0) / rows)
            weights = 1.0 / np.maximum(noise, 1e-6 * max(float(noise.max()), 1e-30))
        if usual is None:
            cv = CrossValidation(stage.fitted, stage.judged, self.candidates.size, self.start, weights, ones)
            errors, _ = cv.errors([columns])
            usual = usual_squares(stage.judged, errors)
        precision = None if deviation is None else self.precision(deviation)
        return CrossValidation(stage.fitted, stage.judged, self.candidates.size, self.start, weights, usual, precision)

    def precision(self, deviation: float) -> Array:
        """(P, P) of a prior around the arm's own inertias: the inverse of K S² Kᵀ, S being how far each may be off."""
        base = self.shared
        inertial = np.array([x.unit is None and x.torque is None for x in base.parameters.members])
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
        """Every family that a model does not have, and the model without what it replaces."""
        for key, family in self.candidates.families.items():
            if key not in laws:
                rest = {k: v for k, v in laws.items() if not (k[0] == family.joint and k[1] in family.replaces)}
                yield family, rest

    def laws(self, cv: CrossValidation, laws: Laws, said: list[Trial]) -> Laws:
        """The model with the laws that are worth their parameters, and without those that are not."""
        names = self.arm.joint_names
        for done in range(ROUNDS):
            before, _ = cv.errors([self.columns_of(laws)])
            scores = cv.scores(before)
            own = (before / np.maximum(cv.judged.rows, 1.0) / cv.usual[:, None])[:, cv.counted].mean(axis=1)
            best: dict[int, tuple[float, Family, Variant, Laws]] = {}
            for family, rest in self.moves(laws):
                self.step("selection", done / ROUNDS)
                models = [{**rest, family.key: variant} for variant in family.variants]
                errors, which = cv.errors([self.columns_of(model) for model in models])
                gain, spread = difference(scores, cv.scores(errors))
                unit = float(own[family.joint]) / self.arm.n  # the joint's own share of the score
                more = len(self.columns_of(models[which])) - len(self.columns_of(laws))
                better = gain > self.errors_needed * spread * (more > 0) and gain > WORTH * unit * max(more, 1)
                better = better and self.possible(cv, models[which], family)
                said.append(
                    Trial(family.choice, names[family.joint], family.variants[which].words, cv.relative(errors),
                          gain / max(unit, 1e-300), spread / max(unit, 1e-300), more, False)
                )  # fmt: skip
                worth = gain / max(more, 1)
                if better and (family.joint not in best or worth > best[family.joint][0]):
                    best[family.joint] = (worth, family, family.variants[which], rest)
            if not best:
                break
            # the law that gains most, and those of joints that are not its neighbours: theirs is another matter
            for joint, (_, family, variant, _) in sorted(best.items(), key=lambda x: -x[1][0]):
                laws = {k: v for k, v in laws.items() if not (k[0] == joint and k[1] in family.replaces)}
                laws[family.key] = variant
        return self.without(cv, laws)

    def possible(self, cv: CrossValidation, laws: Laws, family: Family) -> bool:
        """Whether a law's coefficients have the signs that a mechanism can have."""
        if family.name not in SIGNED:
            return True
        pi, _ = cv.solve(cv.parts, self.columns_of(laws))
        return bool((pi[list(laws[family.key].columns)] > 0).all())

    def without(self, cv: CrossValidation, laws: Laws) -> Laws:
        """The model without laws whose loss is within one standard error, the least needed first."""
        while True:
            before, _ = cv.errors([self.columns_of(laws)])
            scores, least = cv.scores(before), None
            own = (before / np.maximum(cv.judged.rows, 1.0) / cv.usual[:, None])[:, cv.counted].mean(axis=1)
            for key in laws:
                rest = {k: v for k, v in laws.items() if k != key}
                errors, _ = cv.errors([self.columns_of(rest)])
                loss, spread = difference(cv.scores(errors), scores)
                if loss <= max(self.errors_needed * spread, 0.0) and loss <= WORTH * float(own[key[0]]) / self.arm.n:
                    if least is None or loss < least[0]:
                        least = (loss, rest)
            if least is None:
                return laws
            laws = least[1]
