"""Make a motion file: every joint swings once, smoothly, from rest to rest and back.

    python examples/make_motion.py planar-2r out/motion.csv

The CSV has the columns t, q1 … qn, qd1 … qdn, qdd1 … qddn (s, rad or m, and their derivatives).
"""

import sys
from pathlib import Path

import numpy as np

import dalembert as da


def swing(n: int, duration: float = 2.0, samples: int = 2001, amplitude: float = 0.8) -> np.ndarray:
    """q = A sin²(π t / T) with its exact derivatives; each joint a little less than the one before."""
    t = np.linspace(0.0, duration, samples)
    w = 2 * np.pi / duration
    reach = amplitude / np.arange(1, n + 1)
    q = reach * 0.5 * (1 - np.cos(w * t))[:, None]
    qd = reach * 0.5 * w * np.sin(w * t)[:, None]
    qdd = reach * 0.5 * w**2 * np.cos(w * t)[:, None]
    return np.column_stack([t, q, qd, qdd])


def main(name: str = "planar-2r", path: str = "out/motion.csv") -> None:
    arm = da.load(name)
    header = ["t", *(f"{group}{k + 1}" for group in ("q", "qd", "qdd") for k in range(arm.n))]
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    np.savetxt(path, swing(arm.n), delimiter=",", header=",".join(header), comments="")
    print(f"a motion for {name} is in {path}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
