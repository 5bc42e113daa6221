"""Torques of a Panda along a motion, without a payload and with two kilograms in its gripper.

python examples/panda_torques.py
"""

import math

import numpy as np

import dalembert as da


def main() -> None:
    arm = da.load("panda")
    t = np.linspace(0.0, 2.0, 2001)
    q0 = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8])
    reach = np.array([0.5, 0.3, 0.4, 0.4, 0.5, 0.6, 0.7])
    # all instants at once: the last axis runs over the joints
    q = q0 + reach * np.sin(np.pi * t)[:, None]
    qd = reach * np.pi * np.cos(np.pi * t)[:, None]
    qdd = -reach * np.pi**2 * np.sin(np.pi * t)[:, None]

    empty = arm.inverse_dynamics(q, qd, qdd)
    loaded = arm.with_payload(2.0, com=(0.0, 0.0, 0.1)).inverse_dynamics(q, qd, qdd)
    print("largest torques in N m")
    print("  joint          empty   2 kg   limit")
    for i, joint in enumerate(arm.robot.moving_joints):
        peaks = (np.abs(tau[:, i]).max() for tau in (empty, loaded))
        print("  {:13}{:7.2f}{:7.2f}{:8.0f}".format(joint.name, *peaks, joint.limits.effort or math.inf))


if __name__ == "__main__":
    main()
