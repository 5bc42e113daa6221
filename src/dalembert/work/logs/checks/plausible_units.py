"""Plausibility checks of a log: degrees, motor side, other units, reversed signs, exchanged joints.

The log is compared with the arm as described, before anything is fitted; each finding is a sentence that states what
the data look like and which option corrects it. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.wording import some
from dalembert.work.logs.checks.joint_order import mixed_up
from dalembert.work.logs.checks.plausible_motion import SLACK, described, far_beyond, off_by, ranges
from dalembert.work.logs.conditioning import Conditioned
from dalembert.work.logs.log import Log

ODD = 8.0  # torques that differ from the model's by more than this factor, either way, are in another unit
SPIKE = 50.0, 5.0  # times the 90th percentile of the deviation from the neighbours, and times a joint's usual torque
MOVED = 1e-3  # rad or m: an arm whose joints all move less is at rest
STUCK = 1000.0  # if the path length from qd is this many times that of q, they do not belong together


def suspicions(arm: Arm, log: Log, ready: Conditioned, reading: Mapping[str, Any]) -> list[str]:
    """Findings about a log that does not look as declared, one sentence each."""
    return [sentence for _, sentence in findings(arm, log, ready, reading)]


def findings(arm: Arm, log: Log, ready: Conditioned, reading: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(name of the check, sentence) for whatever does not look as declared; later checks need data that look right."""
    known = any(not body.inertia.is_zero for body in arm.mechanism.tree.bodies) and bool(np.isfinite(ready.tau).all())
    checks = {"units": _units_odd(arm, log), "spikes": _spikes(arm, log), "velocity": _velocity_odd(arm, log, ready)}
    if not any(checks.values()):
        checks["limits"] = _beyond_limits(arm, log)
        checks["torque"] = _torque_odd(arm, log, ready, reading) if known else []
        checks["joints"] = mixed_up(arm, log, ready, reading) if known and not checks["torque"] else []
    return [(name, sentence) for name, sentences in checks.items() for sentence in sentences]


def _units_odd(arm: Arm, log: Log) -> list[str]:
    """Positions far beyond the joint limits: degrees, or motor angles."""
    goes, in_degrees = far_beyond(arm, log.source, log.q)
    unit = ": units={'q': 'deg'} (--unit q=deg)," if in_degrees else " (units)"
    return [f"{goes}, which looks like degrees{unit} or motor angles (motor_side)"] if goes else []


def _spikes(arm: Arm, log: Log) -> list[str]:
    """Single torques far away from both their neighbours."""
    if len(log) < 10 or not np.isfinite(log.tau).all():
        return []
    sentences = []
    for name, tau in zip(arm.joint_names, log.tau.T, strict=True):
        a, b, c = tau[:-2], tau[1:-1], tau[2:]
        middle = np.maximum(np.minimum(a, c), np.minimum(np.maximum(a, c), b))  # the median of the three
        out = np.abs(b - middle)
        usual = float(np.median(np.abs(tau)))
        far = (out > SPIKE[1] * usual) & (usual > 0)
        if far.any() and (far := far & (out > SPIKE[0] * np.percentile(out, 90))).any():
            sentences.append(
                f"{log.source}: tau of joint '{name}' has {int(far.sum())} isolated outliers of up to {out.max():.3g} N m, "
                f"where {usual:.3g} are usual; replace them by empty cells or NaN to have these rows dropped"
            )
    return sentences


def _beyond_limits(arm: Arm, log: Log) -> list[str]:
    beyond = {j: r for j, r in ranges(arm, log.q).items() if r.low < r.lower - SLACK or r.high > r.upper + SLACK}
    if not beyond:
        return []
    return [f"{described(arm, log.source, beyond)}; does it have another zero or sign, or are joints exchanged?"]


def _velocity_odd(arm: Arm, log: Log, ready: Conditioned) -> list[str]:
    piece = max(ready.pieces, key=lambda p: len(p.t))
    slope = np.gradient(piece.q, 1.0 / ready.rate, axis=0)
    inside = slice(ready.edge, len(piece.t) - ready.edge)
    a, b = slope[inside], piece.qd[inside]
    if log.qd is None or not np.abs(a).max(initial=0.0) > 1e-9 or np.ptp(piece.q, axis=0).max() < MOVED:
        return []  # there is nothing to compare, or the arm is at rest
    if not b.any():
        return [f"{log.source}: qd is zero throughout, although q moves; omit qd, and it is computed from q"]
    travels = np.abs(b).sum(axis=0) / ready.rate
    stuck = [j for j in range(arm.n) if travels[j] > STUCK * max(float(np.ptp(piece.q[:, j])), MOVED)]
    if stuck:
        return [
            f"{log.source}: q of {_who(arm, stuck[0], stuck)} does not move, although its qd covers "
            f"{travels[stuck[0]]:.3g} rad; is its position another column?"
        ]
    mismatch = off_by(a, b)
    if mismatch is None:
        return []
    off, ratio, everywhere = mismatch
    by = abs(ratio)
    known = [
        (ratio < 0 and 0.8 < by < 1.25, "the opposite sign"),
        (40 < by < 80, "degrees per second: units={'qd': 'deg/s'} (--unit qd=deg/s)"),
        (0.012 < by < 0.025, "q in degrees: units={'q': 'deg'} (--unit q=deg)"),
        (everywhere and (by > 500 or by < 1e-2), "time in another unit: time_unit"),
        (by > 5, "motor speeds: motor_side='qd'"),
    ]
    looks = next((words for holds, words in known if holds), "something else")
    who = _who(arm, off[0], off)
    return [f"{log.source}: qd of {who} is {ratio:.3g} times the derivative of q, which looks like {looks}"]


def _who(arm: Arm, joint: Any, joints: Sequence[Any]) -> str:
    return f"joint '{arm.joint_names[joint]}'" + (f" and {len(joints) - 1} more" if len(joints) > 1 else "")


def _torque_odd(arm: Arm, log: Log, ready: Conditioned, reading: Mapping[str, Any]) -> list[str]:
    """Findings from the ratio of the measured torques to those of the arm as described: unit, motor side."""
    x = ready.tau
    y = ready.thinned(lambda piece: np.asarray(arm.inverse_dynamics(*piece.states), float))
    size_a, size_b = np.sqrt(np.mean(y**2, axis=0)), np.sqrt(np.mean(x**2, axis=0))
    heavy = size_a > 0.05 * size_a.max()
    dead = [arm.joint_names[j] for j in np.flatnonzero(heavy & (size_b == 0))]
    if dead:
        return [f"{log.source}: the torques of {some(dead, 8)} are zero throughout"]
    if not heavy.any() or not size_a.max() > 0:
        return []
    factor = float(np.exp(np.median(np.log(size_b[heavy] / size_a[heavy]))))
    if 1 / ODD < factor < ODD:
        return []
    looks = _unit_of(arm, factor, "gains" in reading)
    return [f"{log.source}: the torques are {factor:.2g} times those of arm '{arm.name}', which looks like {looks}"]


def _unit_of(arm: Arm, factor: float, from_current: bool) -> str:
    gears = [abs(float(body.gear)) for body in arm.mechanism.tree.bodies if float(body.gear) != 1.0]
    known = {
        1e3: "currents in mA: units={'current': 'mA'} (--unit current=mA)"
        if from_current
        else "N mm: units={'tau': 'N mm'} (--unit 'tau=N mm'), or currents in mA",
        1e-3: "kN m: units={'tau': 'kN m'} (--unit 'tau=kN m')",
        9.81: "another unit of force, such as kgf m instead of N m",
        100.0: "N cm: units={'tau': 'N cm'} (--unit 'tau=N cm')",
    }
    if gears:
        known[1.0 / float(np.median(gears))] = "torques on the motor side (motor_side='tau')"
    if factor < 1:
        known.setdefault(0.1, "motor currents in A (gains), or torques on the motor side (motor_side, gears)")
        known.setdefault(0.02, "torques on the motor side, or motor currents in A (motor_side and gears, or gains)")
    closest = min(known, key=lambda k: abs(np.log(factor / k)))
    if abs(np.log(factor / closest)) < np.log(4.0):
        return known[closest]
    return "another unit" if factor > 1 else "torques on the motor side, or another unit"
