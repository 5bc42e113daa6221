"""Model selection by blocked cross-validation: the laws of every joint.

The log is divided into parts. Every candidate is fitted to all parts but one and evaluated on the remaining one, for
each part; shape parameters in which the torque is nonlinear are chosen inside that fit. All candidates are fitted to and
evaluated on the same torques, low-passed at one cut-off that follows from the motion alone.

The search starts from viscous and Coulomb friction and an offset at every joint. A law that every joint may have is
tried at all of them together first: what one joint shows hardly, six show clearly. Then every joint is searched by
itself. A law with more parameters is added to a joint only if it is better by more than
one standard error of the block-wise difference between the two models, and by enough to justify a parameter; laws whose
removal costs less than that are removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import reduce
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.progress import Progress, part_of
from dalembert.robot.terms import Offset
from dalembert.work.identification.fitting.base_parameters import BaseParameters, base_parameters
from dalembert.work.identification.fitting.evidence import LogEquations, RestWeights
from dalembert.work.identification.fitting.fit_options import AskedSettings, ModelOptions
from dalembert.work.identification.fitting.joint_columns import EquationColumns
from dalembert.work.identification.fitting.model_parameters import parameter_set, pattern_of
from dalembert.work.identification.fitting.parameter_set import FRICTION
from dalembert.work.identification.fitting.physical_consistency import scales
from dalembert.work.identification.fitting.term_columns import States
from dalembert.work.identification.selection.crossvalidation import (
    better_in,
    difference,
    weighted_study,
)
from dalembert.work.identification.selection.friction_candidates import (
    Candidates,
    Family,
    Laws,
    LawVariant,
    families_of,
    gas_springs,
)
from dalembert.work.identification.selection.selection_result import Trial
from dalembert.work.identification.selection.time_blocks import TimeBlocks
from dalembert.work.logs.conditioning import Conditioned

Columns = NDArray[np.intp]

WORTH = 0.05  # minimum reduction of a joint's squared error by another law
MOSTLY = 0.6  # fraction of the parts of the log in which it must be better
SHARED_WORTH = 0.02  # minimum reduction of the squared error of all joints by a law that they share
LITTLE = 0.03  # of a joint's squared error: ideal Coulomb friction that costs less takes the place of gradual one
NEAR = 0.01  # relative: laws whose scores differ by less are equally good
LEAST = 0.3  # of a joint's squared error with the basic laws: floor of the error used as a scale
HEAVY = 0.1  # of the largest torque: joints with less torque get no counterbalance
BALANCING = ("gas_spring", "balance", "harmonic")  # laws that a gas spring may replace
FINER = (0.0, 0.1, 0.04, 0.016)  # step sizes in the shape of a gas spring; 0: the listed shapes
ROUNDS = 4  # of adding laws, maximum
DEVIATIONS = (1.0, 0.3, 0.1, 0.03)  # relative deviations of a prior around the arm's own inertias
SIGNED = ("viscous", "coulomb", "tanh", "stribeck", "drag", "load", "gear", "spring", "drive")  # nonnegative
BASIC = ("viscous", "coulomb", "offset")  # laws of a joint without a selection
SHARED = ("tanh", "stribeck", "drag", "load", "temperature", "spring")  # tried at all joints together


class ScoredModel(NamedTuple):
    """The laws of all joints, and the squared residuals (n, B) and scores (B',) of their model on parts left out."""

    laws: Laws
    errors: Array
    scores: Array


class Better(NamedTuple):
    """A law that was tried at a joint, and the model with the best variant of its family."""

    trial: Trial
    family: Family
    model: ScoredModel


class CandidateColumns(EquationColumns):
    """The columns of every joint's equations: shared base parameters, and all candidates.

    first  (b,) values of the shared parameters, which define the load of load-dependent laws
    usual  (n,) mean temperatures (°C), if they are logged
    """

    def __init__(self, shared: BaseParameters, candidates: Candidates, first: Array, usual: Array | None) -> None:
        self.shared, self.candidates, self.first, self.usual = shared.joint_columns, candidates, first, usual
        own = (np.array(candidates.columns_at(j), np.intp) for j in range(candidates.arm.n))
        self.columns = [np.append(x, more) for x, more in zip(self.shared.columns, own, strict=True)]

    def rows(self, q: Array, qd: Array, qdd: Array, temperature: Array | None = None) -> Array:
        rows = self.shared.rows(q, qd, qdd, temperature)
        common = [rows[part] for part in self.shared.parts]
        loads = {j: self.first[x] @ own for j, (x, own) in enumerate(zip(self.shared.columns, common, strict=True))}
        warmth = None if temperature is None or self.usual is None else temperature - self.usual
        states = States(self.candidates.arm, q, qd, qdd, warmth, loads, self.candidates.averaged)
        return np.vstack([x for j, own in enumerate(common) for x in (own, self.candidates.rows(j, states))])


class Selector:
    """One selection: the evidence of a log for all candidates, and the search over them.

    first  values of base parameters from a first fit with viscous and Coulomb friction, by name
    """

    def __init__(
        self, arm: Arm, ready: Conditioned, blocks: TimeBlocks, settings: AskedSettings, rotor: bool,
        first: Mapping[str, float], step: Progress,
    ) -> None:  # fmt: skip
        assert settings.selection is not None
        self.arm, self.settings, self.step, self.open = arm, settings, step, settings.open
        self.errors_needed, self.ready, self.blocks = settings.selection.standard_errors, ready, blocks
        model = settings.model
        if "offset" in self.open:
            model = replace(model, offset=False)
        shared, _ = parameter_set(arm, replace(model, sigmoid=None, stribeck=None), rotor, ready.log.mean_temperature)
        if "friction" in self.open:
            own = {f"{kind}_{j + 1}" for j in arm.mechanism.actuated for kind in ("Fv", "Fs")}
            shared = replace(shared, only=[name for name in shared.names if name not in own])
        self.shared = base_parameters(shared)
        names_and_values = zip(self.shared.names, self.shared.values, strict=True)
        self.first = np.array([first.get(name, value) for name, value in names_and_values])
        fastest, torques = np.abs(ready.qd).max(axis=0), np.sqrt(np.mean(ready.tau**2, axis=0))
        heavy, heated = torques > HEAVY * torques.max(), ready.log.temperature is not None
        families = [
            family
            for j in range(arm.n)
            for family in families_of(arm, j, float(fastest[j]), bool(heavy[j]), heated, self.open)
        ]
        self._gather(families)

    def _gather(self, families: Iterable[Family]) -> None:
        """Gather the evidence for some families."""
        self.candidates = Candidates(self.arm, self.shared.rank, families, self.ready.sparse)
        self.plain: Laws = {k: v.variants[0] for k, v in self.candidates.families.items() if v.name in BASIC}
        columns = CandidateColumns(self.shared, self.candidates, self.first, self.ready.log.mean_temperature)
        equations = LogEquations(columns, self.ready, RestWeights.of(self.arm, self.ready))
        gathering = part_of(lambda _, fraction: self.step("selection", fraction), 0.0, 0.3)
        evidence = equations.gathered(self.candidates.size, self.blocks.labels, step=gathering)
        start = np.zeros(self.candidates.size)
        start[: self.shared.rank] = self.shared.values
        self.cv = weighted_study(evidence, start, self.columns_of(self.plain))

    # -- the search -----------------------------------------------------------------------------------

    def columns_of(self, laws: Laws) -> Columns:
        """All columns of a model."""
        own = sorted({c for variant in laws.values() for c in variant.columns})
        return np.array([*range(self.shared.rank), *own], np.intp)

    def scored(self, *variants: Laws) -> ScoredModel:
        """The model with some laws; of several variants, every fit uses the one that fits best."""
        errors, which = self.cv.errors([self.columns_of(laws) for laws in variants])
        return ScoredModel(variants[which], errors, self.cv.scores(errors))

    def gain(self, before: ScoredModel, after: ScoredModel) -> tuple[float, float]:
        """The mean improvement of the scores by a model, and its standard error."""
        return difference(before.scores, after.scores, self.cv.parts)

    def near(self, model: ScoredModel, best: ScoredModel) -> bool:
        """Whether the scores of a model are within one standard error of the best."""
        loss, spread = self.gain(model, best)
        return loss <= max(self.errors_needed * spread, NEAR * float(model.scores.mean()))

    def unit(self, model: ScoredModel, joint: int) -> float:
        """The scale for gains at a joint: its contribution to the errors of a model, with a lower bound."""
        return max(self.cv.share(model.errors, joint), LEAST * self.plain_share[joint], self.cv.floor(joint))

    def run(self) -> tuple[Laws, list[Trial], float]:
        """(laws, trials, error with the basic laws alone)."""
        self.deviation = self._prior()
        plain = self.scored(self.plain)
        self.plain_share = [self.cv.share(plain.errors, j) for j in range(self.arm.n)]
        laws, shared = self.together(self.plain)
        laws, trials = self.one_by_one(laws)
        laws, finer = self.finer(laws)
        coarse = {(joint, name) for joint in finer for name in BALANCING}  # replaced by the fine ones
        trials = {key: replace(x, chosen=key in laws and key not in coarse) for key, x in (shared | trials).items()}
        return laws, [*trials.values(), *finer.values()], self.cv.relative(plain.errors)

    def _prior(self) -> float | None:
        """The relative deviation of a prior around the arm's inertias, with which all models are fitted, if one helps."""
        best, before = None, self.scored(self.plain)
        for deviation in DEVIATIONS if has_inertias(self.arm) else ():
            weaker, self.cv.precision = self.cv.precision, prior_precision(self.shared, self.cv.size, deviation)
            after = self.scored(self.plain)
            gain, spread = self.gain(before, after)
            if gain > self.errors_needed * spread:
                best, before = deviation, after
            else:
                self.cv.precision = weaker
        return best

    def together(self, laws: Laws) -> tuple[Laws, dict[tuple[int, str], Trial]]:
        """The model with the laws that pay for themselves when all joints have them, the best first; and their trials."""
        trials: dict[tuple[int, str], Trial] = {}
        by_name: dict[str, list[Family]] = {}
        for family in self.candidates.families.values():
            if family.name in SHARED:
                by_name.setdefault(family.name, []).append(family)
        for _ in range(ROUNDS):
            before, better = self.scored(laws), list[ScoredModel]()
            for families in by_name.values():
                new = [family for family in families if family.key not in laws]
                if len(new) < 2:
                    continue
                after = self.scored(reduce(self.extended, new, laws))
                for x in (x for x in new if x.key in after.laws):  # what a joint gains when all have a law
                    own, now = (self.cv.rates(model.errors)[x.joint] / self.arm.n for model in (before, after))
                    more = len(after.laws[x.key].columns)
                    trials[x.key] = self._trial(before, after, x, *difference(own, now, self.cv.parts), more)
                gain, spread = self.gain(before, after)
                if gain > max(self.errors_needed * spread, SHARED_WORTH * float(before.scores.mean())):
                    better.append(after)
            if not better:
                break
            best = min(better, key=lambda x: float(x.scores.mean()))
            near = (model.laws for model in better if self.near(model, best))
            laws = self.without(min(near, key=lambda laws: len(self.columns_of(laws))))
        return laws, trials

    def _trial(
        self, before: ScoredModel, after: ScoredModel, family: Family, gain: float, spread: float, more: int
    ) -> Trial:
        """The trial of a family, its gain in units of the error of its joint."""
        unit, words = self.unit(before, family.joint), after.laws[family.key].words
        numbers = (self.cv.relative(after.errors), gain / unit, spread / unit, more)
        return Trial(family.choice, self.arm.joint_names[family.joint], words, *numbers, False)

    def extended(self, laws: Laws, family: Family) -> Laws:
        """The model with a law, in the variant that fits all parts best, instead of the laws that it replaces; the model
        itself if these fit better."""
        models = [laws, *({**family.beside(laws), family.key: variant} for variant in family.variants)]
        return models[self.cv.best([self.columns_of(model) for model in models])]

    def one_by_one(self, laws: Laws) -> tuple[Laws, dict[tuple[int, str], Trial]]:
        """The model with the laws that are worth their parameters and without the others; also the last trial of each."""
        trials: dict[tuple[int, str], Trial] = {}
        for done in range(ROUNDS):
            before, better = self.scored(laws), dict[int, list[Better]]()
            others = [family for key, family in self.candidates.families.items() if key not in laws]
            for count, family in enumerate(others):
                self.step("selection", 0.3 + 0.7 * (done + count / len(self.candidates.families)) / ROUNDS)
                tried, enough = self.tried(before, family)
                trials[family.key] = tried.trial
                if enough:
                    better.setdefault(family.joint, []).append(tried)
            if not better:
                break
            for won in map(self.simplest, better.values()):
                laws = {**won.family.beside(laws), won.family.key: won.model.laws[won.family.key]}
        return self.without(laws, exchange=True), trials

    def simplest(self, several: Sequence[Better]) -> Better:
        """The simplest law within one standard error of the best."""
        best = max(several, key=lambda x: x.trial.gain)
        near = [x for x in several if x is best or self.near(x.model, best.model)]
        return min(near, key=lambda x: (x.trial.parameters, -x.trial.gain))

    def tried(self, before: ScoredModel, family: Family) -> tuple[Better, bool]:
        """The gain of a family beside a model, and whether it is sufficient."""
        after = self.scored(*({**family.beside(before.laws), family.key: variant} for variant in family.variants))
        gain, spread = self.gain(before, after)
        more = len(self.columns_of(after.laws)) - len(self.columns_of(before.laws)) + (len(family.variants) > 1)
        freedom = 1 if family.choice == "coupling" else max(1, more)  # the three parameters of a drive belong together
        needed = WORTH * self.unit(before, family.joint) * max(1.0, 0.5 * more)
        if more > 0:
            needed = max(needed, self.errors_needed * spread * sqrt(freedom))
        enough = gain > needed and self.possible(after.laws, family)
        if more > 0:
            enough = enough and better_in(before.scores, after.scores, self.cv.parts) >= MOSTLY
        return Better(self._trial(before, after, family, gain, spread, more), family, after), enough

    def possible(self, laws: Laws, family: Family) -> bool:
        """Whether the coefficients of a law have signs that a mechanism can have, and the scale of the masses is known."""
        if family.name == "gear" and all((j, "gear") in laws for j in range(self.arm.n)):
            return False  # losses that differ between driving and driven operation at every joint leave it open
        if family.name not in SIGNED:
            return True
        pi = self.cv.fit(self.columns_of(laws))
        columns = laws[family.key].columns
        # the rest position of a spring can have either sign, and a drive's inertia may be indistinguishable from
        # those of links
        signed = {"spring": columns[:1], "drive": columns[1:]}.get(family.name, columns)
        return bool((pi[list(signed)] > 0).all())

    def without(self, laws: Laws, exchange: bool = False) -> Laws:
        """The model without laws whose removal costs less than one standard error, the least needed removed first.

        The basic laws stay: most joints have them, and a log that does not show them hardly suffers from them. Without
        noise, they go where they are zero. With ``exchange``, simpler friction takes the place of friction that costs
        little more, and laws with a shape must be worth it as well.
        """
        while True:
            before, losses = self.scored(laws), list[tuple[float, int, Laws]]()
            for key, rest in self.simpler(laws, exchange):
                (joint, name), floor = key, self.cv.floor(key[0])
                if name in BASIC and self.cv.share(before.errors, joint) > floor:
                    continue
                loss, spread = self.gain(self.scored(rest), before)
                freedom = 1 + (exchange and len(self.candidates.families[key].variants) > 1)
                limit = max(self.errors_needed * spread * sqrt(freedom), WORTH * self.unit(before, joint))
                if name == "tanh" and exchange:
                    limit = LITTLE * self.unit(before, joint)
                if name in BASIC:
                    limit = NEAR * floor
                if loss <= limit:
                    losses.append((loss, len(losses), rest))
            if not losses:
                return laws
            laws = min(losses)[2]

    def simpler(self, laws: Laws, exchange: bool) -> Iterable[tuple[tuple[int, str], Laws]]:
        """Every law of a model, with the model without it. An offset remains of a spring. With ``exchange``, ideal Coulomb
        friction takes the place of gradual one, and gradual Coulomb friction, if it fits better than ideal one, that of
        Stribeck friction."""
        for key in laws:
            rest = {k: v for k, v in laws.items() if k != key}
            ideal, gradual, stribeck = ((key[0], name) for name in ("coulomb", "tanh", "stribeck"))
            if exchange and key == gradual and ideal in self.candidates.families:
                rest[ideal] = self.candidates.families[ideal].variants[0]
            elif exchange and key == stribeck and ideal in laws and gradual in self.candidates.families:
                rest = self.extended(rest, self.candidates.families[gradual])
            elif key[1] == "spring" and (key[0], "offset") in self.plain:
                rest[key[0], "offset"] = self.plain[key[0], "offset"]
            yield key, rest

    # -- gas springs ----------------------------------------------------------------------------------

    def finer(self, laws: Laws) -> tuple[Laws, dict[int, Trial]]:
        """The model with gas springs of finely tuned shape at joints with a gas spring or a similar law, and their
        trials by joint.

        A counterbalance is replaced by a gas spring that is better, and ripple by one that is clearly better.
        """
        trials = dict[int, Trial]()
        for joint, own in list(laws):
            if own not in BALANCING or (joint, "gas_spring") not in self.candidates.families:
                continue
            trial, best = self._finest(joint, laws)
            needed = {"gas_spring": -np.inf, "balance": 0.0}.get(own, max(WORTH, self.errors_needed * trial.spread))
            if trial.gain > needed:
                place = self.candidates.families[joint, "gas_spring"].variants[0].columns
                laws = {key: law for key, law in laws.items() if key != (joint, own)}
                laws[joint, "gas_spring"] = replace(best, columns=place)
                trials[joint] = replace(trial, chosen=True)
        return laws, trials

    def _finest(self, joint: int, laws: Laws) -> tuple[Trial, LawVariant]:
        """The gas spring of a joint that predicts best beside the other laws, searched with decreasing steps in its shape."""
        mine = (joint, "gas_spring")
        others = [replace(self.candidates.families[key], variants=(law,)) for key, law in laws.items() if key != mine]
        plain = [self.candidates.families[key] for key in self.plain if key not in laws]
        tried: list[tuple[Trial, LawVariant]] = []
        for step in FINER:
            around = tried[-1][1] if tried else None
            search = copy(self)
            springs = Family(mine[1], joint, "spring", tuple(gas_springs(around, step)), ("balance", "harmonic"))
            search._gather([*others, *plain, springs])
            if self.deviation is not None:
                search.cv.precision = prior_precision(self.shared, search.cv.size, self.deviation)
            offered = search.candidates.families
            before = search.scored({key: offered[key].variants[0] for key in laws if key != mine})
            search.plain_share = [search.cv.share(before.errors, j) for j in range(self.arm.n)]
            better, _ = search.tried(before, offered[mine])
            tried.append((better.trial, better.model.laws[mine]))
        return min(tried, key=lambda x: x[0].error)

    def options(self, laws: Laws) -> ModelOptions:
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


def prior_precision(base: BaseParameters, size: int, deviation: float) -> Array:
    """(size, size) precision of a normal prior around the arm's own inertias: the inverse of K S² Kᵀ, S holding the
    standard deviations; zero for all columns that are not base parameters."""
    inertial = np.array([x.unit is None and x.torque is None and x.slope is None for x in base.parameters.members])
    K = base.K[:, inertial] * (deviation * scales(base.parameters)[inertial])
    spread = K @ K.T
    mine = np.flatnonzero(np.diag(spread) > 0)
    d = 1.0 / np.sqrt(np.diag(spread)[mine])
    out = np.zeros((size, size))
    out[np.ix_(mine, mine)] = d[:, None] * np.linalg.pinv(spread[np.ix_(mine, mine)] * d[:, None] * d, rcond=1e-12) * d
    return out
