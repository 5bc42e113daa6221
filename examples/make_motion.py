"""Write a motion file in which every joint swings smoothly within its limits, once there and back.

    python examples/make_motion.py planar-2r out/motion.csv

The CSV has the columns t, q1 … qn, qd1 … qdn, qdd1 … qddn (s, rad or m, and their derivatives).
"""

import sys
from pathlib import Path

import numpy as np

import dalembert as da


def swing(arm: da.Arm, duration: float = 2.0, samples: int = 2001) -> np.ndarray:
    """q = q_0 + A sin²(π t / T) with its exact derivatives; q_0 is the middle of the joint's range."""
    limits = [(joint.limits.lower, joint.limits.upper) for joint in arm.robot.moving_joints]
    lower, upper = np.array([(-2.0, 2.0) if None in pair else pair for pair in limits]).clip(-10, 10).T
    middle = (lower + upper) / 2
    reach = np.minimum(0.8 / np.arange(1, arm.n + 1), 0.4 * (upper - lower))
    t = np.linspace(0.0, duration, samples)[:, None]
    w = 2 * np.pi / duration
    q = middle + reach / 2 * (1 - np.cos(w * t))
    qd = reach / 2 * w * np.sin(w * t)
    qdd = reach / 2 * w**2 * np.cos(w * t)
    return np.hstack([t, q, qd, qdd])


def main(name: str = "planar-2r", path: str = "out/motion.csv") -> None:
    arm = da.load(name)
    columns = ["t", *(f"{group}{k + 1}" for group in ("q", "qd", "qdd") for k in range(arm.n))]
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    np.savetxt(path, swing(arm), delimiter=",", header=",".join(columns), comments="")
    print(f"a motion for {name} is in {path}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
