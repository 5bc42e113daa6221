"""The inertial coupling of a rotor that the reflected inertia k_r^2 I_m alone neglects.

The rotor of joint 2 is mounted on link 1 and turns with it, so accelerating joint 1 also accelerates that
rotor. This causes a torque k_r I_m at joint 2, which the usual approximation (only k_r^2 I_m on the diagonal) neglects.

    python examples/rotor_coupling.py
"""

from dataclasses import replace

import numpy as np

import dalembert as da


def reflected(arm: da.Arm) -> da.Arm:
    """The same arm with every rotor counted as k_r^2 I_m at its own joint only."""
    joints = [
        joint if joint.rotor is None else replace(joint, rotor=replace(joint.rotor, reflected=True))
        for joint in arm.robot.joints
    ]
    return arm.replace(joints=joints)


def main() -> None:
    full = da.load("planar-2r")  # S Example 7.2: k_r = 100, I_m = 0.01 kg m^2
    q, qd, qdd = np.array([0.0, np.pi / 2]), np.zeros(2), np.array([10.0, 0.0])
    with_coupling, without = (arm.inverse_dynamics(q, qd, qdd) for arm in (full, reflected(full)))
    print("joint 1 accelerates with 10 rad/s^2, joint 2 does not")
    print("full rotor model     ", with_coupling.round(3), "N m")
    print("k_r^2 I_m only       ", without.round(3), "N m")
    print("difference           ", (with_coupling - without).round(3), "N m; k_r I_m 10 rad/s^2 = 10 N m at joint 2")


if __name__ == "__main__":
    main()
