"""A pick-and-place cycle of a Panda with 2 kg in the gripper on the way there: joint torques, tracking and fastest timing.

python examples/pick_and_place.py
"""

from functools import partial

import numpy as np

import dalembert as da


def cycle(arm: da.Arm) -> da.Trajectory:
    """Down, grip, lift with the payload, traverse, place, release, up and back: a closed cycle."""
    above_pick = np.array([-0.5, 0.1, 0.0, -2.0, 0.0, 2.1, 0.8])
    above_place = above_pick + 1.2 * np.eye(7)[0]
    drop = partial(da.line, arm, displacement=(0, 0, -0.15), orientation="constant", profile="quintic", duration=0.6)
    down, place = drop(q0=above_pick), drop(q0=above_place)
    traverse = da.polynomial(above_pick, above_place, 1.2, degree=5)
    carried = (down.reversed() + traverse + place).with_payload(2.0, com=(0, 0, 0.05))
    return down.hold(0.2) + carried.hold(0.2) + place.reversed() + traverse.reversed()


def main() -> None:
    arm = da.load("panda")
    motion = cycle(arm)
    sizing = da.size(arm, motion)
    run = da.simulate(arm, motion.q[0], None, da.ComputedTorque(100.0, 20.0, motion), motion.duration)
    unaware = da.simulate(arm, motion.q[0], None, da.ComputedTorque(100.0, 20.0, motion, model=arm), motion.duration)
    fastest = motion.time_optimal(arm)
    print(f"{motion.duration:.2f} s, {motion.events[0]}")
    print("joint          peak (N m)   RMS (N m)   limit (N m)   error, payload unknown (mrad)")
    for i, name in enumerate(arm.joint_names):
        torque = f"{sizing.torque.peak[i]:11.2f}{sizing.torque.rms[i]:12.2f}{sizing.torque.limit[i]:14.0f}"
        print(f"{name:14}{torque}{1e3 * unaware.largest_tracking_error[i]:20.2f}")
    print(f"largest tracking error with known payload: {run.largest_tracking_error.max():.1e} rad")
    dwells = sum(stop.dwell for stop in fastest.scaling.stops)
    print(f"time-optimal: {fastest.duration:.2f} s, including {dwells:.1f} s at rest for the gripper")


if __name__ == "__main__":
    main()
