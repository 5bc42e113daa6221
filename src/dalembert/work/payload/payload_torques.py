"""A load from the drive signals of a run without and a run with it: y = (Y_b π_b [+ Y_L π_L]) / g + friction, in one
fit.

The gains g are known with an error, from all available sources (:mod:`.payload_gains`), and their error is part of the
load's. Friction and offset are fitted to each run separately, since friction changes with temperature; friction that
grows with the transmitted torque is common to both.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.per_joint import per_joint
from dalembert.base.tables.signal_columns import SIGNALS
from dalembert.errors import DalembertError
from dalembert.work.identification.fitting.base_parameters import BaseParameters, base_parameters
from dalembert.work.identification.fitting.fit import NOTHING
from dalembert.work.identification.fitting.known_load import TipLoad
from dalembert.work.identification.fitting.parameter_set import FRICTION, ParameterSet
from dalembert.work.identification.fitting.result import relative
from dalembert.work.logs.conditioning import Conditioned, condition
from dalembert.work.logs.log import Log, Source, raw_of, read_log
from dalembert.work.logs.scipy_package import scipy
from dalembert.work.payload import payload_gains
from dalembert.work.payload.payload_fit import MassBySource, Payload, look_at, payload_of
from dalembert.work.payload.payload_gains import DriveFit, GainSource, JointRows, NormalBelief, fit_drives

LOSSES = (*FRICTION, "load")  # friction terms in the joint equations
STILL = 0.01  # of a joint's largest speed: below this its friction is not known
LOADS = 3  # fits, each with the load of the friction from the previous one
DISAGREE = 2.0  # standard deviations between two masses above which a note is given


def from_torques(
    arm: Arm, log: Source, loaded: Source, count: int, gains: ArrayLike | None, deviation: ArrayLike | None,
    arm_deviation: float | None, reference: str | bool | None, friction: tuple[str, ...], cutoff: float | None,
    reading: Mapping[str, Any],
) -> Payload:  # fmt: skip
    """The load from a run without and a run with it; ``count`` of its ten parameters are identified."""
    names = set() if isinstance(log, Log) else set(raw_of(log, arm).names)
    columns, lower = reading.get("columns") or {}, {name.lower() for name in names}
    has_current, has_torque = (key in columns or lower & set(SIGNALS[key].spellings) for key in ("current", "tau"))
    currents = bool(gains is None and has_current and not has_torque)
    amperes, how = gains is not None or currents, dict(reading)
    if amperes:
        how["gains"] = np.ones(arm.n) if gains is None else gains
    first, second = read_log(log, arm, **how), read_log(loaded, arm, **how)
    ready = condition(first, cutoff=cutoff)
    other = condition(second, cutoff=ready.cutoff)
    notes = list(dict.fromkeys([*first.notes, *second.notes, *ready.notes]))
    if not currents and not reference:  # otherwise the unit of the logged signal is identified
        look_at(arm, ((first, ready), (second, other)), how)
    if not max(np.abs(ready.tau).max(), np.abs(other.tau).max()) > NOTHING:
        raise DalembertError("the torques are zero throughout, so no load can be identified from them")
    rows = LoadRows(arm, ready, other, count, friction)
    unit = np.ones(arm.n) if gains is None else per_joint("gains", gains, arm.n)
    wanted = payload_gains.REFERENCES if (amperes or reference) and reference is not False else ()
    usual = next((name for name in wanted if name in names), None)
    model = reference if isinstance(reference, str) else usual  # the name of the torques of the controller's own model
    sources = _sources(log, rows, model, arm_deviation, isinstance(reference, str), reading)
    given = None
    if gains is not None or (deviation is not None and not currents):
        what = "the given gains" if gains is not None else "the logged torques"
        given = payload_gains.from_given(what, deviation, arm)
    identified = currents or (gains is None and isinstance(reference, str))
    counted = [given, *sources] if given is not None else sources if identified else []
    if currents and not counted:
        raise DalembertError(
            f"{first.source}: it has currents, but there are neither drive gains nor torques of the controller's own model nor "
            f"masses of arm '{arm.name}' from which the gains could be found; give gains"
        )
    b, belief = rows.base.rank, reduce(and_, (source.belief for source in counted)) if counted else None
    joints, fit = rows.fitted(belief)
    notes += payload_gains.sources_note(counted, unit, amperes)
    by_source = []
    for source in dict.fromkeys((*counted, *sources)):
        try:
            alone = fit_drives(joints, source.belief, near=fit)
        except DalembertError as failure:  # a failed check is reported; the result does not depend on it
            notes.append(f"there is no mass from {source.name} alone: {failure}")
            continue
        by_source.append(MassBySource(source.name, float(alone.values[b]), float(np.sqrt(alone.covariance[b, b]))))
    factor = np.exp(fit.log_gains)
    late = [(r[joint.runs[1]] * factor[j], other.tau[rows.moving[1][:, j], j] * factor[j])
            for j, (r, joint) in enumerate(zip(fit.residual, joints, strict=True))]  # fmt: skip
    error = relative(*(np.concatenate(parts) for parts in zip(*late, strict=True)))
    more: dict[str, Any] = {"by_source": tuple(by_source)}
    if belief is not None:
        std = np.sqrt(np.maximum(np.diag(fit.covariance)[-arm.n :], 0.0))
        more |= {"gains": unit * factor, "gains_std": unit * factor * std}
        more["gains_unit"] = "N m/A" if amperes else "N m/N m"
    load = payload_of(
        fit.values[b : b + count], fit.covariance[b : b + count, b : b + count], error, fit.noise * factor,
        int(sum(m.sum() for m in rows.moving)), arm.robot.tip.name if arm.robot.tip else "tip", notes, **more,
    )  # fmt: skip
    return replace(load, notes=(*load.notes, *_disagreements(load)))


def _sources(
    log: Source, rows: LoadRows, name: str | None, arm_deviation: float | None, required: bool,
    reading: Mapping[str, Any],
) -> list[GainSource]:  # fmt: skip
    """The sources of the scale of the log, besides given gains."""
    arm, ready = rows.arm, rows.runs[0]
    sources: list[GainSource | None] = []
    if name is not None:
        # the torques of its model instead of the logged ones
        how = {**reading, "columns": {**(reading.get("columns") or {}), "tau": name}}
        model = condition(read_log(log, arm, **how), cutoff=ready.cutoff)
        expected = np.column_stack([np.interp(ready.t, model.t, column) for column in model.tau.T])
        sources.append(payload_gains.from_reference(*rows.beside(expected), arm, name, required=required))
    if arm_deviation is not None:
        sources.append(payload_gains.from_arm(rows.base, rows.joints((0,)), arm_deviation))
    return [source for source in sources if source is not None]


class LoadRows:
    """The equations of both runs, in the unit of the log: base parameters in both, those of the load in the second."""

    def __init__(self, arm: Arm, ready: Conditioned, other: Conditioned, count: int, friction: tuple[str, ...]) -> None:
        unknown = [word for word in friction if word not in LOSSES]
        if unknown:
            raise DalembertError(f"there is no friction '{unknown[0]}'; choose from {', '.join(LOSSES)}")
        # joint friction is fitted to each run separately; that of passive joints is a parameter of the arm. A rotor
        # inertia acts on its own joint only and costs nothing to include
        passive = tuple(word for word in friction if word in FRICTION) if arm.mechanism.tree.n > arm.n else ()
        self.base: BaseParameters = base_parameters(ParameterSet(arm, passive, rotor=True))
        self.arm, self.friction, self.runs = arm, friction, (ready, other)
        fastest = np.abs(ready.qd).max(axis=0)
        self.moving = [np.abs(run.qd) >= STILL * fastest for run in self.runs]
        Y = [run.thinned(lambda piece: self.base.regressor(*piece.states)) for run in self.runs]
        load = TipLoad(arm)
        self.held = [run.thinned(lambda piece: load.regressor(*piece.states)) for run in self.runs]
        self.regressors = [np.concatenate([Y[0], np.zeros((*Y[0].shape[:2], count))], axis=2),
                           np.concatenate([Y[1], self.held[1][:, :, :count]], axis=2)]  # fmt: skip
        self.signs = [run.thinned(lambda piece: np.sign(piece.qd)) for run in self.runs]
        speeds = [run.thinned(lambda piece: piece.qd) for run in self.runs]
        laws = {"offset": map(np.ones_like, speeds), "viscous": speeds, "coulomb": self.signs}
        own = [columns for name, columns in laws.items() if name in ("offset", *friction)]
        self.laws = [np.stack(columns, axis=2) for columns in zip(*own, strict=True)]  # of each run (M, n, laws)

    def joints(self, runs: Sequence[int] = (0, 1), load: Sequence[Array] | None = None) -> list[JointRows]:
        """Every joint's rows of some runs; ``load``: the transmitted torques of each run, for load-dependent friction."""
        width = self.base.rank if tuple(runs) == (0,) else None
        return [self._joint(j, runs, [self.regressors[k][:, j, :width] for k in runs], load) for j in range(self.arm.n)]

    def beside(self, expected: Array) -> tuple[list[JointRows], list[Array], list[Array]]:
        """The rows of the unloaded run with expected torques (M, n) and a mass at the flange as columns, both as logged."""
        columns = np.concatenate([expected[:, :, None], self.held[0][:, :, :4]], axis=2)
        joints = [self._joint(j, (0,), [columns[:, j]], [expected]) for j in range(self.arm.n)]
        use = self.moving[0].T
        logged = [self.runs[0].tau[mine, j] for j, mine in enumerate(use)]
        return joints, [expected[mine, j] for j, mine in enumerate(use)], logged

    def _joint(self, j: int, runs: Sequence[int], Y: Sequence[Array], load: Sequence[Array] | None) -> JointRows:
        """Joint j's rows of some runs, with the columns Y of each."""
        use = [self.moving[k][:, j] for k in runs]
        ends = np.concatenate([[0], np.cumsum([m.sum() for m in use])])
        spans = tuple(slice(int(a), int(b)) for a, b in itertools.pairwise(ends))
        friction = [scipy.linalg.block_diag(*(self.laws[k][mine, j] for k, mine in zip(runs, use, strict=True)))]
        if load is not None and "load" in self.friction:
            passed = [self.signs[k][m, j] * np.abs(load[k][m, j]) for k, m in zip(runs, use, strict=True)]
            friction.append(np.concatenate(passed)[:, None])
        y = np.concatenate([self.runs[k].tau[m, j] for k, m in zip(runs, use, strict=True)])
        whole = np.concatenate([x[m] for x, m in zip(Y, use, strict=True)])
        return JointRows.of(whole, y, np.hstack(friction), spans)

    def fitted(self, belief: NormalBelief | None) -> tuple[list[JointRows], DriveFit]:
        """The rows whose friction uses the load of the fit itself, and the fit; gains without a prior are 1."""
        joints = self.joints()
        fit = fit_drives(joints, belief)
        for _ in range(LOADS if "load" in self.friction else 0):
            joints = self.joints(load=[Y @ np.nan_to_num(fit.values) for Y in self.regressors])
            fit = fit_drives(joints, belief, near=fit)
        return joints, fit


def _disagreements(load: Payload) -> list[str]:
    """Sentences on sources of the gains that yield a different mass."""
    words = []
    for source in load.by_source:
        # the correlation between a source and the result is neglected: the variance of the difference is at most this
        spread = float(np.sqrt(max(source.std**2 + load.mass_std**2, 1e-300)))
        if abs(source.mass - load.mass) > DISAGREE * spread:
            words.append(
                f"the mass from {source.name} alone is {source.mass:.4g} ± {source.std:.2g} kg, which does not agree with "
                f"{load.mass:.4g} ± {load.mass_std:.2g} kg: check the drive gains, the torques' unit and the arm's masses"
            )
    return words
