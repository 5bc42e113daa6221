"""Simulate two logged runs of a robot that differs from its robot file, as a controller would record them.

    python examples/make_log.py puma560 out

writes out/run.csv and out/other.csv with the columns t, q1 … qn, qd1 … qdn, tau1 … taun, at 200 samples per second. The
robot carries a payload of 1.5 kg at its tip that is not in its file, and its sensors are noisy.
"""

import sys
from pathlib import Path

import numpy as np

import dalembert as da


def main(name: str = "puma560", folder: str = "out") -> None:
    arm = da.load(name)
    robot = arm.with_payload(1.5, com=(0, 0, 0.05))
    rng = np.random.default_rng(1)
    t = np.arange(0.0, 20.0, 0.005)
    columns = ["t", *(f"{group}{k + 1}" for group in ("q", "qd", "tau") for k in range(arm.n))]
    Path(folder).mkdir(parents=True, exist_ok=True)
    limits = [(joint.limits.lower, joint.limits.upper) for joint in arm.robot.moving_joints]
    lower, upper = np.array([(-2.0, 2.0) if None in pair else pair for pair in limits]).clip(-10, 10).T
    for run in ("run", "other"):
        swings = rng.normal(0, 0.25, (2, arm.n, 5)) * np.minimum(1.0, (upper - lower)[:, None] / 5)
        motion = da.fourier(swings, 0.1, (lower + upper) / 2, duration=20.0)
        q, qd, qdd = motion(t)
        tau = robot.inverse_dynamics(q, qd, qdd)
        tau = tau + 0.02 * np.abs(tau).max(axis=0) * rng.normal(size=tau.shape)
        qd = qd + 2e-3 * rng.normal(size=qd.shape)
        path = Path(folder) / f"{run}.csv"
        np.savetxt(path, np.column_stack([t, q, qd, tau]), "%.7g", ",", header=",".join(columns), comments="")
        print(f"a run of {name} is in {path}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
