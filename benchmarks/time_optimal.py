"""The fastest timing of a path of panda, side by side with toppra and Pinocchio (make bench)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
import toppra
import toppra.algorithm
import toppra.constraint as constraint

import dalembert as da
from dalembert.trajectory.limits import joint_limits
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
    """By how much of itself the worst limit is exceeded, on a dense grid."""
    keep, t = joint_limits(arm, None), np.linspace(0, duration, 40 * GRID + 7)
    q, qd, qdd = motion(t)
    pairs = ((arm.inverse_dynamics(q, qd, qdd), keep.effort), (qd, keep.velocity), (qdd, keep.acceleration))
    return max(float((np.abs(x) / limit).max()) for x, limit in pairs) - 1


def main() -> None:
    """One row for each path and each way in which toppra keeps a limit on the grid."""
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
                calls = {"ours": lambda m=motion: m.time_optimal(arm, grid=GRID), "toppra": theirs}
                least = interleaved(calls, 15)
                fast, found = motion.time_optimal(arm, grid=GRID), theirs()
                ours, other = fast.duration, found.duration
                beyond = exceeds(arm, fast, ours), exceeds(arm, lambda t: tuple(found(t, k) for k in range(3)), other)  # noqa: B023
                rows.append(
                    (
                        f"{seed}, {ends}", scheme.name.lower(), f"{ours:.6f}", f"{other:.6f}", f"{ours / other - 1:+.1e}",
                        f"{beyond[0]:.0e}", f"{beyond[1]:.0e}",
                        f"{least['ours'] * 1e3:.2f}", f"{least['toppra'] * 1e3:.1f}", f"{least['toppra'] / least['ours']:.1f}",
                    )
                )  # fmt: skip
    head = (
        "panda, spline", "toppra's scheme", "ours (s)", "toppra (s)", "longer by", "exceeds", "toppra", "ours (ms)",
        "toppra (ms)", "ratio",
    )  # fmt: skip
    table(f"time-optimal timing, {GRID} intervals, one core, dynamics included", rows, head)


if __name__ == "__main__":
    main()
