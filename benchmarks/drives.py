"""Drive selection for a 7-joint arm from catalogues of 100 motors and 100 gears, 500 instants (make bench)."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time

import numpy as np

import dalembert as da
from dalembert.work.trajectory.planning.motion_file import MotionTable
from sidebyside import table

INSTANTS = 500


def catalogues() -> tuple[list[da.Motor], list[da.Gear]]:
    """100 motors from 0.05 to 15 N m and 20 gear sizes with 5 ratios each: fictitious, with realistic proportions."""
    motors = [
        da.Motor(
            f"M{M:.3g}", stall_torque=1.15 * M, rated_torque=M, peak_torque=3 * M, rated_speed=314.0, max_speed=628.0,
            rotor_inertia=2.5e-5 * M**1.2, mass=0.5 + 0.9 * M**0.8, torque_constant=0.5, resistance=2 / M, max_current=8 * M,
            brake_torque=1.2 * M,
        )
        for M in np.geomspace(0.05, 15.0, 100)
    ]  # fmt: skip
    gears = [
        da.Gear(
            f"G{T:.3g}-{k}", ratio=float(k), efficiency=0.75, rated_torque=T, acceleration_torque=2.2 * T, rated_speed=209.0,
            emergency_torque=4.5 * T, mean_input_speed=366.0, max_input_speed=628.0, life=7000.0, inertia=1e-6 * T**0.9,
            mass=0.05 + 0.012 * T, tilting_moment=5 * T,
        )
        for T in np.geomspace(5.0, 1000.0, 20)
        for k in (30, 50, 80, 100, 120)
    ]  # fmt: skip
    return motors, gears


def main() -> None:
    """Seconds for all joints, with kernels already compiled."""
    arm, (motors, gears) = da.load("panda"), catalogues()
    start, end = np.array([0, -0.5, 0, -2, 0, 1.5, 0]), np.array([1, 0.3, 0.5, -1.2, 0.8, 2.2, 1])
    swing = da.trapezoidal(start, end, duration=1.0, acceleration_time=0.3)
    t = np.linspace(0.0, 1.0, INSTANTS)
    motion = MotionTable(t, *swing(t))
    rows = []
    for words in ("first run, kernels compiled or read from the cache", "again"):
        begun = time.perf_counter()
        chosen = da.select_drives(arm, motion, motors, gears)
        seconds = time.perf_counter() - begun
        tried = sum(choice.tried for choice in chosen.choices) * chosen.passes
        rows.append((words, f"{seconds:.2f}", f"{tried:,}", f"{1e6 * seconds / tried:.1f}"))
    title = f"Drive selection for panda from 100 motors and 100 gears per joint, {INSTANTS} instants"
    table(title, rows, ("", "s", "combinations evaluated", "µs each"))


if __name__ == "__main__":
    main()
