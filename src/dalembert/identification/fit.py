"""``identify``: from a log of a moving arm to its parameters, S 7.4."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.arm.tree import tree_of
from dalembert.errors import DalembertError
from dalembert.identification import estimate as ways
from dalembert.identification.accumulate import JointTriangles
from dalembert.identification.base import BaseParameters
from dalembert.identification.columns import balance_columns, coupling_columns, sigmoid_columns, stribeck_columns
from dalembert.identification.hints import hints
from dalembert.identification.log_equations import LogEquations, Progress, typical_sizes
from dalembert.identification.result import Identification, Run, make_run
from dalembert.identification.solution import Belief, Loaded, Solution, solution
from dalembert.kernel.one_thread import one_thread
from dalembert.logs.conditioning import Conditioned, condition
from dalembert.logs.formats.raw import listed
from dalembert.logs.log import Log, joined, read_log
from dalembert.logs.suspicions import suspicions
from dalembert.robot.inertia import Inertia
from dalembert.robot.tables import nearest

Array = NDArray[np.float64]
Source = str | os.PathLike[str] | Mapping[str, ArrayLike] | Log

READING = ("columns", "gains", "gears", "motor_side", "time_unit", "units", "joint_names", "topic")
NOTHING = 1e-30  # N m: torques so small are zero
UNLIKE = 0.5  # a relative error above which the arm is hardly the one that moved


class IdentificationWarning(UserWarning):
    """Something about a log or a fit that its user should know before trusting it."""


@one_thread()
def identify(
    arm: Arm,
    log: Source | Sequence[Source],
    validate: Source | Sequence[Source] | None = None,
    method: str = "weighted",
    physical: bool = False,
    prior: Arm | None = None,
    *,
    friction: Sequence[str] = ("viscous", "coulomb"),
    two_sided: bool = False,
    offset: bool = True,
    rotor: bool | None = None,
    stribeck: bool | float | Sequence[float] = False,
    sigmoid: bool | float | Sequence[float] = False,
    coupling: Sequence[Any] = (),
    balance: Sequence[str | int] = (),
    cutoff: float | None = None,
    decimate: int | None = None,
    edge: float | None = None,
    dead_zone: float | Sequence[float] | None = None,
    hold_out: float = 0.0,
    damping: float | None = None,
    prior_deviation: float = 0.3,
    prior_kind: str = "entropic",
    bounds: Mapping[str, Any] | None = None,
    loaded: Source | None = None,
    payload: Inertia | Mapping[str, Any] | float | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> Identification:
    """The dynamic parameters of an arm from a log of its motion: t, q, qd (or not) and torques or currents.

    arm         its geometry; its inertias where known are the point from which the calibrated arm departs
    log         a path (.csv .npz .mat .parquet .bag .db3 .mcap), a dict of arrays t, q, qd, tau, or a list of them
    validate    other runs, on which the result is judged
    method      "ordinary", "weighted" (by each joint's noise), "reweighted" (until the weights settle),
                "damped", "sequential" (joint by joint, from the last), or "total"
    physical    only parameters that bodies can have (semidefinite program; extra ``[identify]``)
    prior       an arm whose inertias are believed to ``prior_deviation`` (relative); asks for physical too
    friction    of "viscous" and "coulomb"; two_sided, offset, stribeck (True, or the speed(s) in rad/s) add to it
    sigmoid     Coulomb friction turns over as tanh((q̇ − c)/w): True finds w and c of every joint, numbers are w (rad/s)
    rotor       identify rotor inertias; unless given, if the arm has rotors or torques come from the motors
    coupling    drives that two joints share, such as [(5, 6)]; balance: joints with a counterbalance
    cutoff      of the low-pass (Hz), decimate, edge (s): see :func:`conditioning.condition`
    dead_zone   a joint's equations do not count while it is slower than this (rad/s); unless given, those
                slower than 1 % of its largest speed count for a tenth
    hold_out    the last share of the log, such as 0.3, is left out of the fit and validates it
    damping     λ of "damped"; by generalised cross-validation unless given
    bounds      {link: {"box": (low, high)}} or {link: {"centre": c, "radii": r}}: where a link's mass must be; asks
                for physical too
    loaded      for "total": a run with a payload that is known, whose weight fixes the scale of the drive gains
    payload     that payload: an Inertia in the tip's frame, or a mass
    reading     columns, gains, gears, motor_side, units, time_unit, joint_names, topic: see :func:`logs.read_log`
    progress    called with words and the fraction done

    >>> import numpy as np, dalembert as da
    >>> arm = da.load("pendulum")
    >>> t = np.arange(0, 20, 0.01)
    >>> q, qd, qdd = da.fourier([[[0.5, 0.3]], [[0.2, 0.4]]], 0.2, duration=20.0)(t)
    >>> log = {"t": t, "q": q, "qd": qd, "tau": arm.inverse_dynamics(q, qd, qdd)}
    >>> fit = da.identify(arm, log)
    >>> fit.relative_error < 0.01, fit.arm.n
    (True, 1)
    """
    _check_options(method, prior_kind, prior_deviation, reading, loaded, payload)
    if damping is not None and method != "damped":
        raise DalembertError(f"damping is for method='damped', and the method is '{method}'")
    physical = physical or prior is not None or bool(bounds)
    if physical and method in ("damped", "sequential", "total"):
        raise DalembertError(f"physical estimates are weighted least squares; they cannot be '{method}' too")
    if sigmoid is not False and (two_sided or "coulomb" not in friction):
        raise DalembertError("sigmoid is a shape of Coulomb friction: friction must have 'coulomb', and not two_sided")
    step = progress or (lambda words, fraction: None)
    found, more = _read_all(arm, log, validate, hold_out, reading, step)
    step("filtering", 0.0)
    how = {"cutoff": cutoff, "decimate": decimate, "edge": edge}
    ready = condition(found, **how)  # type: ignore[arg-type]
    if not np.abs(ready.tau).max() > NOTHING:
        raise DalembertError(f"{found.source}: the torques are zero throughout, so that nothing can be identified")
    notes, said = [*found.notes, *ready.notes], list[str]()
    for one in found.separate:
        said += suspicions(arm, one, _alone(one, ready, how) if found.parts else ready, reading)

    if rotor is None:
        rotor = _has_rotors(arm) or "gains" in reading or "tau" in tuple(reading.get("motor_side", ()))
        if rotor and not _has_rotors(arm):
            notes.append("rotor inertias are identified too, since the torques are those of the motors")
    kinds = [kind for kind in friction if sigmoid is False or kind != "coulomb"]
    dry = "coulomb" in friction
    equations = LogEquations(arm, ready, tuple(kinds), two_sided, offset, rotor, dead_zone, step, dry)
    extra = (*coupling_columns(arm, coupling), *balance_columns(arm, balance))
    if sigmoid is not False:
        extra = (*extra, *sigmoid_columns(arm, *equations.sigmoids(sigmoid, extra, notes)))
    if stribeck is not False:
        extra = (*extra, *stribeck_columns(arm, equations.stribeck_speeds(stribeck, extra, notes)))
    base, joints = equations.prepared(extra)
    if not joints.together().rows or max(np.abs(one.R).max(initial=0.0) for one in joints.joints) == 0:
        raise DalembertError(f"{found.source}: no sample is left to identify from; is the arm moving in it?")

    belief = Belief(prior, prior_deviation, prior_kind, bounds) if physical else None
    heavy = None if loaded is None else _loaded(arm, loaded, payload, ready, reading, how, notes)
    made = solution(equations, base, joints, method, damping, belief, heavy, notes, said)
    judged = tuple(_validated(base, made, one, ready, how, notes) for one in more)
    result = _result(arm, base, joints, method, physical, made, judged, reading, how)
    said += _unseen(result, made.fixed) + _weak(result)
    for one, other in zip(more, judged, strict=True):
        said += suspicions(arm, one, other.conditioned, reading)
    if result.relative_error > UNLIKE and not physical:
        said.append(
            f"{found.source}: the best fit leaves {100 * result.relative_error:.0f} % of the torques unexplained; are the joints in "
            "the arm's order, with its zeros and signs, and in rad and N m?"
        )
    asked = {
        "coupling": coupling,
        "balance": balance,
        "sigmoid": sigmoid is not False,
        "stribeck": stribeck is not False,
    }
    notes += hints(result, [word for word, value in asked.items() if value])
    for sentence in said:
        warnings.warn(sentence, IdentificationWarning, stacklevel=3)  # one for the decorator
    step("done", 1.0)
    return replace(result, notes=tuple(dict.fromkeys(notes)), warnings=tuple(said))


def _result(
    arm: Arm, base: BaseParameters, joints: JointTriangles, method: str, physical: bool, made: Solution,
    judged: tuple[Run, ...], reading: Mapping[str, Any], how: Mapping[str, Any],
) -> Identification:  # fmt: skip
    values, estimate = made.values, made.estimate
    free = [k for k in range(len(values)) if k not in made.fixed]
    weighted = joints.together(1.0 / ways.above_zero(estimate.noise))
    needed = ways.essential(values, made.covariance, () if physical else made.fixed)
    return Identification(
        before=arm, base=base, method=method, physical=physical, parameters=values, covariance=made.covariance,
        found_full=made.full, condition=_condition(joints.together().R[:, free]),
        scaled_condition=_condition(_unit(weighted.R[:, free])), noise=estimate.noise, correlation=made.times,
        essential=tuple(base.names[k] for k in needed),
        unidentified=() if physical else tuple(base.names[k] for k in made.fixed),
        run=made.run, gains=made.gains, reading={k: v for k, v in reading.items() if v is not None},
        conditioning={k: v for k, v in how.items() if v is not None}, validation=judged,
    )  # fmt: skip


# -- options, logs -------------------------------------------------------------------------------


def _check_options(
    method: str, prior_kind: str, deviation: float, reading: Mapping[str, Any], loaded: Any, payload: Any
) -> None:
    if method not in ways.METHODS:
        raise DalembertError(
            f"there is no method '{method}'; known are {', '.join(ways.METHODS)}{nearest(method, ways.METHODS)}"
        )
    if prior_kind not in ("entropic", "euclidean"):
        raise DalembertError(f"prior_kind is '{prior_kind}'; it can be entropic or euclidean")
    if not deviation > 0:
        raise DalembertError(f"prior_deviation is {deviation:g}; it must be above 0, such as 0.3 for thirty percent")
    unknown = [name for name in reading if name not in READING]
    if unknown:
        raise DalembertError(f"identify knows no option '{unknown[0]}'{nearest(unknown[0], READING)}")
    if method == "total" and (loaded is None or payload is None):
        raise DalembertError(
            "total least squares finds drive gains too, and needs a known payload to fix the scale: give loaded (a run with "
            "it) and payload (its mass, or an Inertia)"
        )
    if method != "total" and (loaded is not None or payload is not None):
        raise DalembertError("loaded and payload are for method='total'")


def _several(logs: Any) -> list[Any]:
    if logs is None:
        return []
    if isinstance(logs, list | tuple):
        return list(logs)
    return [logs]


def _read_all(
    arm: Arm, log: Any, validate: Any, hold_out: float, reading: Mapping[str, Any], step: Progress
) -> tuple[Log, list[Log]]:
    """The log, or several as one, and those to validate on."""
    if not 0 <= hold_out < 1:
        raise DalembertError(f"hold_out is {hold_out:g}; it is a share of the log between 0 and 1, such as 0.3")
    mine, others = _several(log), _several(validate)
    if not mine:
        raise DalembertError("there is no log to identify from: the list is empty")
    logs, read = [*mine, *others], list[Log]()
    for one in logs:

        def told(fraction: float, done: int = len(read)) -> None:
            step("reading", (done + fraction) / len(logs))

        told(0.0)
        read.append(read_log(one, arm, **reading, progress=told))
    found, more = joined(read[: len(mine)]), read[len(mine) :]
    if hold_out:
        last = replace(found.part(1 - hold_out, 1.0), source=f"{found.source} (last {100 * hold_out:g} %)", notes=())
        return found.part(0.0, 1 - hold_out), [last, *more]
    return found, more


def _alone(log: Log, ready: Conditioned, how: Mapping[str, Any]) -> Conditioned:
    """One of several logs, with the cut-off of all."""
    return condition(log, **{**how, "cutoff": ready.cutoff})


def _loaded(
    arm: Arm, log: Any, payload: Any, ready: Conditioned, reading: Mapping[str, Any], how: Mapping[str, Any],
    notes: list[str],
) -> Loaded:  # fmt: skip
    """The run with a known payload, for total least squares."""
    if isinstance(payload, Inertia):
        body = payload
    elif isinstance(payload, Mapping):
        body = Inertia(**payload)
    else:
        body = Inertia(float(payload))
        notes.append(
            "the known payload is taken as a point at the tip; if its centre is elsewhere, give payload={'mass': …, 'com': …} "
            "(--payload-com), or the gains of joints near the tip are wrong"
        )
    if arm.robot.payload is not None:
        raise DalembertError("the arm holds a payload already; total least squares needs the arm without one")
    heavy = arm.with_payload(float(body.mass), body.com, body.tensor)
    return Loaded(_alone(read_log(log, arm, **reading), ready, how), heavy)


def _has_rotors(arm: Arm) -> bool:
    return any(body.has_rotor for body in tree_of(arm).bodies)


def _validated(
    base: BaseParameters, made: Solution, log: Log, ready: Conditioned, how: Mapping[str, Any], notes: list[str]
) -> Run:
    """A validation run, conditioned with the same cut-off."""
    other = _alone(log, ready, how)
    notes += [*log.notes, *(note for note in other.notes if not note.startswith("low-pass"))]
    return make_run(base, made.values, other, made.gains)


# -- judgement -----------------------------------------------------------------------------------


def _condition(R: Array) -> float:
    s = np.linalg.svd(R, compute_uv=False)
    return float(s[0] / s[-1]) if len(s) and s[-1] > 0 else float("inf")


def _unit(R: Array) -> Array:
    size = np.linalg.norm(R, axis=0)
    return R / np.where(size > 0, size, 1.0)


def _joint_of(base: BaseParameters, k: int) -> str:
    joint = base.parameters.joints[base.independent[k]]
    return tree_of(base.parameters.arm).bodies[joint].name if joint >= 0 else base.names[k]


def _unseen(fit: Identification, fixed: tuple[int, ...]) -> list[str]:
    """Names the base parameters that the log does not show at all."""
    if not fixed:
        return []
    base = fit.base
    names = [base.formulas[k] if len(base.formulas[k]) < 40 else base.names[k] + " + …" for k in fixed]
    return [
        f"{fit.run.name}: the motion does not show {listed(names)}, which keep the arm's own value; move "
        f"{listed(sorted({_joint_of(base, k) for k in fixed}))} more"
    ]


def _weak(fit: Identification) -> list[str]:
    """Names the base parameters that the log hardly shows: their error alone makes torques like those measured."""
    if fit.physical:
        return []
    size = float(np.sqrt(np.mean(fit.run.measured**2)))
    brought = fit.std * typical_sizes(fit.base)
    weak = [k for k in np.argsort(-brought) if np.isfinite(brought[k]) and brought[k] > size]
    if not weak:
        return []
    joints = sorted({_joint_of(fit.base, int(k)) for k in weak})
    return [
        f"{fit.run.name}: the motion hardly shows {listed([fit.names[k] for k in weak])}: their standard deviations "
        f"stand for torques as large as those measured; excite {listed(joints)} more"
    ]


__all__ = ["IdentificationWarning", "identify"]
