"""Time-optimal timing of a path of panda, compared with toppra and Pinocchio (make bench)."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
import toppra
import toppra.algorithm
import toppra.constraint as constraint

import dalembert as da
from dalembert.work.trajectory.planning.limits import joint_limits
from sidebyside import interleaved, one_core, panda_urdf_text, table

GRID = 1000
INTERPOLATION, COLLOCATION = constraint.DiscretizationType.Interpolation, constraint.DiscretizationType.Collocation


def peer(way: np.ndarray, ends: str, scheme: Any, arm: da.Arm) -> Callable[[], Any]:
    """toppra with velocity, acceleration and torque limits; torques from Pinocchio."""
    keep = joint_limits(arm, None)
    model = pin.buildModelFromXML(panda_urdf_text())
    data = model.createData()
    path = toppra.SplineInterpolator(np.linspace(0, len(way) - 1, len(way)), way, bc_type=ends)
    grid = np.linspace(0, len(way) - 1, GRID + 1)

    def both(x: np.ndarray) -> np.ndarray:
        return np.stack([-x, x], axis=1)

    def solve() -> Any:
        limits = [
            constraint.JointVelocityConstraint(both(keep.velocity)),
            constraint.JointAccelerationConstraint(both(keep.acceleration), discretization_scheme=scheme),
            constraint.JointTorqueConstraint(
                lambda q, v, a: pin.rnea(model, data, q, v, a), both(keep.effort), np.zeros(7),
                discretization_scheme=scheme,
            ),
        ]  # fmt: skip
        run = toppra.algorithm.TOPPRA(
            limits, path, gridpoints=grid, solver_wrapper="seidel", parametrizer="ParametrizeConstAccel"
        )
        return run.compute_trajectory(0, 0)

    return solve


def exceeds(arm: da.Arm, motion: Callable[[np.ndarray], tuple[np.ndarray, ...]], duration: float) -> float:
    """The largest relative limit violation on a dense grid."""
    keep, t = joint_limits(arm, None), np.linspace(0, duration, 40 * GRID + 7)
    q, qd, qdd = motion(t)
    pairs = ((arm.inverse_dynamics(q, qd, qdd), keep.effort), (qd, keep.velocity), (qdd, keep.acceleration))
    return max(float((np.abs(x) / limit).max()) for x, limit in pairs) - 1


FIRST = """
import time, dalembert as da
arm = da.load("panda")
motion = da.spline([0, 1, 2], [[0.0] * 7, [0.4] * 7, [0.0] * 7])
wall, work = time.perf_counter(), time.process_time()
motion.time_optimal(arm)
print(time.perf_counter() - wall, time.process_time() - work)
"""


def first_call() -> tuple[float, float]:
    """The duration of a new user's first call with an empty cache: elapsed and CPU time (s)."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "DALEMBERT_CACHE": folder}
        run = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, env=environment, check=True)
    wall, work = map(float, run.stdout.split())
    return wall, work


def with_friction(arm: da.Arm, viscous: float, coulomb: float) -> da.Arm:
    """The arm with this friction at every joint."""
    friction = da.Friction(viscous, (coulomb, coulomb))
    return da.Arm(arm.robot.replace(joints=tuple(replace(joint, friction=friction) for joint in arm.robot.joints)))


def rubbing(arm: da.Arm) -> None:
    """The same paths with friction, which toppra does not support."""
    arms = {"none": arm, "viscous": with_friction(arm, 5.0, 0.0), "both": with_friction(arm, 5.0, 1.0)}
    rows = []
    for seed in range(3):
        motion = da.spline(np.arange(5.0), np.random.default_rng(seed).uniform(-1, 1, (5, 7)))
        least = interleaved({name: lambda a=a, m=motion: m.time_optimal(a, grid=GRID) for name, a in arms.items()}, 15)
        rows.append((f"{seed}, clamped", *(f"{least[name] * 1e3:.2f}" for name in arms)))
    table("the same with friction (ms)", rows, ("panda, spline", *arms))


def main() -> None:
    """One row per path and per way in which toppra enforces limits on the grid.

    toppra's path is created beforehand, and a motion computes its moves once; "new path" is the ratio for a motion that has not
    done so yet.
    """
    wall, work = first_call()
    print(f"first call of a new user, with an empty cache: {wall:.2f} s ({work:.2f} s of CPU time)")
    one_core()
    toppra.setup_logging("ERROR")
    arm = da.load("panda")
    rows = []
    for seed in range(3):
        way = np.random.default_rng(seed).uniform(-1, 1, (5, 7))
        for ends in ("clamped", "not-a-knot"):
            motion = da.spline(np.arange(5.0), way, boundary=ends)
            for scheme in (INTERPOLATION, COLLOCATION):
                theirs = peer(way, ends, scheme, arm)
                calls = {  # each of our calls follows one of theirs, which has filled the caches
                    "ours": lambda m=motion: m.time_optimal(arm, grid=GRID),
                    "toppra": theirs,
                    "new": lambda m=motion: replace(m).time_optimal(arm, grid=GRID),
                    "again": theirs,
                }
                least = interleaved(calls, 15)
                fast, found = motion.time_optimal(arm, grid=GRID), theirs()
                ours, other = fast.duration, found.duration
                beyond = exceeds(arm, fast, ours), exceeds(arm, lambda t: tuple(found(t, k) for k in range(3)), other)  # noqa: B023
                rows.append(
                    (
                        f"{seed}, {ends}", scheme.name.lower(), f"{ours:.6f}", f"{other:.6f}", f"{ours / other - 1:+.1e}",
                        f"{beyond[0]:.0e}", f"{beyond[1]:.0e}",
                        f"{least['ours'] * 1e3:.2f}", f"{least['toppra'] * 1e3:.1f}", f"{least['toppra'] / least['ours']:.1f}",
                        f"{least['toppra'] / least['new']:.1f}",
                    )
                )  # fmt: skip
    head = (
        "panda, spline", "toppra's scheme", "ours (s)", "toppra (s)", "longer by", "exceeds", "toppra", "ours (ms)",
        "toppra (ms)", "ratio", "new path",
    )  # fmt: skip
    table(f"time-optimal timing, {GRID} intervals, one core, including dynamics", rows, head)
    rubbing(arm)


if __name__ == "__main__":
    main()
